// SPDX-License-Identifier: Apache-2.0
#include "attribute/kernel/internal.h"
#include "labels/labels.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool lg_is_near(const lg_suspicion *s, double got, double want) {
    return fabs(got - want) <= s->slack * fmax(1, fabs(want));
}

int64_t lg_label_of(const lg_suspicion *s, int64_t row) {
    return lg_tensor_get_i64(lg_batch_device_target(s->batch), row);
}

bool lg_is_strided(const lg_batch *batch) {
    return !lg_tensor_is_contiguous(&batch->input) ||
           !lg_tensor_is_contiguous(lg_batch_device_target(batch)) ||
           (lg_tensor_exists(&batch->weight) && !lg_tensor_is_contiguous(&batch->weight));
}

bool lg_overflows_narrow_offsets(const lg_batch *batch) {
    return lg_tensor_numel(&batch->input) > INT16_MAX || lg_reaches_beyond_32_bits(batch);
}

bool lg_row_is_supervised(const lg_suspicion *s, int64_t row) {
    return s->batch->target_is_probability || lg_label_of(s, row) != s->batch->loss.ignore_index;
}

static lg_cause suspect_unwritten(const lg_suspicion *s, const char **why) {
    for (int i = 0; i < s->seen->n_outputs; i++) {
        const lg_output *out = &s->seen->outputs[i];
        if (out->n_unwritten > 0) {
            *why = lg_arena_printf(s->arena,
                                   "%" PRId64 " of %" PRId64
                                   " elements of %s keep their poison, the first is %" PRId64,
                                   out->n_unwritten, out->n, lg_arg_name(out->arg),
                                   out->first_unwritten);
            return LG_CAUSE_UNWRITTEN_OUTPUT;
        }
    }
    return LG_CAUSE_NONE;
}

static bool is_dead(const lg_suspicion *s) {
    return s->seen->status == LG_STATUS_ILLEGAL_ADDRESS ||
           s->seen->status == LG_STATUS_MISALIGNED || s->seen->memory.present;
}

// A bad access, although every label is valid: by what the batch gives room for. 0: for nothing.
static int guess_memory(const lg_suspicion *s, lg_guess *out) {
    const lg_memory_finding *memory = &s->seen->memory;
    bool misaligned =
        s->seen->status == LG_STATUS_MISALIGNED || memory->kind == LG_DEVICE_FAULT_MISALIGNED;
    const char *buffer = memory->buffer ? memory->buffer : "a buffer";
    int n = 0;
    if (memory->kind == LG_DEVICE_FAULT_NULL_POINTER) {
        const char *argument = memory->null_arguments ? memory->null_arguments : "an argument";
        const char *why = lg_arena_printf(s->arena,
                                          "%s, which this call leaves out (null), is used as if it "
                                          "were there: address 0x%" PRIx64,
                                          argument, memory->address);
        out[n++] = (lg_guess){LG_CAUSE_OPTION_INTERPLAY, 1, why};
        return n;
    }
    n = lg_guess_cut_offset(s, out);
    if (n > 0) {
        return n;
    }
    const char *how = misaligned ? "is read at an odd address" : "is left behind";
    if (lg_is_strided(s->batch)) {
        out[n++] = (lg_guess){LG_CAUSE_STRIDES_IGNORED, 0.5,
                              lg_arena_printf(s->arena, "%s %s on a strided view", buffer, how)};
    }
    if (s->reference->n_ignored > 0 && !misaligned) {
        const char *why = lg_arena_printf(
            s->arena, "%s is left behind although every label is valid or ignored", buffer);
        out[n++] = (lg_guess){LG_CAUSE_OPTION_INTERPLAY, 0.3, why};
    }
    bool far = lg_overflows_narrow_offsets(s->batch);
    if (!misaligned && (far || n > 0)) {
        const char *why = lg_arena_printf(
            s->arena, "%s is left behind although every label is valid: offsets %s%" PRId64, buffer,
            lg_reaches_beyond_32_bits(s->batch) ? "beyond " : "up to ",
            lg_reaches_beyond_32_bits(s->batch) ? INT64_C(1) << 31
                                                : lg_tensor_numel(&s->batch->input));
        out[n++] = (lg_guess){LG_CAUSE_INDEX_OVERFLOW, far ? 0.6 : 0.002, why};
    }
    return n;
}

static bool begin(const lg_kernel_run *run, lg_suspicion *s) {
    *s = (lg_suspicion){.run = run,
                        .kernel = run->kernel,
                        .n_rows = run->n_rows,
                        .targets_fit = run->targets_fit,
                        .batch = run->batch,
                        .reference = run->reference,
                        .seen = run->observation,
                        .arena = run->arena};
    if (!s->seen || !s->reference) {
        return false;
    }
    s->loss = lg_observation_output(s->seen, LG_ARG_OUTPUT);
    s->gradient = lg_observation_output(s->seen, LG_ARG_GRAD_INPUT);
    s->total_weight = lg_observation_output(s->seen, LG_ARG_TOTAL_WEIGHT);
    // Sixteen roundings of the output type: far above a right kernel's error, far below a broken
    // one's.
    s->slack = run->batch->input.dtype == LG_FLOAT64   ? 0x1p-44
               : run->batch->input.dtype == LG_FLOAT32 ? 0x1p-18
               : run->batch->input.dtype == LG_FLOAT16 ? 0x1p-7
                                                       : 0x1p-4;
    return true;
}

// How unlikely it is that wrong numbers fit a recomputation by chance.
static double chance_of_match(const lg_suspicion *s, int64_t n_telling) {
    double n = (double)(n_telling < LG_CHANCE_MATCHES ? n_telling : LG_CHANCE_MATCHES);
    return pow(fmin(8 * s->slack, 0.5), fmax(n, 1));
}

// What the numbers say: the kind whose numbers they are, against what the pattern alone would say.
static int guess_numbers(const lg_suspicion *s, lg_guess *out) {
    lg_pattern pattern = lg_pattern_of(s);
    const char *why = NULL;
    int64_t n_telling = 0;
    lg_cause cause = pattern.rounding ? LG_CAUSE_NONE : lg_suspect_reading(s, &n_telling, &why);
    if (cause == LG_CAUSE_NONE && !pattern.rounding) {
        cause = lg_batch_is_binary(s->batch) ? lg_suspect_binary_formula(s, &n_telling, &why)
                                             : lg_suspect_softmax_formula(s, &n_telling, &why);
    }
    if (cause == LG_CAUSE_NONE) {
        cause = lg_suspect_numbers(s, &pattern, &n_telling, &why);
    }
    bool numbers = s->loss ? s->loss->values && s->loss->n == s->reference->n_loss
                           : lg_output_exists(s->gradient);
    if (cause == LG_CAUSE_NONE && (!numbers || (s->loss && lg_loss_is_of_another_class(s)))) {
        return 0;
    }
    bool unlikely;
    int n = lg_guess_by_pattern(s, &pattern, out, &unlikely);
    if (cause == LG_CAUSE_NONE && unlikely) {
        return 0;
    }
    double chance = cause == LG_CAUSE_NONE ? 1 : chance_of_match(s, n_telling);
    bool listed = cause == LG_CAUSE_NONE;
    for (int i = 0; i < n; i++) {
        bool it = out[i].cause == cause;
        out[i].weight = it ? lg_prior_of_kernel_cause(cause) : out[i].weight * chance;
        out[i].why = it ? why : out[i].why;
        listed = listed || it;
    }
    if (!listed) {
        out[n++] = (lg_guess){cause, lg_prior_of_kernel_cause(cause), why};
    }
    return n;
}

int lg_kernel_guess(const lg_kernel_run *run, lg_guess *out) {
    lg_suspicion s;
    if (!begin(run, &s)) {
        return 0;
    }
    const char *why = NULL;
    lg_cause cause = lg_suspect_overwritten(&s, &why);
    if (cause != LG_CAUSE_NONE) {
        *out = (lg_guess){cause, 1, why};
        return 1;
    }
    if (s.seen->barrier.text) {
        *out = (lg_guess){LG_CAUSE_BAD_BARRIER, 1, lg_arena_strdup(s.arena, s.seen->barrier.text)};
        return 1;
    }
    const char *race = s.seen->race ? s.seen->race : s.seen->order;
    if (race) {
        *out = (lg_guess){LG_CAUSE_RACE, 1, lg_arena_strdup(s.arena, race)};
        return 1;
    }
    if (lg_is_alarm(&s)) {
        return lg_guess_alarm(&s, out); // a right number beside a false alarm says nothing
    }
    if (is_dead(&s)) {
        return guess_memory(&s, out);
    }
    cause = suspect_unwritten(&s, &why);
    if (cause != LG_CAUSE_NONE) {
        *out = (lg_guess){cause, 1, why};
        return 1;
    }
    return guess_numbers(&s, out);
}

// Whether the kernel signalled this invalid row, as far as can be seen.
static bool row_was_signalled(const lg_suspicion *s, int64_t row) {
    for (int64_t i = 0; i < s->seen->n_records; i++) {
        if (s->seen->records[i].row == row) {
            return true;
        }
    }
    if (s->kernel->policy == LG_POLICY_REPORT) {
        return s->seen->n_records_dropped > 0;
    }
    if (!s->loss || !s->loss->values) {
        return true; // Nothing came back that anybody could use.
    }
    bool per_row = !s->reference->scalar && s->loss->n == s->n_rows;
    return isnan(s->loss->values[per_row ? row : 0]);
}

lg_cause lg_kernel_missed_rows(const lg_kernel_run *run, const char **evidence) {
    lg_suspicion s;
    const lg_kernel *kernel = run->kernel;
    if (!kernel || kernel->policy == LG_POLICY_NONE || run->refusal || !begin(run, &s) ||
        s.seen->refused_on_host || s.seen->status != LG_STATUS_OK || s.seen->n_asserts > 0 ||
        !run->targets_fit || run->is_misread || run->batch->target_is_probability) {
        return LG_CAUSE_NONE;
    }
    int64_t width = lg_batch_head_width(run->batch);
    int64_t n_missed = 0;
    int64_t n_at_width = 0;
    int64_t first = -1;
    for (int64_t i = 0; i < s.reference->n_invalid; i++) {
        int64_t row = s.reference->invalid_rows[i];
        if (!row_was_signalled(&s, row)) {
            first = n_missed == 0 ? row : first;
            n_missed++;
            n_at_width += lg_label_of(&s, row) == width;
        }
    }
    if (n_missed == 0) {
        return LG_CAUSE_NONE;
    }
    *evidence = lg_arena_printf(
        s.arena, "%" PRId64 " of %" PRId64 " invalid rows got no signal, the first is row %" PRId64,
        n_missed, s.reference->n_invalid, first);
    return n_at_width == n_missed ? LG_CAUSE_OFF_BY_ONE_CHECK : LG_CAUSE_MISSING_CHECK;
}
