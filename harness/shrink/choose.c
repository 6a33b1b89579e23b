// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"
#include "shrink/shrink.h"

typedef enum interest { NO_CASE, CLEAN, FAULTY, UNEXPECTED } interest;

static interest look(lg_device_session *device, const lg_plan_case *planned,
                     const lg_point_data *data, lg_diags *diags) {
    lg_case_run run;
    lg_case_run_one(device, &planned->what, planned->named, data, NULL, "lossgate run", &run,
                    diags);
    const lg_case_result *result = &run.result;
    interest found = CLEAN;
    if (run.absent || result->judged.verdict == LG_UNTESTED ||
        result->judged.verdict == LG_SKIPPED) {
        found = NO_CASE;
    } else if (!result->as_expected) {
        found = UNEXPECTED;
    } else if (result->judged.verdict != LG_PASS || result->finding.cause != LG_CAUSE_NONE) {
        found = FAULTY;
    }
    lg_case_run_free(&run);
    return found;
}

const lg_plan_case *lg_shrink_choose(lg_device_session *device, const lg_plan *plan, int64_t *n_run,
                                     lg_diags *diags) {
    const lg_plan_case *chosen = NULL;
    bool unexpected = false;
    *n_run = 0;
    for (int64_t p = 0; p < plan->n_points && !unexpected && *n_run < LG_SHRINK_LOOKS; p++) {
        const lg_plan_point *point = &plan->points[p];
        lg_point_data data;
        lg_point_prepare(point->scenario, &data, diags);
        for (int64_t i = 0; i < point->n_cases && !unexpected && *n_run < LG_SHRINK_LOOKS; i++) {
            const lg_plan_case *planned = &plan->cases[point->first_case + i];
            interest found = look(device, planned, &data, diags);
            *n_run += found != NO_CASE;
            unexpected = found == UNEXPECTED;
            if (unexpected || (found == FAULTY && !chosen)) {
                chosen = planned;
            }
        }
        lg_point_free(&data);
    }
    return chosen;
}
