// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose.h"

#include "batch/batch.h"
#include "diagnose/internal.h"
#include "model/tensor_file.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_pass(lg_diagnose_pass *p) {
    lg_source_close(&p->targets);
    if (p->has_logits) {
        lg_source_close(&p->logits);
    }
    if (p->has_table) {
        lg_label_table_free(&p->table);
    }
    lg_batch_free(&p->batch);
    free(p->labels);
    free(p->reals);
    free(p->bad);
    free(p->logit_rows);
}

// --- the pass -----------------------------------------------------------------------------------

static bool allocate(lg_diagnose_pass *p, lg_diags *diags) {
    p->spatial = p->has_logits ? lg_batch_spatial(&p->batch) : 1;
    int64_t spatial = p->spatial;
    int64_t samples = spatial > 0 && spatial < LG_SOURCE_BLOCK ? LG_SOURCE_BLOCK / spatial : 1;
    p->n_block = spatial > 0 ? samples * spatial : 1;
    size_t n = (size_t)p->n_block;
    p->labels = lg_buffer_alloc(n * sizeof *p->labels);
    p->reals = lg_buffer_alloc(n * sizeof *p->reals);
    p->bad = lg_buffer_alloc(n * sizeof *p->bad);
    p->logit_rows = p->has_logits ? lg_buffer_alloc(n * sizeof *p->logit_rows) : NULL;
    int64_t width = lg_batch_head_width(&p->batch);
    p->looks_soft = p->has_logits && width > 1;
    p->has_table = lg_label_table_init(&p->table, width, p->options->classes,
                                       p->options->ignore_index, p->targets.dtype);
    const lg_array_file *t = &p->targets;
    bool map = p->has_table && t->rank >= 3;
    bool mapped = !map || lg_label_table_set_map(&p->table, t->shape[t->rank - 1]);
    bool ok = p->labels && p->reals && p->bad && (!p->has_logits || p->logit_rows) && p->has_table;
    ok = ok && mapped;
    return ok ||
           lg_error(diags, (lg_loc){.file = p->options->targets},
                    "needs more memory than there is: %lld positions a sample", (long long)spatial);
}

// Fills a block; the rows read, -1 on an error.
static int64_t read_labels(lg_diagnose_pass *p, lg_diags *diags) {
    int64_t n = 0;
    while (n < p->n_block) {
        int64_t got =
            lg_source_labels(&p->targets, p->labels + n, p->reals + n, p->n_block - n, diags);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        n += got;
    }
    return n;
}

static void take_labels(lg_diagnose_pass *p, int64_t n) {
    lg_label_evidence *e = &p->table.evidence;
    bool floats = lg_dtype_is_float(p->targets.dtype);
    int64_t width = e->head_width;
    int64_t ignored = e->ignore_index;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = p->labels[i];
        if (floats && !isfinite(p->reals[i])) { // it has no integer
            lg_nonfinite_add(&p->nonfinite, p->reals[i], p->n_rows + i);
            p->bad[i] = true;
            continue;
        }
        p->bad[i] = label != ignored && (uint64_t)label >= (uint64_t)width;
        if (!p->bad[i] && label != ignored && p->options->classes > 0 &&
            label >= p->options->classes) {
            lg_row_list_add(&p->beyond, p->n_rows + i);
        }
        lg_label_table_add(&p->table, label);
    }
    for (int64_t i = 0; floats && i < n; i++) {
        double real = p->reals[i];
        p->bad[i] = p->bad[i] || lg_float_label_is_bad(width, ignored, real);
        if (isfinite(real) && real != floor(real) && e->n_fractional++ == 0) {
            e->first_fractional = real;
            e->first_fractional_row = p->n_rows + i;
        }
    }
}

static void note_rows(lg_diagnose_pass *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (p->bad[i]) {
            lg_row_list_add(&p->bad_rows, p->n_rows + i);
        }
        if (p->bad[i] || (p->has_logits && p->logit_rows[i].above)) {
            lg_row_list_add(&p->any_rows, p->n_rows + i);
        }
    }
    p->n_rows += n;
}

static bool run_pass(lg_diagnose_pass *p, lg_diags *diags) {
    if (!allocate(p, diags)) {
        return false;
    }
    int64_t n;
    while ((n = read_labels(p, diags)) > 0) {
        take_labels(p, n);
        if (p->has_logits && !lg_diagnose_take_logits(p, n, diags)) {
            return false;
        }
        note_rows(p, n);
    }
    if (p->targets.csv && !p->has_logits) {
        p->batch.input.shape[0] = p->n_rows; // known now
    }
    // The second array must end with the first.
    return n == 0 && (!p->has_logits || lg_source_raw(&p->logits, 1, diags) == 0);
}

// --- conclusion ---------------------------------------------------------------------------------

// Integers stand for floating-point targets here: their own fact is made from what the pass
// counted.
static lg_refusal refuse(lg_diagnose_pass *p, lg_arena *arena) {
    lg_dtype dtype = p->targets.dtype;
    lg_diagnose_describe(&p->batch.target, lg_dtype_is_float(dtype) ? LG_INT64 : dtype,
                         p->targets.rank, p->targets.shape);
    lg_refusal refusal = lg_hostcheck(&p->batch, arena);
    p->batch.target.dtype = dtype;
    return refusal;
}

static void add_facts(lg_diagnose_pass *p, lg_diagnosis *d) {
    const lg_label_evidence *e = &p->table.evidence;
    const char *odd = lg_nonfinite_text(&p->nonfinite, &d->finding->arena);
    if (odd) {
        lg_fact_add(d, LG_CAUSE_FLOAT_TARGETS,
                    lg_arena_printf(&d->finding->arena, "the class indices are %s and hold %s",
                                    lg_dtype_name(p->targets.dtype), odd),
                    "replace these labels (by ignore_index, if they are unknown), then cast all to "
                    "int64");
    } else if (lg_dtype_is_float(p->targets.dtype) && p->targets.n > 0) {
        lg_fact_add_floats(d, p->targets.dtype, p->has_table ? e->n_fractional : 0,
                           p->has_table ? e->first_fractional_row : -1,
                           p->has_table ? e->first_fractional : 0);
    }
    lg_attribute_values(d); // the weights: there are no other values at hand
    if (p->n_nonfinite > 0) {
        lg_fact_add_nonfinite(d, p->n_nonfinite, p->first_nonfinite);
    }
    lg_refusal refusal = refuse(p, &d->finding->arena);
    if (p->one_hot && (p->beyond_chance || refusal.cause != LG_CAUSE_NONE)) {
        lg_add_one_hot(p, d,
                       refusal.cause != LG_CAUSE_NONE ? refusal.cause : LG_CAUSE_SHAPE_LAYOUT);
    }
    if (refusal.cause != LG_CAUSE_NONE) {
        lg_fact_add(d, refusal.cause, refusal.text,
                    refusal.cause == LG_CAUSE_SHAPE_LAYOUT ? lg_shape_advice(p, &d->finding->arena)
                                                           : NULL);
    }
}

static int by_count(const void *a, const void *b) {
    const lg_value_count *left = a;
    const lg_value_count *right = b;
    if (left->count != right->count) {
        return left->count < right->count ? 1 : -1;
    }
    return (left->value > right->value) - (left->value < right->value);
}

static void list_values(const lg_diagnose_pass *p, lg_finding *finding) {
    enum { MAX_VALUES = 16 };
    if (!p->has_table || p->table.n_out == 0) {
        return;
    }
    size_t n = (size_t)p->table.n_out;
    lg_value_count *values = lg_xmalloc(n * sizeof *values);
    memcpy(values, p->table.out, n * sizeof *values);
    qsort(values, n, sizeof *values, by_count);
    finding->n_values = n < MAX_VALUES ? (int64_t)n : MAX_VALUES;
    finding->values = lg_arena_array(&finding->arena, MAX_VALUES, sizeof *finding->values);
    memcpy(finding->values, values, (size_t)finding->n_values * sizeof *values);
    free(values);
}

// Labels that the head has an output for, but the data set no class.
static void add_beyond(lg_diagnose_pass *p, lg_diagnosis *d) {
    const lg_label_evidence *e = &p->table.evidence;
    lg_fact_add(d, LG_CAUSE_CORRUPT_LABELS,
                lg_arena_printf(&d->finding->arena,
                                "%" PRId64 " label%s beyond the %" PRId64
                                " classes stated: they reach %" PRId64
                                ", the first is in row %" PRId64,
                                p->beyond.n, p->beyond.n == 1 ? " is" : "s are", e->classes, e->max,
                                p->beyond.first[0]),
                "look at these labels, or state the number of classes as it is");
    p->bad_rows = p->beyond;
}

static void conclude(lg_diagnose_pass *p, lg_diagnose_result *out) {
    lg_diagnosis d = {.batch = &p->batch, .finding = &out->finding, .targets_fit = p->has_table};
    d.n_rows = p->has_table ? p->n_rows : lg_batch_rows(&p->batch);
    if (p->has_table) {
        p->table.evidence.dtype = p->targets.dtype; // of a .csv: known now
        lg_label_table_finish(&p->table);
        d.table = p->table;
        d.has_table = true;
    }
    add_facts(p, &d);
    if (p->has_table) {
        d.n_explanations = lg_labels_explain(&p->table, d.explanations);
        if (d.n_explanations == 0 && p->table.n_out > 0) {
            lg_fact_add(&d, LG_CAUSE_WRONG_HEAD_WIDTH, "the head has no output at all",
                        "give the head one output a class");
        }
    }
    if (d.n_facts == 0 && d.n_explanations == 0 && p->beyond.n > 0) {
        add_beyond(p, &d);
    }
    lg_diagnose_add_no_logs(p, &d);
    if (d.n_facts == 0 && d.n_explanations == 0) {
        if (p->one_hot) {
            lg_add_one_hot(p, &d, LG_CAUSE_SHAPE_LAYOUT);
        }
        lg_attribute_warnings(&d);
        out->finding.warning = d.n_facts > 0;
    }
    lg_attribute_conclude(&d);
    list_values(p, &out->finding);
    lg_row_list_tell(&p->bad_rows, out);
    out->n_rows = d.n_rows;
    out->has_evidence = p->has_table;
    out->evidence = p->has_table ? p->table.evidence : (lg_label_evidence){0};
    out->nonfinite = p->nonfinite;
    lg_diagnose_add_notes(p, out);
}

bool lg_diagnose(const lg_diagnose_options *options, lg_diagnose_result *out, lg_diags *diags) {
    *out = (lg_diagnose_result){0};
    lg_diagnose_pass p = {.options = options, .first_nonfinite = -1};
    bool ok = lg_diagnose_open(&p, diags);
    if (ok && lg_is_binary_diagnosis(&p)) {
        ok = lg_diagnose_binary(&p, out, diags);
        free_pass(&p);
        return ok;
    }
    bool class_rows = ok && lg_has_class_axis(&p);
    ok = ok && (!class_rows || lg_read_class_rows(&p, diags));
    if (ok && class_rows && lg_are_probabilities(&p)) {
        lg_conclude_probabilities(&p, out);
        free_pass(&p);
        return true;
    }
    p.one_hot = ok && class_rows && lg_class_rows_are_one_hot(&p.class_rows, &p.beyond_chance);
    // Labels have rows only where there is one for each: of a mismatch, the shapes are the finding.
    bool fits = ok && (!p.has_logits || p.targets.n == lg_batch_rows(&p.batch));
    ok = ok && (!fits || run_pass(&p, diags));
    if (ok) {
        conclude(&p, out);
    }
    free_pass(&p);
    return ok;
}

void lg_diagnose_free(lg_diagnose_result *result) {
    lg_finding_free(&result->finding);
    *result = (lg_diagnose_result){0};
}
