// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan.h"
#include "pipeline/session_case.h"
#include "pipeline/shrink_parts.h"

#include <string.h>

static void note(lg_shrinker *s, const lg_case_result *result, lg_shrink_seen *seen) {
    const lg_finding *finding = &result->finding;
    *seen = (lg_shrink_seen){.verdict = result->verdict,
                             .cause = finding->cause,
                             .certain = finding->certain,
                             .batch_rows = result->n_rows,
                             .head_width = result->head_width};
    if (result->detected_by) {
        seen->detected_by = lg_arena_strdup(s->arena, result->detected_by);
    }
    for (int i = 0; i < finding->n_named && seen->n_named + 2 <= LG_SHRINK_MAX_NAMED; i++) {
        seen->named[seen->n_named++] = finding->hypotheses[i].cause;
        if (finding->hypotheses[i].with != LG_CAUSE_NONE) {
            seen->named[seen->n_named++] = finding->hypotheses[i].with;
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
        note(s, &run.result, seen);
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

bool lg_shrink_try_scenario(lg_shrinker *s, const lg_scenario *candidate) {
    lg_shrink_seen seen;
    if (lg_shrink_is_out_of_runs(s) || !lg_shrink_look(s, candidate, &seen, NULL)) {
        return false;
    }
    const lg_shrink_seen *wanted = &s->wanted;
    bool same = seen.verdict == wanted->verdict && seen.cause == wanted->cause &&
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
