// SPDX-License-Identifier: Apache-2.0
#include "attribute/attribute.h"

#include "attribute/internal.h"
#include "attribute/kernel/kernel.h"
#include "support/alloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- the kernel ---------------------------------------------------------------------------------

static lg_kernel_run run_of(const lg_diagnosis *d) {
    return (lg_kernel_run){.batch = d->batch,
                           .reference = d->input->reference,
                           .refusal = d->input->refusal,
                           .kernel = d->input->kernel,
                           .observation = d->input->observation,
                           .n_rows = d->n_rows,
                           .targets_fit = d->targets_fit,
                           .is_misread = d->misread,
                           .arena = &d->finding->arena};
}

static int guess_kernel(const lg_diagnosis *d, lg_guess *guesses) {
    lg_kernel_run run = run_of(d);
    return lg_kernel_guess(&run, guesses);
}

static void conclude_kernel(lg_diagnosis *d) {
    lg_guess guesses[LG_MAX_GUESSES];
    int n = guess_kernel(d, guesses);
    if (n > 0) {
        lg_attribute_conclude_kernel(d, guesses, n);
    }
}

// NaN and infinity have a right answer too. A kernel that gives another one has a fault of its own,
// and the logits are not all there is to say.
static void add_number_fault(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    lg_hypothesis *h = &finding->hypotheses[0];
    if (h->cause != LG_CAUSE_NONFINITE_LOGITS || h->n_with > 0) {
        return;
    }
    lg_guess guesses[LG_MAX_GUESSES];
    int n = guess_kernel(d, guesses);
    const lg_guess *best = guesses;
    for (int i = 1; i < n; i++) {
        best = guesses[i].weight > best->weight ? &guesses[i] : best;
    }
    lg_hypothesis_add(h, n > 0 ? best->cause : LG_CAUSE_NONE);
    h->evidence = lg_arena_printf(&finding->arena,
                                  "what the kernel returns is not what IEEE arithmetic makes of "
                                  "infinities and NaN%s%s; and %s",
                                  n > 0 ? ": " : "", n > 0 ? best->why : "", h->evidence);
    h->advice = "look at how the kernel treats infinities, and at where they come from";
    finding->headline = h->evidence;
    finding->certain = false;
}

// A guard that let invalid rows through is a second fault, the kernel's.
static void add_guard_fault(lg_diagnosis *d) {
    const char *evidence = NULL;
    lg_hypothesis *h = &d->finding->hypotheses[0];
    lg_kernel_run run = run_of(d);
    lg_cause guard = lg_kernel_missed_rows(&run, &evidence);
    if (guard != LG_CAUSE_NONE && !lg_hypothesis_states(h, guard)) {
        lg_hypothesis_add(h, guard);
        h->evidence = lg_arena_printf(&d->finding->arena, "%s; and %s: %s", h->evidence,
                                      lg_cause_name(guard), evidence);
        d->finding->headline = h->evidence;
    }
}

// --- rows and values ----------------------------------------------------------------------------

static int64_t n_places(const lg_diagnosis *d) {
    return d->n_labels > d->n_rows ? d->n_labels : d->n_rows;
}

static void list_rows(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    int64_t n = 0;
    for (int64_t row = 0; row < n_places(d); row++) {
        n += d->bad[row];
    }
    finding->n_rows = n;
    finding->rows = lg_arena_array(&finding->arena, (size_t)(n > 0 ? n : 1), sizeof(int64_t));
    n = 0;
    for (int64_t row = 0; row < n_places(d); row++) {
        if (d->bad[row]) {
            finding->rows[n++] = row;
        }
    }
}

static int by_label(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int by_count(const void *a, const void *b) {
    const lg_value_count *left = a;
    const lg_value_count *right = b;
    if (left->count != right->count) {
        return left->count < right->count ? 1 : -1;
    }
    return (left->value > right->value) - (left->value < right->value);
}

enum { MAX_VALUES = 16 };

// A row that is bad for its logits has a label like any other: only those to blame are listed, in
// range or not, for a misread label can be a class by chance.
static void count_values(lg_diagnosis *d) {
    lg_finding *finding = d->finding;
    int64_t n = finding->n_rows;
    if (d->n_labels == 0 || n == 0) {
        return;
    }
    const lg_tensor *given = lg_batch_device_target(d->batch);
    int64_t *labels = lg_xmalloc((size_t)n * sizeof *labels);
    lg_value_count *values = lg_xmalloc((size_t)n * sizeof *values);
    n = 0;
    for (int64_t i = 0; i < finding->n_rows; i++) {
        if (d->bad_label[finding->rows[i]]) {
            labels[n++] = lg_tensor_get_i64(given, finding->rows[i]);
        }
    }
    qsort(labels, (size_t)n, sizeof *labels, by_label);
    int64_t n_values = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || labels[i] != labels[i - 1]) {
            values[n_values++] = (lg_value_count){.value = labels[i]};
        }
        values[n_values - 1].count++;
    }
    qsort(values, (size_t)n_values, sizeof *values, by_count);
    finding->n_values = n_values < MAX_VALUES ? n_values : MAX_VALUES;
    finding->values = lg_arena_array(&finding->arena, MAX_VALUES, sizeof *values);
    memcpy(finding->values, values, (size_t)finding->n_values * sizeof *values);
    free(labels);
    free(values);
}

// --- the whole ----------------------------------------------------------------------------------

static void use_refusal(lg_diagnosis *d) {
    const lg_refusal *refusal = d->input->refusal;
    lg_refusal own = {0};
    if (!refusal && !d->input->observation) {
        own = lg_hostcheck(d->batch, &d->finding->arena);
        refusal = &own;
    }
    if (!refusal || refusal->cause == LG_CAUSE_NONE) {
        return;
    }
    for (int64_t i = 0; i < refusal->n_rows; i++) { // fractional labels
        if (refusal->rows[i] >= 0 && refusal->rows[i] < d->n_labels) {
            d->bad[refusal->rows[i]] = true;
            d->bad_label[refusal->rows[i]] = true;
        }
    }
    lg_fact_add(d, refusal->cause, lg_arena_strdup(&d->finding->arena, refusal->text), NULL);
}

static bool rows_are_countable(const lg_batch *batch, int64_t *n_rows) {
    *n_rows = lg_batch_is_binary(batch) ? lg_tensor_numel(&batch->input) : lg_batch_rows(batch);
    return lg_tensor_exists(&batch->input) && *n_rows >= 0;
}

void lg_attribute(const lg_attribute_input *input, lg_finding *out) {
    *out = (lg_finding){0};
    lg_diagnosis d = {.input = input, .batch = input->batch, .finding = out};
    if (!rows_are_countable(input->batch, &d.n_rows)) {
        return;
    }
    lg_attribute_label_shape(&d);
    d.bad = lg_xcalloc((size_t)n_places(&d) + 1, sizeof *d.bad);
    d.bad_label = lg_xcalloc((size_t)n_places(&d) + 1, sizeof *d.bad_label);
    lg_attribute_handover(&d);
    lg_attribute_values(&d);
    use_refusal(&d);
    lg_attribute_label_rows(&d);
    bool faulty = d.n_facts > 0 || d.n_explanations > 0;
    if (faulty) {
        lg_attribute_companions(&d);
    }
    if (!faulty) {
        if (input->result_wrong) {
            conclude_kernel(&d);
        }
        if (out->cause == LG_CAUSE_NONE) {
            lg_attribute_warnings(&d);
            out->warning = d.n_facts > 0;
        }
    }
    lg_attribute_conclude(&d);
    list_rows(&d);
    count_values(&d);
    if (faulty && out->n_hypotheses > 0) {
        add_guard_fault(&d);
        if (input->result_wrong) {
            add_number_fault(&d);
        }
    }
    if (d.has_table) {
        lg_label_table_free(&d.table);
    }
    free(d.bad);
    free(d.bad_label);
}

// --- grading ------------------------------------------------------------------------------------

static bool was_injected(const lg_batch *batch, lg_cause cause) {
    for (int i = 0; i < batch->n_injections; i++) {
        if (batch->injections[i].fired && batch->injections[i].cause == cause) {
            return true;
        }
    }
    return false;
}

// Whether the finding lists exactly the union of the injected rows.
static bool rows_match(const lg_batch *batch, const lg_finding *finding) {
    int64_t at[LG_MAX_FAULTS] = {0};
    int64_t n = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < batch->n_injections; i++) {
            const lg_injection *injection = &batch->injections[i];
            if (injection->fired && at[i] < injection->n_rows && injection->rows[at[i]] < next) {
                next = injection->rows[at[i]];
            }
        }
        if (next == INT64_MAX) {
            return n == finding->n_rows;
        }
        if (n >= finding->n_rows || finding->rows[n] != next) {
            return false;
        }
        n++;
        for (int i = 0; i < batch->n_injections; i++) {
            const lg_injection *injection = &batch->injections[i];
            while (injection->fired && at[i] < injection->n_rows &&
                   injection->rows[at[i]] <= next) {
                at[i]++;
            }
        }
    }
}

lg_attribution lg_attribution_grade(const lg_batch *batch, const lg_finding *finding) {
    int n_fired = 0;
    bool named = false;
    for (int i = 0; i < batch->n_injections; i++) {
        const lg_injection *injection = &batch->injections[i];
        n_fired += injection->fired;
        named = named || (injection->fired && lg_finding_names(finding, injection->cause));
    }
    if (n_fired == 0) {
        bool quiet = finding->cause == LG_CAUSE_NONE || finding->warning;
        return quiet ? LG_ATTRIBUTION_NONE : LG_ATTRIBUTION_WRONG;
    }
    if (finding->cause == LG_CAUSE_NONE || !named || !rows_match(batch, finding)) {
        return LG_ATTRIBUTION_WRONG;
    }
    if (finding->ambiguous) {
        return LG_ATTRIBUTION_AMBIGUOUS;
    }
    // A companion that was never injected is a claim too, unless it is the kernel's own fault.
    bool with_is_right = true;
    const lg_hypothesis *first = finding->n_hypotheses > 0 ? &finding->hypotheses[0] : NULL;
    for (int i = 0; first && i < first->n_with; i++) {
        with_is_right = with_is_right && (was_injected(batch, first->with[i]) ||
                                          lg_cause_phase_of(first->with[i]) == LG_PHASE_KERNEL);
    }
    if (was_injected(batch, finding->cause) && with_is_right) {
        return LG_ATTRIBUTION_EXACT;
    }
    return finding->n_possible > finding->n_named ? LG_ATTRIBUTION_AMBIGUOUS : LG_ATTRIBUTION_WRONG;
}
