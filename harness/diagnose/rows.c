// SPDX-License-Identifier: Apache-2.0
// Targets with a class axis: probabilities, or rows of one 1.
#include "batch/batch.h"
#include "diagnose/internal.h"
#include "model/tensor_file.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Labels of two classes may be one-hot rows by chance; from here on (one in a million) they are
// not.
#define CHANCE_BITS 20

// What is known of a position while the classes of its sample pass by.
typedef struct position {
    double sum, score_sum;
    int64_t n_ones, n_minus;
    bool other, wrong, nonfinite, broken; // `other`: an entry that is neither 0 nor 1
} position;

typedef struct reading {
    lg_array_file *targets, *logits;
    int64_t width, spatial;
    bool only_one_hot;
    position *positions; // spatial of them
    double *values, *scores;
    lg_class_rows *out;
} reading;

static void take_entry(position *p, double value, double score) {
    p->sum += value;
    p->n_ones += value == 1;
    p->other = p->other || (value != 0 && value != 1);
    p->nonfinite = p->nonfinite || !isfinite(value);
    p->wrong = p->wrong || !lg_could_be_probability(value);
    // As in attribute_values.c: -inf is how classes are masked, and breaks a row whose class
    // counts.
    bool minus = score == -INFINITY;
    p->n_minus += minus;
    p->score_sum += score;
    p->broken = p->broken || isnan(score) || score == INFINITY || (minus && value > 0);
}

static void note_first(int64_t *n, int64_t *first, int64_t row) {
    *first = *n == 0 ? row : *first;
    ++*n;
}

static void close_row(reading *r, const position *p) {
    lg_class_rows *out = r->out;
    int64_t row = out->n_rows++;
    bool wrong = !p->nonfinite && (p->wrong || !lg_could_be_probability_sum(p->sum));
    bool broken = p->broken || (r->logits && r->width > 0 && p->n_minus == r->width);
    out->looks_soft = out->looks_soft && lg_could_be_probability_sum(p->score_sum);
    out->n_one_hot += p->n_ones == 1 && !p->other;
    out->n_nonfinite += p->nonfinite;
    if (wrong) {
        note_first(&out->n_wrong, &out->first_wrong, row);
    }
    if (broken) {
        note_first(&out->n_broken, &out->first_broken, row);
    }
    if (p->nonfinite || wrong || broken) {
        lg_row_list_add(&out->bad, row);
    }
}

static void close_sample(reading *r) {
    for (int64_t i = 0; i < r->spatial; i++) {
        close_row(r, &r->positions[i]);
        r->positions[i] = (position){0};
    }
}

// Exactly n elements as doubles.
static bool read_doubles(lg_array_file *source, double *out, int64_t n, lg_diags *diags) {
    for (int64_t at = 0; at < n;) {
        int64_t got = lg_source_raw(source, n - at, diags);
        if (got <= 0) {
            return false;
        }
        for (int64_t i = 0; i < got; i++) {
            out[at + i] = lg_dtype_get_f64(source->dtype, source->raw, i);
        }
        at += got;
    }
    return true;
}

static bool read_all(reading *r, lg_diags *diags) {
    int64_t a_sample = r->width * r->spatial;
    int64_t left = r->targets->n;
    for (int64_t flat = 0; left > 0;) {
        int64_t n = left < LG_SOURCE_BLOCK ? left : LG_SOURCE_BLOCK;
        if (!read_doubles(r->targets, r->values, n, diags) ||
            (r->logits && !read_doubles(r->logits, r->scores, n, diags))) {
            return false;
        }
        for (int64_t i = 0; i < n; i++) {
            if (!isfinite(r->values[i])) {
                int64_t row = r->out->n_rows + flat % r->spatial;
                lg_nonfinite_add(&r->out->nonfinite, r->values[i], row);
            }
            r->out->integral = r->out->integral && r->values[i] == floor(r->values[i]);
            double score = r->logits ? r->scores[i] : 0;
            take_entry(&r->positions[flat % r->spatial], r->values[i], score);
            r->out->looks_soft = r->out->looks_soft && lg_could_be_probability(score);
            flat = flat + 1 == a_sample ? 0 : flat + 1;
            if (flat == 0) {
                close_sample(r);
            }
        }
        left -= n;
        if (r->only_one_hot && r->out->n_one_hot < r->out->n_rows) {
            return true;
        }
    }
    return true;
}

static bool read_rows(lg_array_file *targets, lg_array_file *logits, int64_t width, int64_t spatial,
                      bool only_one_hot, lg_class_rows *out, lg_diags *diags) {
    *out = (lg_class_rows){.width = width, .integral = true, .looks_soft = logits && width > 1};
    if (width < 1 || spatial < 1) {
        return true; // no entry at all
    }
    reading r = {.targets = targets,
                 .logits = logits,
                 .width = width,
                 .spatial = spatial,
                 .only_one_hot = only_one_hot,
                 .values = lg_xmalloc(LG_SOURCE_BLOCK * sizeof(double)),
                 .scores = lg_xmalloc(LG_SOURCE_BLOCK * sizeof(double)),
                 .out = out};
    size_t bytes = 0;
    bool fits = !__builtin_mul_overflow((size_t)spatial, sizeof *r.positions, &bytes);
    r.positions = fits ? lg_buffer_alloc(bytes) : NULL;
    bool ok = r.positions != NULL;
    if (!ok) {
        lg_error(diags, (lg_loc){.file = targets->place},
                 "needs more memory than there is: %" PRId64 " positions a sample", spatial);
    } else {
        memset(r.positions, 0, bytes);
        ok = read_all(&r, diags);
    }
    free(r.positions);
    free(r.values);
    free(r.scores);
    return ok;
}

static void add_facts(const lg_class_rows *rows, lg_diagnosis *d) {
    if (rows->n_broken > 0) {
        lg_fact_add_nonfinite(d, rows->n_broken, rows->first_broken);
    }
    if (rows->n_nonfinite > 0) {
        lg_arena *arena = &d->finding->arena;
        lg_fact_add(d, LG_CAUSE_VALUE_DOMAIN,
                    lg_arena_printf(arena, "%" PRId64 " target row%s: %s", rows->n_nonfinite,
                                    rows->n_nonfinite == 1 ? " is no probabilities"
                                                           : "s are no probabilities",
                                    lg_nonfinite_text(&rows->nonfinite, arena)),
                    "look at how the soft labels are made");
    }
    if (rows->n_wrong > 0) {
        lg_fact_add_not_probabilities(d, rows->n_wrong, rows->first_wrong);
    }
}

bool lg_class_rows_are_one_hot(const lg_class_rows *rows, bool *beyond_chance) {
    // Of width^width rows of labels that are all classes, `width` have one 1 and zeros.
    double bits = (double)rows->n_rows * (double)(rows->width - 1) * log2((double)rows->width);
    *beyond_chance = bits >= CHANCE_BITS;
    return rows->n_rows > 0 && rows->width > 1 && rows->n_one_hot == rows->n_rows;
}

// --- targets with a class axis ------------------------------------------------------------------

// The class axis of targets that have the input's dimensions: 1, or 0 of a single sample.
static int class_axis(const lg_array_file *targets) {
    return targets->rank > 1 ? 1 : 0;
}

// Whether the targets have a class axis as the input has, of any length.
bool lg_has_class_axis(const lg_diagnose_pass *p) {
    const lg_array_file *t = &p->targets;
    if (!p->has_logits) {
        return t->rank > 1 && t->shape[1] == p->options->head_width;
    }
    bool same = t->rank > 0 && t->rank == p->logits.rank && !t->csv;
    for (int i = 0; same && i < t->rank; i++) {
        same = i == class_axis(t) || t->shape[i] == p->logits.shape[i];
    }
    return same;
}

// Reads the rows from files opened for it: what they are decides how the targets are read.
bool lg_read_class_rows(lg_diagnose_pass *p, lg_diags *diags) {
    int axis = class_axis(&p->targets);
    int64_t width = p->targets.shape[axis];
    int64_t spatial = 1;
    for (int i = axis + 1; i < p->targets.rank; i++) {
        spatial *= p->targets.shape[i];
    }
    bool floats = lg_dtype_is_float(p->targets.dtype);
    bool with_logits = p->has_logits && floats && width == p->logits.shape[axis];
    lg_array_file targets = {0};
    lg_array_file logits = {0};
    bool ok = lg_source_open(p->options->targets, &targets, diags) &&
              (!with_logits || lg_source_open(p->options->logits, &logits, diags)) &&
              read_rows(&targets, with_logits ? &logits : NULL, width, spatial, !floats,
                        &p->class_rows, diags);
    lg_source_close(&targets);
    lg_source_close(&logits);
    return ok;
}

// Labels of such a shape without logits may be those of N×C×C logits: floats that are integers, and
// no row of them a distribution, are labels of a wrong type.
bool lg_are_probabilities(const lg_diagnose_pass *p) {
    const lg_class_rows *rows = &p->class_rows;
    bool empty = p->targets.shape[0] == 0;
    bool labels =
        !p->has_logits && rows->integral && rows->n_rows > 0 && rows->n_wrong == rows->n_rows;
    return lg_dtype_is_float(p->targets.dtype) && (rows->n_rows > 0 || empty) && !labels;
}

void lg_add_one_hot(const lg_diagnose_pass *p, lg_diagnosis *d, lg_cause cause) {
    const lg_class_rows *rows = &p->class_rows;
    lg_arena *arena = &d->finding->arena;
    int64_t head = p->has_logits ? lg_batch_head_width(&p->batch) : p->options->head_width;
    const char *head_text =
        rows->width == head
            ? ""
            : lg_arena_printf(arena, " of %" PRId64 " classes for a head of %" PRId64, rows->width,
                              head);
    lg_fact_add(d, cause,
                lg_arena_printf(arena,
                                "the targets are one-hot rows%s, %s: each has one 1 and zeros, and "
                                "class indices are one number a row",
                                head_text, lg_dtype_name(p->targets.dtype)),
                "hand over targets.argmax(axis=1), or the rows as class probabilities of the "
                "logits' type");
}

void lg_conclude_probabilities(lg_diagnose_pass *p, lg_diagnose_result *out) {
    lg_batch *batch = &p->batch;
    lg_diagnosis d = {.batch = batch, .finding = &out->finding, .n_rows = p->class_rows.n_rows};
    batch->target_is_probability = true;
    if (!p->has_logits) { // the input has the targets' shape then
        bool typed = lg_tensor_exists(&batch->weight);
        lg_dtype dtype = typed ? batch->input.dtype : p->targets.dtype;
        lg_diagnose_describe(&batch->input, dtype, p->targets.rank, p->targets.shape);
    }
    lg_diagnose_describe(&batch->target, p->targets.dtype, p->targets.rank, p->targets.shape);
    bool fits = p->class_rows.width == lg_batch_head_width(batch);
    if (!fits && p->class_rows.n_one_hot == p->class_rows.n_rows) {
        lg_add_one_hot(p, &d, LG_CAUSE_SHAPE_LAYOUT);
    }
    lg_attribute_values(&d);
    if (fits) {
        add_facts(&p->class_rows, &d);
    }
    lg_refusal refusal = lg_hostcheck(batch, &out->finding.arena);
    if (refusal.cause != LG_CAUSE_NONE) {
        lg_fact_add(&d, refusal.cause, refusal.text, NULL);
    }
    lg_attribute_conclude(&d);
    out->n_rows = d.n_rows;
    const lg_row_list none = {0};
    lg_row_list_tell(fits ? &p->class_rows.bad : &none, out);
    out->has_class_rows = true;
    out->class_rows = p->class_rows;
    p->looks_soft = p->class_rows.looks_soft;
    lg_diagnose_note_logits(p, out);
}
