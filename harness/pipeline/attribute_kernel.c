// SPDX-License-Identifier: Apache-2.0
// The kernel's own fault, from what was observed on a batch that gave it no excuse. Each test below
// recomputes what one kind of broken kernel would have returned, and the finding names the first
// kind whose number it was; where none fits, the options in use say what is left.
#include "pipeline/attribute_parts.h"

#include <inttypes.h>
#include <math.h>

typedef struct suspicion {
    const lg_diagnosis *d;
    const lg_batch *batch;
    const lg_reference *reference;
    const lg_observation *seen;
    lg_arena *arena;
    const lg_output *loss;
    const lg_output *gradient;
    const lg_output *total_weight;
    double slack; // relative: what rounding alone may do to a loss of this dtype
} suspicion;

static bool is_near(const suspicion *s, double got, double want) {
    return fabs(got - want) <= s->slack * fmax(1, fabs(want));
}

static bool loss_is_off(const suspicion *s) {
    if (!s->loss || !s->loss->values || s->loss->n != s->reference->n_loss) {
        return false;
    }
    for (int64_t i = 0; i < s->loss->n; i++) {
        double want = s->reference->loss[i];
        bool both_nan = isnan(want) && isnan(s->loss->values[i]);
        if (!both_nan && s->loss->values[i] != want && !is_near(s, s->loss->values[i], want)) {
            return true;
        }
    }
    return false;
}

static int64_t label_of(const suspicion *s, int64_t row) {
    return lg_tensor_get_i64(lg_batch_device_target(s->batch), row);
}

static bool has_edge_label(const suspicion *s, int64_t edge) {
    if (!s->d->targets_fit || s->batch->target_is_probability) {
        return false;
    }
    for (int64_t row = 0; row < s->d->n_rows; row++) {
        if (label_of(s, row) == edge) {
            return true;
        }
    }
    return false;
}

// A signal on a valid batch: the guard refuses its own last or first class.
static lg_cause suspect_false_alarm(const suspicion *s, const char **why) {
    bool alarm = s->seen->status == LG_STATUS_ASSERT || s->seen->n_asserts > 0;
    int64_t edge = lg_batch_head_width(s->batch) - 1;
    for (int64_t i = 0; i < s->seen->n_records; i++) {
        alarm = true;
        if (s->seen->records[i].value != edge && s->seen->records[i].value != 0) {
            return LG_CAUSE_NONE;
        }
    }
    if (!alarm || !(has_edge_label(s, edge) || has_edge_label(s, 0))) {
        return LG_CAUSE_NONE;
    }
    *why = lg_arena_printf(s->arena,
                           "a valid batch is signalled; class %" PRId64 " or 0 is refused", edge);
    return LG_CAUSE_OFF_BY_ONE_CHECK;
}

static lg_cause suspect_unwritten(const suspicion *s, const char **why) {
    for (int i = 0; i < s->seen->n_outputs; i++) {
        const lg_output *out = &s->seen->outputs[i];
        if (out->n_unwritten > 0) {
            *why = lg_arena_printf(s->arena,
                                   "%" PRId64 " of %" PRId64
                                   " elements of %s keep their poison, the first is %" PRId64,
                                   out->n_unwritten, out->n, out->name, out->first_unwritten);
            return LG_CAUSE_UNWRITTEN_OUTPUT;
        }
    }
    return LG_CAUSE_NONE;
}

static bool is_strided(const lg_batch *batch) {
    return !lg_tensor_is_contiguous(&batch->input) ||
           !lg_tensor_is_contiguous(lg_batch_device_target(batch)) ||
           (lg_tensor_exists(&batch->weight) && !lg_tensor_is_contiguous(&batch->weight));
}

static bool overflows_narrow_offsets(const lg_batch *batch) {
    return lg_tensor_numel(&batch->input) > INT16_MAX;
}

static lg_cause suspect_memory(const suspicion *s, const char **why) {
    bool died = s->seen->status == LG_STATUS_ILLEGAL_ADDRESS ||
                s->seen->status == LG_STATUS_MISALIGNED || s->seen->memory.present;
    if (!died) {
        return LG_CAUSE_NONE;
    }
    const char *buffer = s->seen->memory.buffer ? s->seen->memory.buffer : "a buffer";
    if (is_strided(s->batch)) {
        *why = lg_arena_printf(s->arena, "%s is left behind on a strided view", buffer);
        return LG_CAUSE_STRIDES_IGNORED;
    }
    if (s->reference->n_ignored > 0 && !overflows_narrow_offsets(s->batch)) {
        *why = lg_arena_printf(
            s->arena, "%s is left behind although every label is valid or ignored", buffer);
        return LG_CAUSE_OPTION_INTERPLAY;
    }
    *why = lg_arena_printf(s->arena,
                           "%s is left behind although every label is valid: offsets up to "
                           "%" PRId64,
                           buffer, lg_tensor_numel(&s->batch->input));
    return LG_CAUSE_INDEX_OVERFLOW;
}

// A mean that was divided by another count: got × that count is the sum of the row losses.
static lg_cause suspect_normalisation(const suspicion *s, const char **why) {
    const lg_reference *r = s->reference;
    if (!r->scalar || s->batch->loss.reduction != LG_REDUCTION_MEAN || !s->loss->values) {
        return LG_CAUSE_NONE;
    }
    double sum = r->loss[0] * r->total_weight;
    const struct {
        const char *name;
        double n;
    } divisors[] = {{"the number of rows", (double)r->n_rows},
                    {"the number of live rows", (double)(r->n_rows - r->n_ignored)},
                    {"the number of samples", (double)lg_batch_samples(s->batch)},
                    {"the number of classes", (double)lg_batch_head_width(s->batch)},
                    {"1", 1}};
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        bool other = divisors[i].n > 0 && !is_near(s, divisors[i].n, r->total_weight);
        if (other && is_near(s, s->loss->values[0], sum / divisors[i].n)) {
            *why = lg_arena_printf(s->arena,
                                   "the mean is the sum divided by %s (%.9g), not by the total "
                                   "weight %.9g",
                                   divisors[i].name, divisors[i].n, r->total_weight);
            return LG_CAUSE_WRONG_NORMALISATION;
        }
    }
    return LG_CAUSE_NONE;
}

static double input_at(const lg_batch *batch, int64_t row, int64_t c) {
    int64_t spatial = lg_batch_spatial(batch);
    int64_t width = lg_batch_head_width(batch);
    return lg_tensor_get_f64(&batch->input, (row / spatial * width + c) * spatial + row % spatial);
}

// How much a row's loss grows when `extra` lanes of logit 0 join the softmax.
static double padding_shift(const suspicion *s, int64_t row, double extra) {
    int64_t width = lg_batch_head_width(s->batch);
    double top = 0;
    for (int64_t c = 0; c < width; c++) {
        top = fmax(top, input_at(s->batch, row, c));
    }
    double sum = 0;
    for (int64_t c = 0; c < width; c++) {
        sum += exp(input_at(s->batch, row, c) - top);
    }
    return log1p(extra * exp(-top) / sum);
}

// The loss with `shift` added to each row that counts, as the reduction makes it of it.
static double shifted_loss(const suspicion *s, int64_t element, double extra, double constant) {
    const lg_batch *batch = s->batch;
    if (!s->reference->scalar) {
        double shift = extra > 0 ? padding_shift(s, element, extra) : constant;
        return s->reference->loss[element] + shift;
    }
    double sum = 0;
    int64_t n = 0;
    for (int64_t row = 0; row < s->d->n_rows; row++) {
        if (batch->target_is_probability || label_of(s, row) != batch->loss.ignore_index) {
            sum += extra > 0 ? padding_shift(s, row, extra) : constant;
            n++;
        }
    }
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    return s->reference->loss[0] + (mean && n > 0 ? sum / (double)n : sum);
}

static bool all_shifted(const suspicion *s, double extra, double constant) {
    int64_t n_compared = 0;
    for (int64_t i = 0; i < s->loss->n; i++) {
        bool ignored = !s->reference->scalar && !s->batch->target_is_probability &&
                       label_of(s, i) == s->batch->loss.ignore_index;
        if (!ignored && !is_near(s, s->loss->values[i], shifted_loss(s, i, extra, constant))) {
            return false;
        }
        n_compared += !ignored;
    }
    return n_compared > 0;
}

static lg_cause suspect_softmax(const suspicion *s, const char **why) {
    const lg_batch *batch = s->batch;
    bool plain = batch->loss.kind == LG_CROSS_ENTROPY && !lg_tensor_exists(&batch->weight) &&
                 (batch->target_is_probability || s->d->targets_fit);
    if (!plain || !s->loss->values) {
        return LG_CAUSE_NONE;
    }
    int64_t width = lg_batch_head_width(batch);
    for (int64_t block = 32; block <= 1024; block *= 2) {
        int64_t extra = (block - width % block) % block;
        if (extra > 0 && all_shifted(s, (double)extra, 0)) {
            *why = lg_arena_printf(s->arena,
                                   "the softmax sums %" PRId64 " lanes beyond class "
                                   "%" PRId64,
                                   extra, width - 1);
            return LG_CAUSE_PADDED_LANES;
        }
    }
    for (int shards = 2; shards <= 8; shards++) {
        if (all_shifted(s, 0, log(shards))) {
            *why = lg_arena_printf(s->arena,
                                   "every row's loss is too high by ln %d: %d shards each "
                                   "hold all classes",
                                   shards, shards);
            return LG_CAUSE_SHARD_STATISTICS;
        }
    }
    return LG_CAUSE_NONE;
}

// Rows are right up to the first whose offsets do not fit 15 or 16 bits, and wrong from there on.
static lg_cause suspect_overflow(const suspicion *s, const lg_output *out, const double *want,
                                 int64_t elements_a_row, const char **why) {
    if (!out || !out->values || !want || !overflows_narrow_offsets(s->batch)) {
        return LG_CAUSE_NONE;
    }
    int64_t first = -1;
    for (int64_t i = 0; i < out->n && first < 0; i++) {
        first = is_near(s, out->values[i], want[i]) ? first : i;
    }
    int64_t offset = first * elements_a_row;
    if (first >= 0 && offset + elements_a_row >= INT16_MAX) {
        *why = lg_arena_printf(s->arena,
                               "%s is right up to element %" PRId64 ", offset %" PRId64
                               ", and wrong from there on",
                               out->name, first, offset);
        return LG_CAUSE_INDEX_OVERFLOW;
    }
    return LG_CAUSE_NONE;
}

static bool is_half(lg_dtype dtype) {
    return dtype == LG_FLOAT16 || dtype == LG_BFLOAT16;
}

// A gradient that is wrong while the loss is right.
static lg_cause suspect_gradient(const suspicion *s, const char **why) {
    const lg_output *weight = s->total_weight;
    if (weight && weight->values && weight->n > 0 && isinf(weight->values[0])) {
        *why = "the total weight is infinite in its type, and divides the gradient to 0";
        return LG_CAUSE_PRECISION;
    }
    lg_cause overflow = suspect_overflow(s, s->gradient, s->reference->grad_input, 1, why);
    if (overflow != LG_CAUSE_NONE) {
        return overflow;
    }
    if (is_strided(s->batch)) {
        *why = "the loss is right and the gradient of a strided view is not";
        return LG_CAUSE_STRIDES_IGNORED;
    }
    *why = "the loss is right and the gradient is not";
    return LG_CAUSE_GRADIENT_CONTRACT;
}

// What is left when no recomputed number fits: the options that meet, or the width of a sum.
static lg_cause suspect_rest(const suspicion *s, const char **why) {
    const lg_batch *batch = s->batch;
    if (is_strided(batch)) {
        *why = "the loss of a strided view is not that of its contiguous copy";
        return LG_CAUSE_STRIDES_IGNORED;
    }
    int n_options = (batch->loss.label_smoothing > 0) + lg_tensor_exists(&batch->weight) +
                    (s->reference->n_ignored > 0);
    double off = 0;
    for (int64_t i = 0; s->loss && s->loss->values && i < s->loss->n; i++) {
        double want = s->reference->loss[i];
        off = fmax(off, fabs(s->loss->values[i] - want) / fmax(1, fabs(want)));
    }
    if (off > 0.05 && n_options > 0) {
        *why = lg_arena_printf(s->arena, "the loss is off by %.2g with%s%s%s", off,
                               batch->loss.label_smoothing > 0 ? " label smoothing" : "",
                               lg_tensor_exists(&batch->weight) ? " class weights" : "",
                               s->reference->n_ignored > 0 ? " ignored rows" : "");
        return LG_CAUSE_OPTION_INTERPLAY;
    }
    if (off > 0.05 && overflows_narrow_offsets(batch)) {
        *why = lg_arena_printf(s->arena, "the loss is off by %.2g; offsets reach %" PRId64, off,
                               lg_tensor_numel(&batch->input));
        return LG_CAUSE_INDEX_OVERFLOW;
    }
    *why = lg_arena_printf(s->arena, "the loss is off by %.2g%s", off,
                           is_half(batch->input.dtype) ? " in a half-precision type" : "");
    return LG_CAUSE_PRECISION;
}

static lg_cause suspect_numbers(const suspicion *s, const char **why) {
    if (!s->loss || !s->loss->values) {
        return LG_CAUSE_NONE;
    }
    if (!loss_is_off(s)) {
        return suspect_gradient(s, why);
    }
    lg_cause cause = suspect_normalisation(s, why);
    if (cause == LG_CAUSE_NONE) {
        cause = suspect_softmax(s, why);
    }
    if (cause == LG_CAUSE_NONE && !s->reference->scalar) {
        cause =
            suspect_overflow(s, s->loss, s->reference->loss, lg_batch_head_width(s->batch), why);
    }
    return cause != LG_CAUSE_NONE ? cause : suspect_rest(s, why);
}

static bool begin(const lg_diagnosis *d, suspicion *s) {
    *s = (suspicion){.d = d,
                     .batch = d->batch,
                     .reference = d->input->reference,
                     .seen = d->input->observation,
                     .arena = &d->finding->arena};
    if (!s->seen || !s->reference) {
        return false;
    }
    s->loss = lg_observation_output(s->seen, "output");
    s->gradient = lg_observation_output(s->seen, "grad_input");
    s->total_weight = lg_observation_output(s->seen, "total_weight");
    // Sixteen roundings of the output type: far above a right kernel's error, far below a broken
    // one's.
    s->slack = d->batch->input.dtype == LG_FLOAT64   ? 0x1p-44
               : d->batch->input.dtype == LG_FLOAT32 ? 0x1p-18
               : d->batch->input.dtype == LG_FLOAT16 ? 0x1p-7
                                                     : 0x1p-4;
    return true;
}

lg_cause lg_diagnose_kernel(const lg_diagnosis *d, const char **evidence, const char **advice) {
    suspicion s;
    *advice = "replay the case and look at the kernel, not at the labels";
    if (!begin(d, &s)) {
        return LG_CAUSE_NONE;
    }
    if (s.seen->race) {
        *evidence = lg_arena_strdup(s.arena, s.seen->race);
        return LG_CAUSE_RACE;
    }
    lg_cause (*const tests[])(const suspicion *, const char **) = {
        suspect_false_alarm, suspect_memory, suspect_unwritten, suspect_numbers};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        lg_cause cause = tests[i](&s, evidence);
        if (cause != LG_CAUSE_NONE) {
            return cause;
        }
    }
    return LG_CAUSE_NONE;
}

// Whether the kernel signalled this invalid row, as far as can be seen.
static bool row_was_signalled(const suspicion *s, int64_t row) {
    for (int64_t i = 0; i < s->seen->n_records; i++) {
        if (s->seen->records[i].row == row) {
            return true;
        }
    }
    if (s->d->input->kernel->policy == LG_POLICY_REPORT) {
        return s->seen->n_records_dropped > 0;
    }
    if (!s->loss || !s->loss->values) {
        return true; // Nothing came back that anybody could use.
    }
    bool per_row = !s->reference->scalar && s->loss->n == s->d->n_rows;
    return isnan(s->loss->values[per_row ? row : 0]);
}

lg_cause lg_diagnose_guard(const lg_diagnosis *d, const char **evidence) {
    suspicion s;
    const lg_kernel *kernel = d->input->kernel;
    if (!kernel || kernel->policy == LG_POLICY_NONE || d->input->refusal || !begin(d, &s) ||
        s.seen->refused_on_host || s.seen->status != LG_STATUS_OK || s.seen->n_asserts > 0 ||
        !d->targets_fit || d->misread || d->batch->target_is_probability) {
        return LG_CAUSE_NONE;
    }
    int64_t width = lg_batch_head_width(d->batch);
    int64_t n_missed = 0;
    int64_t n_at_width = 0;
    int64_t first = -1;
    for (int64_t i = 0; i < s.reference->n_invalid; i++) {
        int64_t row = s.reference->invalid_rows[i];
        if (!row_was_signalled(&s, row)) {
            first = n_missed == 0 ? row : first;
            n_missed++;
            n_at_width += label_of(&s, row) == width;
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
