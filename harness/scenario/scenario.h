// SPDX-License-Identifier: Apache-2.0
// A scenario file as data: what to generate, what to inject, where to run it, what must be seen;
// and how it is read and written. Sizes and strides are in elements, labels and rows from 0.
//
// A scenario with a matrix is expanded into points, each a scenario of its own with `matrix` empty
// and `point` naming the choices. All that a set's scenarios point to lives in the set's arena.
// Reading and writing keep no state: they may run in several threads, each with its own set.
#ifndef LG_SCENARIO_SCENARIO_H
#define LG_SCENARIO_SCENARIO_H

#include "model/batch.h"
#include "model/cause.h"
#include "model/verdict.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/lists.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- Metamorphic relations: what must stay the same between two runs of a kernel on batches that
// --- are the same rows written differently. No right answer is needed, only the kernel's two.

typedef enum lg_relation {
    LG_RELATION_UNSET = 0,
#define LG_RELATION(id, name, other, help) LG_RELATION_##id,
#include "scenario/relation.def"
#undef LG_RELATION
    LG_N_RELATIONS
} lg_relation;

// A set of relations has a bit for each.
#define LG_RELATION_BIT(relation) (UINT32_C(1) << (relation))

const char *lg_relation_name(lg_relation relation);
const char *lg_relation_other(lg_relation relation);
const char *lg_relation_help(lg_relation relation);
const char *const *lg_relation_names(size_t *n); // without "unset"

// --- The parts of a scenario.

typedef enum lg_array_source {
    LG_ARRAY_ABSENT = 0, // not given: the default of the place (weight: none)
    LG_ARRAY_GENERATED,
    LG_ARRAY_VALUES, // {values: [...], shape: [...]}
    LG_ARRAY_FILE,   // {file: x.npy}
} lg_array_source;

// Logits: NORMAL(scale), UNIFORM(lo, hi), CONSTANT(lo). Index targets: UNIFORM over classes,
// ROUND_ROBIN (n mod K), ZIPF (frequency ~ 1/(k+1)), CONSTANT. Probabilities: SIMPLEX.
typedef enum lg_distribution {
    LG_DIST_DEFAULT = 0,
    LG_DIST_NORMAL,
    LG_DIST_UNIFORM,
    LG_DIST_CONSTANT,
    LG_DIST_ROUND_ROBIN,
    LG_DIST_ZIPF,
    LG_DIST_SIMPLEX,
} lg_distribution;

typedef struct lg_array_spec {
    lg_array_source source;
    lg_dtype dtype; // LG_DTYPE_NONE: default of the place, or the file's
    lg_distribution distribution;
    bool probabilities; // targets: class probabilities (or BCE targets), not class indices
    bool open_dtype;    // class indices whose dtype was not given: the values are what matters
    bool default_dtype; // floats whose dtype was not given: the input's (its own: float32)
    double scale, lo, hi;
    lg_f64_list values;     // as doubles, for float dtypes
    lg_i64_list int_values; // the same numbers when all are integers in int64 (exact beyond 2^53)
    bool values_are_integers;
    lg_i64_list shape;  // with `values`; empty: 1-D
    bool scalar;        // the shape was given as []: one number without a dimension
    lg_i64_list stride; // element strides of the view that kernels get; empty: contiguous
    const char *file;   // resolved path (relative to the scenario's folder), already confined
} lg_array_spec;

typedef enum lg_float_form {
    LG_FLOAT_REFUSED = 0, // floats instead of labels: a checked call refuses the dtype
    LG_FLOAT_BITS,        // the float labels' bits viewed as int64 (float32: two labels a row)
    LG_FLOAT_TRUNCATED,   // fractional labels cast to int64 by the loader
} lg_float_form;

const char *lg_distribution_name(lg_distribution distribution);
const char *lg_float_form_name(lg_float_form form);
const char *const *lg_distribution_names(size_t *n); // from LG_DIST_NORMAL on
const char *const *lg_float_form_names(size_t *n);

// The form that a fault takes (fault_form.def), its `where` in a file.
typedef enum lg_fault_form {
    LG_FORM_UNSET = 0,
#define LG_FORM(cause, id, name, help) LG_FORM_##id,
#include "scenario/fault_form.def"
#undef LG_FORM
    LG_N_FORMS
} lg_fault_form;

const char *lg_fault_form_name(lg_fault_form form);
lg_fault_form lg_fault_default_form(lg_cause kind); // LG_FORM_UNSET: it takes none
// The names of a kind's forms, the default first; n is 0 when it takes none.
const char *const *lg_fault_forms(lg_cause kind, size_t *n);

// One injected fault with the parameters it uses; the field table says which belong to which kind.
typedef struct lg_fault_spec {
    lg_cause kind;
    lg_loc loc;
    int64_t head_width;  // wrong_head_width: the C of the input (default K-1, at least 1)
    lg_i64_list rows;    // exact rows to spoil; empty: `count` rows drawn from the FAULT stream
    int64_t count;       // default 1
    double fraction;     // of the rows, instead of count; 0: unused
    lg_i64_list values;  // values to write, cycled; empty: the default of the kind
    lg_float_form form;  // float_targets
    lg_dtype dtype;      // float_targets: float32/float64; target_dtype, weight_vector: wrong dtype
    int64_t length;      // weight_vector: wrong length
    double number;       // value_domain, bce_range, weight_vector, nonfinite_logits: value written
    lg_fault_form where; // of its kind; LG_FORM_UNSET: the default, or the kind has none
    lg_i64_list shape;   // shape_layout: the wrong target shape
} lg_fault_spec;

// `where`, or the kind's default.
lg_fault_form lg_fault_form_of(const lg_fault_spec *fault);

typedef struct lg_batch_spec {
    uint64_t seed;
    int64_t samples;         // N
    bool unbatched;          // input of shape C: no sample axis
    lg_i64_list extent;      // d1, d2 …
    int64_t classes;         // K
    double ignored_fraction; // of rows set to ignore_index in a generated batch; default 0
    lg_array_spec logits;
    lg_array_spec targets;
} lg_batch_spec;

typedef struct lg_expect {
    bool has_verdict;
    lg_verdict verdict;
    bool has_cause;
    lg_cause cause;
    lg_cause_set causes; // each must be among those named; 0: not asked
    bool has_rows;
    lg_i64_list rows;
    bool has_attribution;
    lg_attribution attribution;
    const char *advice;        // part of the advice for a named cause, or NULL
    const char *evidence;      // part of the headline or of a named cause's evidence, or NULL
    const char *surfaced_at;   // pattern: the call that returned the error, "host_check", "none"
    const char *failed_launch; // pattern: the entry that failed, or "none"
    lg_f64_list loss;          // what the kernel must return, all of it; n is 0: not asked
    double loss_tolerance;     // how far a finite number may be from it
} lg_expect;

typedef struct lg_scenario {
    const char *path; // as given on the command line or found by the walk
    const char *name; // path without extension, relative to the scenarios folder: "faults/negative"
    const char *title;
    const char *origin; // or NULL
    lg_loss_options loss;
    lg_array_spec weight; // {uniform: [lo, hi]} is GENERATED with lo, hi
    lg_array_spec pos_weight;
    lg_array_spec grad_output;
    lg_batch_spec batch;
    int n_faults;
    lg_fault_spec faults[LG_MAX_FAULTS];
    lg_str_list kernels; // globs; empty: every kernel of the family
    bool foreign;        // only kernels of manifests that the user gave
    lg_str_list modes;   // globs; empty: every mode
    uint64_t relations;  // LG_RELATION_BIT of each that is checked beside the loss
    lg_expect expect;
    const char *point; // "batch.samples=31 batch.classes=3", "" without a matrix
} lg_scenario;

// A file's scenarios: one a matrix point, in the order of the file (last axis fastest).
typedef struct lg_scenario_set {
    lg_arena arena; // owns everything below
    int64_t n;
    lg_scenario *items;
} lg_scenario_set;

void lg_scenario_set_free(lg_scenario_set *set);
// Whether the point's list of kernels is one that no point before it has.
bool lg_scenario_set_new_kernels(const lg_scenario_set *set, int64_t point);

// --- Reading and writing. One field table (fields.def) gives the reader's checks, the reference
// --- page of scenarios/README.md and the JSON Schema.

typedef struct lg_read_options {
    const char *root;        // folder that scenario names are relative to; NULL: the file's folder
    lg_str_list allow_paths; // folders outside the scenario's own that `file:` may reach
} lg_read_options;

// Reads one file and expands its matrix. Reports *all* errors; false when there was one (the set is
// then empty). Contradictions are checked for every matrix point and name the point.
bool lg_scenario_read(const char *path, const lg_read_options *options, lg_scenario_set *set,
                      lg_diags *diags);

// The same for a file that is in memory. `name` is its path: for diagnostics, for the scenario's
// name, and for the folder that `file:` is relative to.
bool lg_scenario_read_text(const char *name, const char *text, size_t n,
                           const lg_read_options *options, lg_scenario_set *set, lg_diags *diags);

// Writes one point as a scenario file that reads back to the same point.
void lg_scenario_write(const lg_scenario *scenario, lg_str *out);

void lg_scenario_reference_page(lg_str *out); // Markdown, from the field table
void lg_scenario_json_schema(lg_str *out);    // JSON Schema 2020-12, from the field table

#endif
