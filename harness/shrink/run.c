// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"
#include "shrink/internal.h"

#include <math.h>
#include <string.h>

static bool is_about_numbers(lg_verdict verdict) {
    return verdict == LG_WRONG_RESULT || verdict == LG_SILENT_CORRUPTION || verdict == LG_UNWRITTEN;
}

static int class_of(double value) {
    return isnan(value) ? 0 : !isinf(value) ? 1 : value > 0 ? 2 : 3;
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
    *seen = (lg_shrink_seen){.judged = result->judged,
                             .cause = finding->cause,
                             .certain = finding->certain,
                             .batch_rows = result->n_rows,
                             .head_width = result->head_width};
    seen->judged.text = NULL; // the case owns it
    seen->as_expected = result->as_expected;
    seen->supervised = is_supervised(batch);
    seen->has_right_value = true;
    for (int64_t i = 0; i < result->n_reference_loss; i++) {
        seen->has_right_value = seen->has_right_value && isfinite(result->reference_loss[i]);
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
    bool ran = run.result.judged.verdict != LG_UNTESTED && run.result.judged.verdict != LG_SKIPPED;
    if (ran) {
        note(s, &run.result, &data.batch, seen);
    } else if (reason) {
        *reason = lg_arena_strdup(s->arena, run.result.judged.text ? run.result.judged.text
                                                                   : "it did not run");
    }
    lg_case_run_free(&run);
    lg_point_free(&data);
    lg_diags_free(&dropped);
    return ran;
}

bool lg_shrink_is_out_of_runs(const lg_shrinker *s) {
    return s->n_runs >= s->max_runs;
}

static lg_cause_set named_of(const lg_shrink_seen *seen) {
    lg_cause_set named = LG_CAUSE_BIT(seen->cause);
    for (int i = 0; i < seen->n_named; i++) {
        named |= LG_CAUSE_BIT(seen->named[i]);
    }
    return named;
}

// A wrong number stays one of the same output, wrong in the same way: NaN, infinite or finite.
static bool is_same_number(const lg_judgement *a, const lg_judgement *b) {
    return !is_about_numbers(a->verdict) ||
           (a->reason == b->reason && a->output == b->output &&
            class_of(a->got) == class_of(b->got) && class_of(a->want) == class_of(b->want));
}

// What must not be lost: a supervised batch does not become one of an empty mean.
static bool is_same_kind(const lg_shrink_seen *wanted, const lg_shrink_seen *seen) {
    return (seen->supervised || !wanted->supervised) &&
           (seen->has_right_value || !wanted->has_right_value) &&
           (seen->head_width > 1 || wanted->head_width <= 1) &&
           is_same_number(&seen->judged, &wanted->judged);
}

bool lg_shrink_try_scenario(lg_shrinker *s, const lg_scenario *candidate) {
    lg_shrink_seen seen;
    if (lg_shrink_is_out_of_runs(s) || !lg_shrink_look(s, candidate, &seen, NULL)) {
        return false;
    }
    const lg_shrink_seen *wanted = &s->wanted;
    bool same = seen.judged.verdict == wanted->judged.verdict && seen.cause == wanted->cause &&
                named_of(&seen) == named_of(wanted) && is_same_kind(wanted, &seen) &&
                seen.judged.detected_by == wanted->judged.detected_by &&
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
