// SPDX-License-Identifier: Apache-2.0
// The field tables of a scenario file, and what the parts of its reader share.
#ifndef LG_SCENARIO_INTERNAL_H
#define LG_SCENARIO_INTERNAL_H

#include "scenario/scenario.h"
#include "support/yaml_bind.h"

// Where an array stands: which of its keys are taken there.
typedef enum lg_place {
    LG_PLACE_LOGITS = 1,
    LG_PLACE_TARGETS = 2,
    LG_PLACE_WEIGHT = 4, // weight, pos_weight, grad_output
} lg_place;

extern const lg_field_table lg_root_table;
extern const lg_field_table lg_loss_table;
extern const lg_field_table lg_batch_table;
extern const lg_field_table lg_array_table;
extern const lg_field_table lg_fault_table;
extern const lg_field_table lg_run_table;
extern const lg_field_table lg_expect_table;
extern const lg_field_table lg_no_table; // what is a custom value without keys of its own

// One file being read; the context of its binder.
typedef struct lg_scenario_reader {
    lg_binder binder;
    const lg_read_options *options;
    lg_yaml_node *root;    // of the point: the file with the matrix point's values in place
    lg_scenario *scenario; // being filled
} lg_scenario_reader;

// Custom fields (array.c, fault.c, file.c, expect.c, read.c).
#define LG_CUSTOM(name)                                                                            \
    bool name(lg_binder *binder, const lg_field *field, const char *what, lg_yaml_node *value,     \
              void *object)
LG_CUSTOM(lg_read_section);
LG_CUSTOM(lg_read_faults);
LG_CUSTOM(lg_read_nothing);
LG_CUSTOM(lg_read_array);
LG_CUSTOM(lg_read_target_kind);
LG_CUSTOM(lg_read_uniform);
LG_CUSTOM(lg_read_values);
LG_CUSTOM(lg_read_file_name);
LG_CUSTOM(lg_read_form);
LG_CUSTOM(lg_read_expected_loss);
bool lg_explain_fault_kind(lg_binder *binder, const char *what, const lg_yaml_node *value);

// Takes shape and (unless given) dtype from what lg_read_file_name learnt about the file.
void lg_array_take_file_facts(const lg_yaml_node *file, lg_array_spec *spec);

// Fills what follows from the rest: dtypes, sizes taken from listed arrays, the faults' defaults.
void lg_scenario_complete(lg_scenario_reader *reader);
// Contradictions between keys.
void lg_scenario_check(lg_scenario_reader *reader);
void lg_scenario_check_arrays(lg_scenario_reader *reader);
void lg_scenario_check_faults(lg_scenario_reader *reader);
void lg_scenario_check_relations(lg_scenario_reader *reader);
void lg_scenario_check_expect(lg_scenario_reader *reader);
void lg_scenario_check_contradictions(lg_scenario_reader *reader); // of faults
void lg_scenario_check_prospects(lg_scenario_reader *reader);      // of expectations
// The rows of the batch; -1 when they are not known or overflow, which was reported.
int64_t lg_scenario_rows(lg_scenario_reader *reader);

// How a part of a scenario file is written (write.c, expect.c).
void lg_write_text(lg_str *out, const char *text); // double-quoted: no character means anything
void lg_write_number(lg_str *out, double value);   // the fewest digits that read back the same
void lg_write_ints(lg_str *out, const char *key, lg_i64_list list);
// "  key: [a, b]" and a new line for the bits that are set; bit i is names[i - 1].
void lg_write_set(lg_str *out, const char *key, uint64_t bits, const char *const *names);
void lg_write_expect(lg_str *out, const lg_expect *expect);

// An error at the key with this dotted path, or at what stands nearest to it.
bool lg_scenario_error(lg_scenario_reader *reader, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool lg_scenario_has(lg_scenario_reader *reader, const char *path);
// Whether what the file says at each of the paths (with a blank between them) was taken, or left
// out on purpose; the others must not be looked at.
bool lg_scenario_knows(lg_scenario_reader *reader, const char *paths);
// The same of the loss and of samples, classes and extent, which listed arrays may give.
bool lg_scenario_knows_sizes(lg_scenario_reader *reader);

// A mapping of the file that is looked at key by key: an array, or a fault.
typedef struct lg_part {
    lg_scenario_reader *reader;
    const char *path; // "batch.logits", "faults.0"
    const lg_array_spec *spec;
    lg_place place; // of the array
    const lg_fault_spec *fault;
} lg_part;

const char *lg_part_key(const lg_part *part, const char *name); // "faults.0.rows"
bool lg_part_has(const lg_part *part, const char *name);
// As lg_scenario_knows, of keys of the part.
bool lg_part_knows(const lg_part *part, const char *names);
// An error at the key of that name; the second begins with the key: "faults.0.rows is empty".
void lg_part_error(const lg_part *part, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void lg_part_key_error(const lg_part *part, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Strides of an array of known rank, and of one that kernels take no strides of.
void lg_scenario_check_reach(const lg_part *array, int64_t rank);
void lg_scenario_check_weight_reach(const lg_part *array);

// Whether one dotted path leads through the other, or both are the same.
bool lg_paths_overlap(const char *a, const char *b);

bool lg_loss_is_binary(lg_loss_kind kind);

// The axes of a matrix (matrix.c).
typedef struct lg_axis {
    lg_yaml_node *key;    // its text is the dotted path, or what the rows are called together
    lg_yaml_node *values; // a list, or a mapping of names to rows (dotted key: value)
} lg_axis;

typedef struct lg_matrix {
    int n_axes;
    lg_axis *axes;
    int64_t n_points; // 1 without a matrix
} lg_matrix;

enum { LG_MAX_POINTS = 100000 };

// Adds an error for each key that cannot be varied so and leaves it out; `matrix` can be used.
void lg_matrix_read(lg_binder *binder, lg_matrix *matrix);
// The file as it reads at a point, sharing unchanged nodes; new ones live in `arena`. An axis that
// does not fit the file is left out (an error was added).
lg_yaml_node *lg_matrix_apply(lg_binder *binder, const lg_matrix *matrix, int64_t point,
                              lg_arena *arena);
const char *lg_matrix_point_text(const lg_matrix *matrix, int64_t point, lg_arena *arena);

#endif
