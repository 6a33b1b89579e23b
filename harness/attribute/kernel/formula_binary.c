// SPDX-License-Identifier: Apache-2.0
// Which of the other formulas of a binary loss its numbers follow.
#include "attribute/kernel/formula_binary.h"

#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

lg_binary_element lg_binary_read(const lg_suspicion *s, int64_t row) {
    const lg_batch *batch = s->batch;
    bool weighted = lg_tensor_exists(&batch->weight);
    bool positive = lg_tensor_exists(&batch->pos_weight);
    bool mean = batch->loss.reduction == LG_REDUCTION_MEAN;
    lg_binary_element e = {.x = lg_tensor_get_f64(&batch->input, row),
                           .t = lg_tensor_get_f64(&batch->target, row),
                           .w = weighted ? lg_broadcast_get(&batch->weight, &batch->input, row) : 1,
                           .v = positive ? lg_broadcast_get(&batch->pos_weight, &batch->input, row)
                                         : 1};
    e.scale = e.w * lg_row_upstream(batch, row) / (mean ? (double)s->reference->n_rows : 1);
    return e;
}

lg_formula_value lg_binary_weigh(const lg_binary_element *e, double log_p, double log_not) {
    bool lost = (e->t == 0 && isinf(log_p)) || (e->t == 1 && isinf(log_not));
    double of_p = e->t == 0 ? 0 : e->v * e->t * log_p;
    double of_not = e->t == 1 ? 0 : (1 - e->t) * log_not;
    return (lg_formula_value){-e->w * (of_p + of_not), 0, lost};
}

typedef lg_formula_fit (*fitting)(const lg_suspicion *s, lg_formula formula, double parameter);

typedef struct found {
    const lg_formula_row *row; // NULL: none
    double parameter;
    lg_formula_fit fit;
    const lg_formula_row *or_row; // gives the same scalar; NULL: none does
} found;

static bool try_row(const lg_suspicion *s, const lg_formula_row *row, fitting fits,
                    double parameter, int64_t least, found *out) {
    lg_formula_fit fit = fits(s, row->formula, parameter);
    if (fit.n_telling >= least) {
        *out = (found){.row = row, .parameter = parameter, .fit = fit};
    }
    return fit.n_telling >= least;
}

// `wrong`: an element that is off and a number, `got`; -1: there is none.
static bool try_parameters(const lg_suspicion *s, const lg_formula_row *row, fitting fits,
                           int64_t wrong, double got, found *out) {
    if (row->cause == LG_CAUSE_OPTION_INTERPLAY && !lg_tensor_exists(&s->batch->pos_weight)) {
        return false;
    }
    for (int k = 0; k < (row->n > 0 ? row->n : 1); k++) {
        if (try_row(s, row, fits, row->parameters[k], 1, out)) {
            return true;
        }
    }
    double solved = row->solve && wrong >= 0 ? row->solve(s, wrong, got) : NAN;
    return isfinite(solved) && try_row(s, row, fits, solved, 2, out);
}

static found find(const lg_suspicion *s, const lg_formula_row *rows, fitting fits, int64_t wrong,
                  double got) {
    found out = {0};
    const lg_formula_row *row = rows;
    while (row->formula && !try_parameters(s, row, fits, wrong, got, &out)) {
        row++;
    }
    if (!out.row || out.fit.first >= 0) {
        return out;
    }
    // A lone scalar can be what several formulas give.
    for (row++; row->formula; row++) {
        found other;
        if (!row->after && row->cause == out.row->cause &&
            try_parameters(s, row, fits, wrong, got, &other)) {
            out.or_row = row;
            break;
        }
    }
    return out;
}

static found find_loss(const lg_suspicion *s) {
    const lg_reference *r = s->reference;
    const double *got = s->loss->values;
    int64_t wrong = -1;
    for (int64_t row = 0; !r->scalar && row < r->n_rows && wrong < 0; row++) {
        bool off = isfinite(got[row]) && !lg_is_near(s, got[row], r->row_loss[row]);
        wrong = off ? row : wrong;
    }
    const lg_formula_row *rows = s->batch->loss.kind == LG_BCE ? lg_bce_losses : lg_logits_losses;
    return find(s, rows, lg_formula_fits_loss, wrong, wrong < 0 ? 0 : got[wrong]);
}

static found find_gradient(const lg_suspicion *s) {
    // The element that is off most shows its parameter best.
    lg_gradient_view right = lg_gradient_open(s->batch, s->reference);
    int64_t wrong = -1;
    double most = 0;
    for (int64_t row = 0; row < right.n_rows; row++) {
        double got = lg_output_get(s->gradient, row);
        double off = fabs(got - lg_gradient_at(&right, row, 0));
        if (isfinite(off) && got != 0 && off > most) {
            wrong = row;
            most = off;
        }
    }
    lg_gradient_close(&right);
    const lg_formula_row *rows =
        s->batch->loss.kind == LG_BCE ? lg_bce_gradients : lg_logits_gradients;
    return find(s, rows, lg_formula_fits_gradient, wrong,
                wrong < 0 ? 0 : lg_output_get(s->gradient, wrong));
}

static const char *text_of(const lg_suspicion *s, const found *f, const char *buffer) {
    char parameter[32] = "";
    const char *after = f->row->after ? f->row->after : "";
    if (f->row->after) {
        snprintf(parameter, sizeof parameter, "%.3g", f->parameter);
    }
    if (f->fit.first < 0) {
        return lg_arena_printf(s->arena, "%s%s%s%s%s: that gives the number returned",
                               f->row->before, parameter, after, f->or_row ? ", or " : "",
                               f->or_row ? f->or_row->before : "");
    }
    lg_binary_element e = lg_binary_read(s, f->fit.first);
    return lg_arena_printf(
        s->arena,
        "%s%s%s: that gives all of the %s, %" PRId64
        " of which are wrong, the first in element %" PRId64 ", input %.6g and target %.6g",
        f->row->before, parameter, after, buffer, f->fit.n_telling, f->fit.first, e.x, e.t);
}

// In half the 1e-12 under the quotient is 0: a divisor without it is a matter of precision.
static bool eps_is_lost(const lg_suspicion *s) {
    lg_dtype dtype = s->batch->input.dtype;
    return s->batch->loss.kind == LG_BCE && (dtype == LG_FLOAT16 || dtype == LG_BFLOAT16);
}

lg_cause lg_suspect_binary_formula(const lg_suspicion *s, int64_t *n_telling, const char **why) {
    bool loss_off = lg_formula_loss_is_off(s);
    bool gradient_off = lg_formula_gradient_is_off(s);
    if (s->reference->n_invalid > 0 || (gradient_off && eps_is_lost(s))) {
        return LG_CAUSE_NONE;
    }
    found loss = loss_off ? find_loss(s) : (found){0};
    found gradient = gradient_off ? find_gradient(s) : (found){0};
    // What is wrong of both is explained, or nothing is.
    if (loss_off != (loss.row != NULL) || gradient_off != (gradient.row != NULL) ||
        (!loss_off && !gradient_off)) {
        return LG_CAUSE_NONE;
    }
    *n_telling = loss.fit.n_telling + gradient.fit.n_telling;
    *why = loss_off ? text_of(s, &loss, "loss") : text_of(s, &gradient, "gradient");
    if (loss_off && gradient_off) {
        *why = lg_arena_printf(s->arena, "%s; and %s", *why, text_of(s, &gradient, "gradient"));
    }
    return loss_off ? loss.row->cause : gradient.row->cause;
}
