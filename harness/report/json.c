// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include "report/internal.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Long lists are cut in the lines of cases.jsonl; the counts beside them are always whole.
enum { MAX_LOSSES = 64, MAX_ROWS = 4096 };

static json_t *text_json(const char *text) {
    if (!text) {
        return json_null();
    }
    lg_str clean = {0};
    lg_add_utf8(&clean, text);
    json_t *value = json_string(lg_str_text(&clean));
    lg_str_free(&clean);
    return value;
}

// JSON has no NaN and no infinity: they are text.
static json_t *number_json(double value) {
    if (isnan(value)) {
        return json_string("nan");
    }
    if (isinf(value)) {
        return json_string(value > 0 ? "inf" : "-inf");
    }
    return json_real(value);
}

static json_t *numbers_json(const double *values, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n && i < MAX_LOSSES; i++) {
        json_array_append_new(list, number_json(values[i]));
    }
    return list;
}

static json_t *rows_json(const int64_t *rows, int64_t n) {
    json_t *list = json_array();
    for (int64_t i = 0; i < n && i < MAX_ROWS; i++) {
        json_array_append_new(list, json_integer(rows[i]));
    }
    return list;
}

static json_t *fault_json(const lg_case_result *result) {
    lg_str names = {0};
    lg_add_injected(&names, result);
    json_t *value = json_string(names.n ? lg_str_text(&names) : "none");
    lg_str_free(&names);
    return value;
}

static int compare_rows(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

// The rows the faults really spoiled, each once, ascending.
static json_t *injected_rows_json(const lg_case_result *result) {
    int64_t n = 0;
    for (int i = 0; i < result->n_injected; i++) {
        n += result->injected[i].n_rows;
    }
    int64_t *rows = lg_xmalloc((size_t)(n ? n : 1) * sizeof(*rows));
    n = 0;
    for (int i = 0; i < result->n_injected; i++) {
        for (int64_t r = 0; r < result->injected[i].n_rows; r++) {
            rows[n++] = result->injected[i].rows[r];
        }
    }
    qsort(rows, (size_t)n, sizeof(*rows), compare_rows);
    int64_t n_distinct = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || rows[i] != rows[n_distinct - 1]) {
            rows[n_distinct++] = rows[i];
        }
    }
    json_t *list = rows_json(rows, n_distinct);
    free(rows);
    return list;
}

static json_t *with_json(const lg_hypothesis *h) {
    json_t *list = json_array();
    for (int i = 0; i < h->n_with; i++) {
        json_array_append_new(list, json_string(lg_cause_name(h->with[i])));
    }
    return list;
}

static json_t *causes_json(const lg_finding *finding) {
    json_t *list = json_array();
    for (int i = 0; i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        json_t *item = json_pack("{s:s}", "cause", lg_cause_name(h->cause));
        if (h->n_with > 0) {
            json_object_set_new(item, "with", with_json(h));
        }
        json_object_set_new(item, "confidence", number_json(h->probability));
        json_object_set_new(item, "named", json_boolean(i < finding->n_named));
        json_object_set_new(item, "evidence", text_json(h->evidence));
        json_object_set_new(item, "advice", text_json(h->advice));
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *values_json(const lg_finding *finding) {
    json_t *list = json_array();
    for (int64_t i = 0; i < finding->n_values; i++) {
        const lg_value_count *v = &finding->values[i];
        json_array_append_new(list, json_pack("{s:I, s:I}", "value", (json_int_t)v->value, "count",
                                              (json_int_t)v->count));
    }
    return list;
}

static json_t *triple_json(const int64_t xyz[3]) {
    return json_pack("[I,I,I]", (json_int_t)xyz[0], (json_int_t)xyz[1], (json_int_t)xyz[2]);
}

static json_t *assert_json(const lg_observation *seen) {
    if (seen->n_asserts_kept == 0) {
        return json_null();
    }
    const lg_assert_line *line = &seen->asserts[0];
    return json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:I}", "file", text_json(line->file), "line",
                     line->line, "function", text_json(line->function), "expression",
                     text_json(line->expression), "block", triple_json(line->block), "thread",
                     triple_json(line->thread), "lines", (json_int_t)seen->n_asserts);
}

static json_t *memory_json(const lg_observation *seen) {
    const lg_memory_finding *m = &seen->memory;
    if (!m->present) {
        return json_null();
    }
    return json_pack("{s:o, s:I, s:o, s:I, s:o, s:i, s:o, s:o}", "kind",
                     text_json(lg_device_fault_name(m->kind, m->write)), "bytes",
                     (json_int_t)m->bytes, "buffer", text_json(m->buffer), "distance",
                     (json_int_t)m->distance, "file", text_json(m->file), "line", m->line, "block",
                     triple_json(m->block), "thread", triple_json(m->thread));
}

static json_t *place_json(const lg_source_place *place) {
    return place->file ? json_pack("{s:o, s:i, s:o}", "file", text_json(place->file), "line",
                                   place->line, "what", text_json(place->what))
                       : json_null();
}

static json_t *labels_json(const lg_case_result *result) {
    json_t *list = json_array();
    for (int64_t i = 0; i < result->n_labels; i++) {
        const lg_label_bin *bin = &result->labels[i];
        json_array_append_new(list,
                              json_pack("{s:I, s:I, s:I}", "low", (json_int_t)bin->low, "high",
                                        (json_int_t)bin->high, "count", (json_int_t)bin->count));
    }
    return list;
}

static void add_what(json_t *line, const lg_case_result *result) {
    const lg_case *what = result->what;
    char seed[32];
    snprintf(seed, sizeof(seed), "%" PRIu64, what->scenario->batch.seed);
    json_object_set_new(line, "id", json_string(what->id));
    json_object_set_new(line, "scenario", text_json(what->scenario->name));
    json_object_set_new(line, "point",
                        text_json(what->scenario->point ? what->scenario->point : ""));
    // As text: JSON readers cut integers beyond 2^53.
    json_object_set_new(line, "seed", json_string(seed));
    json_object_set_new(line, "title", text_json(what->scenario->title));
    json_object_set_new(line, "origin", text_json(what->scenario->origin));
    json_object_set_new(line, "kernel", text_json(what->kernel->name));
    json_object_set_new(line, "policy", json_string(lg_policy_name(what->kernel->policy)));
    json_object_set_new(line, "mode", json_string(lg_mode_name(what->mode)));
    json_object_set_new(line, "device", text_json(what->device));
    json_object_set_new(line, "fault", fault_json(result));
}

static void add_finding(json_t *line, const lg_case_result *result) {
    const lg_finding *finding = &result->finding;
    const char *certainty = lg_finding_certainty(finding);
    json_object_set_new(line, "cause", json_string(lg_cause_name(finding->cause)));
    json_object_set_new(line, "certainty", text_json(certainty));
    json_object_set_new(line, "warning", json_boolean(finding->warning));
    json_object_set_new(line, "headline", text_json(finding->headline));
    json_object_set_new(line, "causes", causes_json(finding));
    json_object_set_new(line, "rows", rows_json(finding->rows, finding->n_rows));
    json_object_set_new(line, "n_rows", json_integer(finding->n_rows));
    json_object_set_new(line, "batch_rows", json_integer(result->n_rows));
    json_object_set_new(line, "injected_rows", injected_rows_json(result));
    json_object_set_new(line, "values", values_json(finding));
}

static void add_observed(json_t *line, const lg_case_result *result) {
    const lg_observation *seen = &result->observation;
    json_object_set_new(line, "detected_by",
                        text_json(lg_detector_name(result->judged.detected_by)));
    json_object_set_new(line, "status", text_json(seen->status_text));
    json_object_set_new(line, "failed_launch", text_json(seen->failed_launch));
    json_object_set_new(line, "failed_launch_index", json_integer(seen->failed_launch_index));
    json_object_set_new(line, "surfaced_at", text_json(seen->surfaced_at));
    json_object_set_new(line, "calls_later", json_integer(seen->calls_later));
    json_object_set_new(line, "assert", assert_json(seen));
    json_object_set_new(line, "memory", memory_json(seen));
    json_object_set_new(line, "place", place_json(&result->place));
    json_object_set_new(line, "records", json_integer(seen->n_records));
    json_object_set_new(line, "records_dropped", json_integer(seen->n_records_dropped));
    json_object_set_new(line, "loss", numbers_json(result->loss, result->n_loss));
    json_object_set_new(line, "n_loss", json_integer(result->n_loss));
    json_object_set_new(line, "reference_loss",
                        numbers_json(result->reference_loss, result->n_reference_loss));
    json_object_set_new(line, "max_error_share", number_json(result->judged.max_error_share));
    json_object_set_new(line, "head_width", json_integer(result->head_width));
    json_object_set_new(line, "labels", labels_json(result));
}

char *lg_case_json(const lg_case_result *result) {
    json_t *line = json_object();
    add_what(line, result);
    json_object_set_new(line, "verdict", json_string(lg_verdict_name(result->judged.verdict)));
    json_object_set_new(line, "attribution", json_string(lg_attribution_name(result->attribution)));
    add_finding(line, result);
    add_observed(line, result);
    json_object_set_new(line, "as_expected", json_boolean(result->as_expected));
    json_object_set_new(line, "expectation", text_json(result->expectation));
    json_object_set_new(line, "reason", text_json(result->judged.text));
    json_object_set_new(line, "elapsed_ns", json_integer(result->elapsed_ns));
    json_object_set_new(line, "repro", text_json(result->repro));
    char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    return text ? text : lg_xstrdup("{}");
}
