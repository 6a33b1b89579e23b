// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle.h"

#include "attribute/attribute.h"
#include "batch/batch.h"
#include "cli/cli.h"
#include "model/tensor_file.h"
#include "report/report.h"
#include "scenario/scenario.h"
#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A batch of more bytes is made again from its scenario when it is needed.
enum { MAX_BATCH_BYTES = 64 << 20 };

static const char *const files[] = {"scenario.yaml", "batch.npz",    "case.json",
                                    "finding.txt",   "evidence.txt", "device.log"};
enum { N_FILES = sizeof(files) / sizeof(files[0]) };

static char *path_in(const char *folder, const char *name) {
    return lg_xasprintf("%s/%s", folder, name);
}

void lg_bundle_remove(const char *folder) {
    for (int i = 0; i < N_FILES; i++) {
        char *path = path_in(folder, files[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

bool lg_bundle_exists(const char *folder) {
    char *path = path_in(folder, "case.json");
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static FILE *open_file(const char *path, lg_diags *diags) {
    FILE *file = fopen(path, "w");
    if (!file) {
        lg_error(diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
    }
    return file;
}

static bool close_file(const char *path, FILE *file, lg_diags *diags) {
    bool bad = ferror(file) != 0;
    bad = fclose(file) != 0 || bad;
    return !bad || lg_error(diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
}

static bool write_text(const char *folder, const char *name, const char *text, lg_diags *diags) {
    char *path = path_in(folder, name);
    FILE *file = open_file(path, diags);
    bool ok = file != NULL;
    if (file) {
        fputs(text, file);
        ok = close_file(path, file, diags);
    }
    free(path);
    return ok;
}

typedef struct named_array {
    const char *name;
    const lg_tensor *tensor;
} named_array;

enum { N_ARRAYS = 6 };

static void list_arrays(const lg_batch *batch, named_array arrays[N_ARRAYS]) {
    arrays[0] = (named_array){"input", &batch->input};
    arrays[1] = (named_array){"target", &batch->target};
    arrays[2] = (named_array){"device_target", &batch->device_target};
    arrays[3] = (named_array){"weight", &batch->weight};
    arrays[4] = (named_array){"pos_weight", &batch->pos_weight};
    arrays[5] = (named_array){"grad_output", &batch->grad_output};
}

static size_t batch_bytes(const lg_batch *batch) {
    named_array arrays[N_ARRAYS];
    list_arrays(batch, arrays);
    size_t bytes = 0;
    for (int i = 0; i < N_ARRAYS; i++) {
        bytes += lg_tensor_exists(arrays[i].tensor) ? lg_tensor_bytes(arrays[i].tensor) : 0;
    }
    return bytes;
}

// An array that the scenario reads from a file goes into the archive, and the scenario of the
// bundle reads it from there.
static bool take_source(lg_array_spec *spec, const char *name, lg_arena *arena,
                        lg_npz_writer *archive, lg_diags *diags) {
    if (spec->source != LG_ARRAY_FILE) {
        return true;
    }
    lg_tensor tensor;
    if (!lg_tensor_read(spec->file, &tensor, diags)) {
        return false;
    }
    bool ok = lg_tensor_add_to(archive, name, &tensor);
    lg_tensor_free(&tensor);
    spec->file = lg_arena_printf(arena, "batch.npz:%s", name);
    return ok;
}

static bool take_sources(lg_scenario *scenario, lg_arena *arena, lg_npz_writer *archive,
                         lg_diags *diags) {
    return take_source(&scenario->batch.logits, "source_logits", arena, archive, diags) &&
           take_source(&scenario->batch.targets, "source_targets", arena, archive, diags) &&
           take_source(&scenario->weight, "source_weight", arena, archive, diags) &&
           take_source(&scenario->pos_weight, "source_pos_weight", arena, archive, diags) &&
           take_source(&scenario->grad_output, "source_grad_output", arena, archive, diags);
}

static bool reads_files(const lg_scenario *scenario) {
    return scenario->batch.logits.source == LG_ARRAY_FILE ||
           scenario->batch.targets.source == LG_ARRAY_FILE ||
           scenario->weight.source == LG_ARRAY_FILE ||
           scenario->pos_weight.source == LG_ARRAY_FILE ||
           scenario->grad_output.source == LG_ARRAY_FILE;
}

// Files of the scenario are always kept, however large: nothing else could make them again.
static bool write_archive(const char *folder, const lg_batch *batch, lg_scenario *scenario,
                          lg_arena *arena, lg_diags *diags) {
    bool keep_batch = batch && batch_bytes(batch) <= MAX_BATCH_BYTES;
    bool ok = true;
    if (keep_batch || reads_files(scenario)) {
        char *path = path_in(folder, "batch.npz");
        lg_npz_writer *archive = lg_npz_create(path, diags);
        ok = archive != NULL;
        named_array arrays[N_ARRAYS] = {{0}};
        if (keep_batch) {
            list_arrays(batch, arrays);
        }
        for (int i = 0; archive && keep_batch && i < N_ARRAYS; i++) {
            if (lg_tensor_exists(arrays[i].tensor)) {
                ok = lg_tensor_add_to(archive, arrays[i].name, arrays[i].tensor) && ok;
            }
        }
        ok = ok && take_sources(scenario, arena, archive, diags);
        ok = archive && lg_npz_finish(archive, diags) && ok;
        free(path);
    }
    return ok;
}

// What the finding rests on: shapes, types, the labels' counts, and all that was observed.
static bool write_evidence(const char *folder, const lg_batch *batch, const lg_case_result *result,
                           lg_diags *diags) {
    lg_str text = {0};
    lg_label_evidence labels;
    lg_attribute_input input = {.batch = batch, .observation = &result->observation};
    if (result->n_labels > 0) {
        lg_evidence_collect(batch, &labels);
        lg_evidence_print(&labels, &text);
    }
    lg_evidence_print_run(&input, &text);
    bool ok = write_text(folder, "evidence.txt", lg_str_text(&text), diags);
    lg_str_free(&text);
    return ok;
}

// The batch in both forms; without one, the finding says why there is none.
static bool write_batch(const char *folder, const lg_case_result *result, lg_scenario *scenario,
                        lg_arena *arena, lg_diags *diags) {
    lg_batch batch;
    lg_diags dropped = {0};
    bool made = lg_generate(scenario, true, &batch, &dropped);
    lg_diags_free(&dropped);
    bool ok = write_archive(folder, made ? &batch : NULL, scenario, arena, diags);
    if (made) {
        ok = write_evidence(folder, &batch, result, diags) && ok;
        lg_batch_free(&batch);
    }
    return ok;
}

static lg_str_list one_word(lg_arena *arena, const char *word) {
    lg_str_list list = {.n = 1, .items = lg_arena_array(arena, 1, sizeof(*list.items))};
    list.items[0] = word;
    return list;
}

bool lg_bundle_write(const char *folder, const lg_case_result *result, lg_diags *diags) {
    if (!lg_make_folder(folder, diags)) {
        return false;
    }
    lg_arena arena = {0};
    lg_scenario scenario = *result->what->scenario;
    scenario.kernels = one_word(&arena, result->what->kernel->name);
    scenario.modes = one_word(&arena, lg_mode_name(result->what->mode));
    bool ok = write_batch(folder, result, &scenario, &arena, diags);
    lg_str text = {0};
    lg_scenario_write(&scenario, &text);
    ok = write_text(folder, "scenario.yaml", lg_str_text(&text), diags) && ok;
    lg_str_free(&text);
    char *line = lg_case_json(result);
    ok = write_text(folder, "case.json", line, diags) && ok;
    free(line);
    char *path = path_in(folder, "finding.txt");
    FILE *file = open_file(path, diags);
    if (file) {
        lg_finding_text(result, file, false);
        ok = close_file(path, file, diags) && ok;
    }
    free(path);
    if (result->observation.log && *result->observation.log) {
        ok = write_text(folder, "device.log", result->observation.log, diags) && ok;
    }
    lg_arena_free(&arena);
    return ok && file;
}

static bool same_bits(const lg_tensor *a, const lg_tensor *b, int64_t i) {
    if (!lg_dtype_is_float(a->dtype)) {
        return lg_tensor_get_i64(a, i) == lg_tensor_get_i64(b, i);
    }
    double x = lg_tensor_get_f64(a, i);
    double y = lg_tensor_get_f64(b, i);
    return (isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y));
}

// `got` is generated, `want` is in the archive (bfloat16 as float32).
static bool same_array(const char *place, const lg_tensor *got, const lg_tensor *want,
                       lg_diags *diags) {
    lg_loc loc = {.file = place};
    lg_dtype stored = got->dtype == LG_BFLOAT16 ? LG_FLOAT32 : got->dtype;
    bool same_shape = got->rank == want->rank &&
                      memcmp(got->shape, want->shape, (size_t)got->rank * sizeof(int64_t)) == 0;
    if (stored != want->dtype || !same_shape) {
        return lg_error(diags, loc, "has another type or shape than the scenario's batch");
    }
    int64_t n = lg_tensor_numel(got);
    for (int64_t i = 0; i < n; i++) {
        if (!same_bits(got, want, i)) {
            return lg_error(diags, loc,
                            "is not the scenario's batch: element %" PRId64 " is %.9g, not %.9g", i,
                            lg_tensor_get_f64(want, i), lg_tensor_get_f64(got, i));
        }
    }
    return true;
}

bool lg_bundle_check_batch(const char *folder, const lg_scenario *scenario, bool *compared,
                           lg_diags *diags) {
    char *path = path_in(folder, "batch.npz");
    lg_batch batch;
    *compared = false;
    if (access(path, F_OK) != 0) {
        free(path);
        return true;
    }
    if (!lg_generate(scenario, true, &batch, diags)) {
        free(path);
        return false;
    }
    bool ok = true;
    named_array arrays[N_ARRAYS];
    list_arrays(&batch, arrays);
    bool kept = batch_bytes(&batch) <= MAX_BATCH_BYTES;
    for (int i = 0; kept && ok && i < N_ARRAYS; i++) {
        if (lg_tensor_exists(arrays[i].tensor)) {
            char *place = lg_xasprintf("%s:%s", path, arrays[i].name);
            lg_tensor want;
            ok = lg_tensor_read(place, &want, diags);
            if (ok) {
                ok = same_array(place, arrays[i].tensor, &want, diags);
                lg_tensor_free(&want);
            }
            free(place);
        }
    }
    *compared = kept;
    lg_batch_free(&batch);
    free(path);
    return ok;
}
