// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"
#include "shrink/internal.h"
#include "support/str.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

// "a wrong number: output rows 3 7 (got 0.5, right is nan)" → the words, every number as '#': which
// output is wrong, and whether finite, NaN or infinite. A plural is as good as a singular.
static const char *kind_of(lg_arena *arena, const char *reason) {
    lg_str out = {0};
    for (const char *at = reason; *at;) {
        size_t n = strspn(at, "0123456789.+-e");
        bool number = n > 0 && strpbrk(at, "0123456789") && strcspn(at, "0123456789") < n &&
                      (at == reason || !isalpha((unsigned char)at[-1]));
        if (number) {
            bool again = out.n >= 2 && strcmp(out.text + out.n - 2, "# ") == 0;
            lg_str_add(&out, again ? "" : "#");
            at += n;
        } else {
            bool plural = *at == 's' && !isalpha((unsigned char)at[1]) && at > reason &&
                          isalpha((unsigned char)at[-1]);
            bool blank = *at == ' ' && out.n > 0 && out.text[out.n - 1] == ' ';
            lg_str_add_n(&out, at, plural || blank ? 0 : 1);
            at++;
        }
    }
    const char *kept = lg_arena_strdup(arena, lg_str_text(&out));
    lg_str_free(&out);
    return kept;
}

static bool is_about_numbers(lg_verdict verdict) {
    return verdict == LG_WRONG_RESULT || verdict == LG_SILENT_CORRUPTION || verdict == LG_UNWRITTEN;
}

static bool is_supervised(const lg_batch *batch) {
    const lg_tensor *target = &batch->target;
    if (batch->target_is_probability || lg_shrink_class_axis(batch) < 0 || !target->data) {
        return true;
    }
    for (int64_t i = 0; i < lg_tensor_numel(target); i++) {
        if (lg_tensor_get_i64(target, i) != batch->loss.ignore_index) {
            return true;
        }
    }
    return false;
}

static void note(lg_shrinker *s, const lg_case_result *result, const lg_batch *batch,
                 lg_shrink_seen *seen) {
    const lg_finding *finding = &result->finding;
    *seen = (lg_shrink_seen){.verdict = result->verdict,
                             .cause = finding->cause,
                             .certain = finding->certain,
                             .batch_rows = result->n_rows,
                             .head_width = result->head_width};
    if (result->detected_by) {
        seen->detected_by = lg_arena_strdup(s->arena, result->detected_by);
    }
    seen->as_expected = result->as_expected;
    seen->supervised = is_supervised(batch);
    seen->has_right_value = true;
    for (int64_t i = 0; i < result->n_reference_loss; i++) {
        seen->has_right_value = seen->has_right_value && isfinite(result->reference_loss[i]);
    }
    if (result->reason && is_about_numbers(result->verdict)) {
        seen->kind = kind_of(s->arena, result->reason);
    }
    for (int i = 0; i < finding->n_named; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        if (seen->n_named + 1 + h->n_with > LG_SHRINK_MAX_NAMED) {
            break;
        }
        seen->named[seen->n_named++] = h->cause;
        for (int k = 0; k < h->n_with; k++) {
            seen->named[seen->n_named++] = h->with[k];
        }
    }
    seen->n_rows = finding->n_rows;
    seen->rows = lg_arena_array(s->arena, (size_t)finding->n_rows + 1, sizeof(*seen->rows));
    if (finding->n_rows) {
        memcpy(seen->rows, finding->rows, (size_t)finding->n_rows * sizeof(*seen->rows));
    }
}

bool lg_shrink_look(lg_shrinker *s, const lg_scenario *scenario, lg_shrink_seen *seen,
                    const char **reason) {
    const lg_shrink_options *options = s->options;
    // A candidate that cannot be generated is no news for the user: its errors are dropped.
    lg_diags dropped = {0};
    lg_point_data data;
    lg_point_prepare(scenario, &data, &dropped);
    lg_case what = {.scenario = scenario,
                    .kernel = options->kernel,
                    .mode = options->mode,
                    .device = options->device_name};
    lg_case_id(scenario, what.kernel, what.mode, what.device, what.id);
    lg_case_run run;
    lg_case_run_one(options->device, &what, true, &data, NULL, "lossgate run", &run, &dropped);
    s->n_runs++;
    bool ran = run.result.verdict != LG_UNTESTED && run.result.verdict != LG_SKIPPED;
    if (ran) {
        note(s, &run.result, &data.batch, seen);
    } else if (reason) {
        *reason =
            lg_arena_strdup(s->arena, run.result.reason ? run.result.reason : "it did not run");
    }
    lg_case_run_free(&run);
    lg_point_free(&data);
    lg_diags_free(&dropped);
    return ran;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool lg_shrink_is_out_of_runs(const lg_shrinker *s) {
    return s->n_runs >= s->max_runs;
}

static uint32_t named_of(const lg_shrink_seen *seen) {
    uint32_t named = UINT32_C(1) << seen->cause;
    for (int i = 0; i < seen->n_named; i++) {
        named |= UINT32_C(1) << seen->named[i];
    }
    return named;
}

// What must not be lost: a story of a live batch does not become one of an empty mean.
static bool is_same_story(const lg_shrink_seen *wanted, const lg_shrink_seen *seen) {
    return (seen->supervised || !wanted->supervised) &&
           (seen->has_right_value || !wanted->has_right_value) &&
           (seen->head_width > 1 || wanted->head_width <= 1) && same_text(seen->kind, wanted->kind);
}

bool lg_shrink_try_scenario(lg_shrinker *s, const lg_scenario *candidate) {
    lg_shrink_seen seen;
    if (lg_shrink_is_out_of_runs(s) || !lg_shrink_look(s, candidate, &seen, NULL)) {
        return false;
    }
    const lg_shrink_seen *wanted = &s->wanted;
    bool same = seen.verdict == wanted->verdict && seen.cause == wanted->cause &&
                named_of(&seen) == named_of(wanted) && is_same_story(wanted, &seen) &&
                same_text(seen.detected_by, wanted->detected_by) &&
                (seen.n_rows > 0) == (wanted->n_rows > 0);
    if (same) {
        s->seen = seen;
    }
    return same;
}

bool lg_shrink_try_batch(lg_shrinker *s, lg_batch *candidate) {
    lg_arena scratch = {0};
    lg_scenario scenario;
    lg_shrink_literal(candidate, &s->base, &scratch, &scenario);
    bool kept = lg_shrink_try_scenario(s, &scenario);
    lg_arena_free(&scratch);
    lg_batch *dropped = kept ? &s->batch : candidate;
    lg_batch_free(dropped);
    if (kept) {
        s->batch = *candidate;
    }
    *candidate = (lg_batch){0};
    return kept;
}
