// SPDX-License-Identifier: Apache-2.0
#include "result/case.h"

#include <stdlib.h>

void lg_case_result_free(lg_case_result *result) {
    lg_finding_free(&result->finding);
    lg_observation_free(&result->observation);
    free(result->loss);
    free(result->reference_loss);
    for (int i = 0; i < result->n_injected; i++) {
        free(result->injected[i].rows);
    }
    free(result->labels);
    free(result->repro);
    *result = (lg_case_result){0};
}
