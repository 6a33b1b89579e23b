// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include "attribute/attribute.h"
#include "device/device.h"
#include "judge/judge.h"
#include "support/alloc.h"
#include "support/plain.h"

#include <string.h>

static double *copy_doubles(const double *values, int64_t n) {
    double *copy = lg_xmalloc((size_t)(n ? n : 1) * sizeof(*copy));
    if (n) {
        memcpy(copy, values, (size_t)n * sizeof(*copy));
    }
    return copy;
}

void lg_case_copy_truth(const lg_point_data *data, lg_case_result *result) {
    const lg_batch *batch = &data->batch;
    result->n_rows = lg_batch_rows(batch);
    result->head_width = lg_batch_head_width(batch);
    result->n_labels = data->n_labels;
    result->labels = lg_xmalloc(sizeof(data->labels));
    memcpy(result->labels, data->labels, sizeof(data->labels));
    for (int i = 0; i < batch->n_injections; i++) {
        const lg_injection *from = &batch->injections[i];
        lg_injection *to = &result->injected[result->n_injected++];
        *to = *from;
        to->rows = lg_xmalloc((size_t)(from->n_rows ? from->n_rows : 1) * sizeof(*to->rows));
        if (from->n_rows) {
            memcpy(to->rows, from->rows, (size_t)from->n_rows * sizeof(*to->rows));
        }
    }
    if (data->has_reference) {
        result->n_reference_loss = data->reference.n_loss;
        result->reference_loss = copy_doubles(data->reference.loss, data->reference.n_loss);
    }
}

static void copy_loss(lg_case_result *result) {
    const lg_output *output = lg_observation_output(&result->observation, "output");
    if (output && output->values) {
        result->n_loss = output->n;
        result->loss = copy_doubles(output->values, output->n);
    }
}

// A kernel may be right for labels that were misread on their way: every label is in range, the
// loss is plausible, and it is not the loss of the data.
static void check_meaning(const lg_point_data *data, lg_case_run *run) {
    lg_case_result *result = &run->result;
    if (result->verdict != LG_PASS || !data->has_meant || result->n_loss != data->meant.n_loss) {
        return;
    }
    lg_quantity quantity = data->meant.scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < result->n_loss; i++) {
        double want = data->meant.loss[i];
        double bound = lg_tolerance(&data->batch, &data->meant, quantity, i, want);
        if (!(lg_compare(result->loss[i], want, bound, data->batch.input.dtype) <= 1)) {
            result->verdict = LG_SILENT_CORRUPTION;
            result->reason = lg_arena_printf(
                &run->arena,
                "no signal, and the labels are not those meant: the loss is %.9g, right is %.9g",
                lg_plain(result->loss[i]), lg_plain(want));
            return;
        }
    }
}

// A batch that breaks a contract of the caller makes a kernel's wrong number no fault of the
// kernel.
static bool is_kernel_fault(const lg_point_data *data, lg_verdict verdict) {
    bool valid = data->has_reference && data->reference.n_invalid == 0;
    return valid && verdict != LG_PASS && verdict != LG_UNTESTED && verdict != LG_SKIPPED;
}

// Every number is right for what was handed over, and says nothing: probabilities where their
// logarithms are meant, target probabilities that do not add up to 1, a softmax over one class. No
// kernel can signal that.
static void check_sense(lg_case_run *run) {
    lg_case_result *result = &run->result;
    const lg_finding *finding = &result->finding;
    bool senseless =
        finding->cause == LG_CAUSE_VALUE_DOMAIN || finding->cause == LG_CAUSE_WRONG_HEAD_WIDTH;
    if (result->verdict == LG_PASS && finding->certain && senseless) {
        result->verdict = LG_SILENT_CORRUPTION;
        result->reason = lg_arena_printf(&run->arena, "no signal, and a loss that is none: %s",
                                         finding->headline);
    }
}

// A wrong number of a valid batch that other orders of blocks and warps change is a race.
static void check_order(lg_device_session *device, const lg_run_request *request,
                        lg_case_run *run) {
    lg_observation *seen = &run->result.observation;
    if (seen->status == LG_STATUS_OK && !seen->race) {
        seen->race = lg_find_order_dependence(device, request, seen, &seen->arena);
    }
}

// Where nothing was injected and the scenario says what is wrong with what it lists, that is the
// truth.
static lg_attribution grade(const lg_point_data *data, const lg_case_result *result) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_finding *finding = &result->finding;
    bool told = expect->has_cause && expect->cause != LG_CAUSE_NONE;
    if (data->batch.n_injections > 0 || !told) {
        return lg_attribution_grade(&data->batch, finding);
    }
    if (finding->cause != expect->cause && !lg_finding_names(finding, expect->cause)) {
        return LG_ATTRIBUTION_WRONG;
    }
    return finding->ambiguous ? LG_ATTRIBUTION_AMBIGUOUS : LG_ATTRIBUTION_EXACT;
}

void lg_case_judge(lg_device_session *device, const lg_run_request *request,
                   const lg_point_data *data, lg_case_run *run) {
    lg_case_result *result = &run->result;
    const lg_reference *reference = data->has_reference ? &data->reference : NULL;
    const lg_refusal *refusal = data->refusal.cause != LG_CAUSE_NONE ? &data->refusal : NULL;
    lg_judgement judgement = lg_judge(&data->view, reference, refusal, result->what->kernel,
                                      &result->observation, &run->arena);
    result->verdict = judgement.verdict;
    result->detected_by = judgement.detected_by;
    result->reason = judgement.reason;
    result->max_error_share = judgement.max_error_share;
    copy_loss(result);
    bool kernel_fault = is_kernel_fault(data, result->verdict);
    if (kernel_fault && result->verdict == LG_WRONG_RESULT && request) {
        check_order(device, request, run);
    }
    check_meaning(data, run);
    lg_attribute_input input = {.batch = &data->batch,
                                .reference = reference,
                                .refusal = refusal,
                                .kernel = result->what->kernel,
                                .observation = &result->observation,
                                .result_wrong = kernel_fault};
    lg_attribute(&input, &result->finding);
    check_sense(run);
    result->attribution = grade(data, result);
}
