// SPDX-License-Identifier: Apache-2.0
#include "judge/internal.h"

#include "judge/judge.h"
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>

typedef struct comparing {
    const lg_related *related;
    const lg_relation_side *first;
    const lg_relation_side *others;
    lg_arena *arena;
} comparing;

// A number of the kernel, what it is multiplied with to be compared, and how far off it may be.
typedef struct term {
    double value;
    double bound;
    bool overflowed; // infinite, and rightly so: it is too large for its type. Tells nothing
} term;

static const lg_output *output_of(const lg_relation_side *side, lg_arg_id arg) {
    const lg_output *output = lg_observation_output(side->seen, arg);
    return lg_output_exists(output) ? output : NULL;
}

static double divisor(const lg_relation_side *side) {
    bool mean = side->batch->loss.reduction == LG_REDUCTION_MEAN;
    return mean ? side->reference->total_weight : 1;
}

static term read_term(const lg_relation_side *side, lg_quantity quantity, int64_t index,
                      const lg_output *output, double want, double scale) {
    double got = lg_output_get(output, index);
    double bound =
        isfinite(want) ? lg_tolerance(side->batch, side->reference, quantity, index, want) : 0;
    bool overflowed =
        isinf(got) && isfinite(want) && lg_compare(got, want, bound, (lg_dtype)output->dtype) <= 1;
    return (term){.value = scale * got, .bound = fabs(scale) * bound, .overflowed = overflowed};
}

static void add_term(term *sum, term t) {
    sum->value += t.value;
    sum->bound += t.bound;
    sum->overflowed = sum->overflowed || t.overflowed;
}

static double relative_gap(term a, term b) {
    double gap = fabs(a.value - b.value) / fmax(fabs(a.value), fabs(b.value));
    return gap >= 0 ? gap : INFINITY;
}

// What the two sides of the equation are called where a mean was multiplied out.
static const char *scaled_text(const comparing *c) {
    bool mean = c->first->batch->loss.reduction == LG_REDUCTION_MEAN;
    return mean ? " (times what each mean was divided by)" : "";
}

static bool agree(term first, term other) {
    return first.overflowed || other.overflowed ||
           lg_compare(other.value, first.value, first.bound + other.bound, LG_FLOAT64) <= 1;
}

static lg_relation_gap gap_of(const comparing *c, const char *what, const char *scaled, term first,
                              term other, lg_arg_id output) {
    lg_relation relation = c->related->relation;
    return (lg_relation_gap){
        .differs = true,
        .text = lg_arena_printf(c->arena,
                                "relation %s: %s%s is %.9g on the batch and %.9g on %s, bound "
                                "%.3g",
                                lg_relation_name(relation), what, scaled, first.value, other.value,
                                lg_relation_other(relation), first.bound + other.bound),
        .output = output,
        .relative = relative_gap(first, other)};
}

static lg_relation_gap compare_sum(const comparing *c, lg_quantity quantity, lg_arg_id arg) {
    bool loss = quantity == LG_Q_LOSS;
    double scale = loss ? divisor(c->first) : 1;
    const lg_output *output = output_of(c->first, arg);
    if (!output || output->n != 1 || scale == 0) {
        return (lg_relation_gap){0};
    }
    double want = loss ? c->first->reference->loss[0] : c->first->reference->total_weight;
    term first = read_term(c->first, quantity, 0, output, want, c->related->copies * scale);
    term sum = {0};
    for (int i = 0; i < c->related->n_others; i++) {
        const lg_relation_side *side = &c->others[i];
        output = output_of(side, arg);
        if (!output || output->n != 1) {
            return (lg_relation_gap){0};
        }
        scale = loss ? divisor(side) : 1;
        want = loss ? side->reference->loss[0] : side->reference->total_weight;
        if (scale != 0) {
            add_term(&sum, read_term(side, quantity, 0, output, want, scale));
        }
    }
    return agree(first, sum) ? (lg_relation_gap){0}
                             : gap_of(c, loss ? "the loss" : "the total weight",
                                      loss ? scaled_text(c) : "", first, sum, arg);
}

static lg_relation_gap compare_rows(const comparing *c, const lg_relation_side *side) {
    const lg_output *output = output_of(c->first, LG_ARG_OUTPUT);
    const lg_output *other = output_of(side, LG_ARG_OUTPUT);
    const lg_reference *right = c->first->reference;
    if (!output || !other || output->n != right->n_loss || other->n != side->reference->n_loss) {
        return (lg_relation_gap){0};
    }
    for (int64_t row = 0; row < other->n; row++) {
        int64_t was = side->source ? side->source[row] : row;
        term a = read_term(c->first, LG_Q_ROW_LOSS, was, output, right->loss[was], 1);
        term b = read_term(side, LG_Q_ROW_LOSS, row, other, side->reference->loss[row], 1);
        if (!agree(a, b)) {
            const char *what = lg_arena_printf(c->arena, "the loss of row %" PRId64, was);
            return gap_of(c, what, "", a, b, LG_ARG_OUTPUT);
        }
    }
    return (lg_relation_gap){0};
}

static lg_relation_gap compare_gradients(const comparing *c, const lg_relation_side *side) {
    const lg_output *output = output_of(c->first, LG_ARG_GRAD_INPUT);
    const lg_output *other = output_of(side, LG_ARG_GRAD_INPUT);
    double scale = divisor(c->first);
    double other_scale = divisor(side);
    if (!output || !other || scale == 0 || other_scale == 0 ||
        output->n != lg_tensor_numel(&c->first->batch->input) ||
        other->n != lg_tensor_numel(&side->batch->input)) {
        return (lg_relation_gap){0};
    }
    lg_gradient_view right = lg_gradient_open(c->first->batch, c->first->reference);
    lg_gradient_view other_right = lg_gradient_open(side->batch, side->reference);
    lg_relation_gap gap = {0};
    for (int64_t row = 0; row < side->reference->n_rows && !gap.differs; row++) {
        int64_t was = side->source ? side->source[row] : row;
        for (int64_t k = 0; k < right.width && !gap.differs; k++) {
            term a = read_term(c->first, LG_Q_GRADIENT, lg_gradient_index(&right, was, k), output,
                               lg_gradient_at(&right, was, k), scale);
            term b = read_term(side, LG_Q_GRADIENT, lg_gradient_index(&other_right, row, k), other,
                               lg_gradient_at(&other_right, row, k), other_scale);
            if (!agree(a, b)) {
                const char *what = lg_arena_printf(
                    c->arena, "the gradient of row %" PRId64 ", class %" PRId64, was, k);
                gap = gap_of(c, what, scaled_text(c), a, b, LG_ARG_GRAD_INPUT);
            }
        }
    }
    lg_gradient_close(&right);
    lg_gradient_close(&other_right);
    return gap;
}

lg_relation_gap lg_relation_compare(const lg_related *related, const lg_relation_side *first,
                                    const lg_relation_side *others, lg_arena *arena) {
    comparing c = {.related = related, .first = first, .others = others, .arena = arena};
    lg_relation_gap gap = {0};
    if (first->reference->scalar) {
        gap = compare_sum(&c, LG_Q_TOTAL_WEIGHT, LG_ARG_TOTAL_WEIGHT);
        if (!gap.differs) {
            gap = compare_sum(&c, LG_Q_LOSS, LG_ARG_OUTPUT);
        }
    }
    for (int i = 0; !gap.differs && !first->reference->scalar && i < related->n_others; i++) {
        gap = compare_rows(&c, &others[i]);
    }
    for (int i = 0; !gap.differs && i < related->n_others; i++) {
        gap = compare_gradients(&c, &others[i]);
    }
    return gap;
}
