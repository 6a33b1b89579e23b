// SPDX-License-Identifier: Apache-2.0
// What the parts of the manifest reader share.
#ifndef LG_MANIFEST_INTERNAL_H
#define LG_MANIFEST_INTERNAL_H

#include "manifest/manifest.h"
#include "support/yaml_bind.h"

typedef enum lg_input_form { LG_INPUT_UNBATCHED, LG_INPUT_BATCHED, LG_INPUT_SPATIAL } lg_input_form;

// One entry of `kernels:` before it is expanded into its policies.
typedef struct lg_kernel_draft {
    lg_kernel kernel;
    lg_policy policy;
    uint64_t policies;
    uint64_t inputs;  // bits of lg_input_form
    int total_weight; // 0 input, 1 accumulate
    const lg_yaml_node *node;
} lg_kernel_draft;

typedef struct lg_manifest {
    lg_loss_kind family;
    const char *source;
    const char *ptx;
    lg_str_list nvcc_flags;
    int n_kernels;
    lg_kernel_draft *kernels;
} lg_manifest;

extern const lg_field_table lg_manifest_table; // of lg_manifest
extern const lg_field_table lg_kernel_table;   // of lg_kernel_draft
extern const lg_field_table lg_stage_table;    // of lg_stage

#define LG_CUSTOM(name)                                                                            \
    bool name(lg_binder *binder, const lg_field *field, const char *what, lg_yaml_node *value,     \
              void *object)
LG_CUSTOM(lg_read_kernels);
LG_CUSTOM(lg_read_scratch);
LG_CUSTOM(lg_read_stages);
LG_CUSTOM(lg_read_geometry); // grid, block: one to three sizes
LG_CUSTOM(lg_read_block_x);
LG_CUSTOM(lg_read_size);
LG_CUSTOM(lg_read_recorder);
LG_CUSTOM(lg_read_args);

// Whether the value is a list of so many; adds the error.
bool lg_is_list_of(lg_binder *binder, lg_yaml_node *value, const char *what, int least, int most,
                   const char *things);

// What only the whole kernel shows: args against scratch, dtypes against the family.
bool lg_kernel_draft_check(lg_binder *binder, lg_loss_kind family, lg_kernel_draft *draft,
                           const char *what);
// The sizes on a few typical batches (sizes.c).
bool lg_kernel_draft_try_sizes(lg_binder *binder, const lg_kernel_draft *draft, const char *what);

#endif
