// SPDX-License-Identifier: Apache-2.0
// What attribution looks at beside the labels, as people read it.
#include "attribute/attribute.h"
#include "support/plain.h"

#include <inttypes.h>
#include <math.h>

static void print_tensor(const char *name, const lg_tensor *tensor, lg_str *out) {
    if (!lg_tensor_exists(tensor)) {
        return;
    }
    lg_str_printf(out, "%-13s %s [", name, lg_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) {
        lg_str_printf(out, "%s%" PRId64, i ? ", " : "", tensor->shape[i]);
    }
    lg_str_add(out, "]");
    if (!lg_tensor_is_contiguous(tensor)) {
        lg_str_add(out, " strides [");
        for (int i = 0; i < tensor->rank; i++) {
            lg_str_printf(out, "%s%" PRId64, i ? ", " : "", lg_tensor_given_stride(tensor)[i]);
        }
        lg_str_add(out, "]");
    }
    lg_str_add(out, "\n");
}

static void print_weights(const lg_tensor *weight, lg_str *out) {
    int64_t n = lg_tensor_exists(weight) && weight->data ? lg_tensor_numel(weight) : 0;
    double low = INFINITY;
    double high = -INFINITY;
    int64_t n_odd = 0;
    int64_t n_zero = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = lg_tensor_get_f64(weight, i);
        n_odd += !isfinite(value) || value < 0;
        n_zero += value == 0;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    if (n > 0) {
        lg_str_printf(
            out, "weights       %g .. %g, %" PRId64 " zero, %" PRId64 " negative or no number\n",
            lg_plain(low), lg_plain(high), n_zero, n_odd);
    }
}

static void print_memory(const lg_memory_finding *m, lg_str *out) {
    lg_str_printf(out, "memory        %s of %" PRId64 " bytes",
                  lg_device_fault_name(m->kind, m->write), m->bytes);
    if (m->buffer) {
        lg_str_printf(out, ", %" PRId64 " bytes off `%s`", m->distance, m->buffer);
    }
    if (m->file) {
        lg_str_printf(out, ", %s:%d", m->file, m->line);
    }
    lg_str_add(out, "\n");
}

static void print_observed(const lg_observation *seen, lg_str *out) {
    lg_str_printf(out, "status        %s\n", seen->status_text ? seen->status_text : "no error");
    if (seen->failed_launch) {
        lg_str_printf(out, "failed        launch %d of %d, %s, surfaced at %s\n",
                      seen->failed_launch_index, seen->n_launches, seen->failed_launch,
                      seen->surfaced_at ? seen->surfaced_at : "no call");
    }
    if (seen->n_asserts_kept > 0) {
        const lg_assert_line *line = &seen->asserts[0];
        lg_str_printf(out,
                      "asserts       %" PRId64 ", the first `%s` at %s:%d, block %" PRId64
                      " thread %" PRId64 "\n",
                      seen->n_asserts, line->expression, line->file, line->line, line->block[0],
                      line->thread[0]);
    }
    if (seen->n_records > 0) {
        const lg_fault_record *r = &seen->records[0];
        lg_str_printf(out,
                      "records       %" PRId64 " and %" PRId64 " dropped, the first row %" PRId64
                      " value %" PRId64 " bounds %" PRId64 "..%" PRId64 "\n",
                      seen->n_records, seen->n_records_dropped, r->row, r->value, r->lower,
                      r->upper);
    }
    if (seen->memory.present) {
        print_memory(&seen->memory, out);
    }
    const char *race = seen->race ? seen->race : seen->order;
    if (race) {
        lg_str_printf(out, "race          %s\n", race);
    }
    if (seen->barrier.text) {
        lg_str_printf(out, "barrier       %s\n", seen->barrier.text);
    }
    for (int i = 0; i < seen->n_outputs; i++) {
        const lg_output *o = &seen->outputs[i];
        lg_str_printf(out, "output        %s, %" PRId64 " elements, %" PRId64 " unwritten%s\n",
                      lg_arg_name(o->arg), o->n, o->n_unwritten,
                      o->fence_broken ? ", its fence is broken" : "");
    }
}

void lg_evidence_print_run(const lg_attribute_input *input, lg_str *out) {
    const lg_batch *batch = input->batch;
    lg_str_printf(out, "loss          %s, %s, smoothing %g\n", lg_loss_kind_name(batch->loss.kind),
                  lg_reduction_name(batch->loss.reduction), batch->loss.label_smoothing);
    print_tensor("input", &batch->input, out);
    print_tensor("target", &batch->target, out);
    print_tensor("passed", &batch->device_target, out);
    print_tensor("weight", &batch->weight, out);
    print_weights(&batch->weight, out);
    if (input->refusal && input->refusal->cause != LG_CAUSE_NONE) {
        lg_str_printf(out, "refused       %s\n", input->refusal->text);
    }
    if (input->observation) {
        print_observed(input->observation, out);
    }
}
