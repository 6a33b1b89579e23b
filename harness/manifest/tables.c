// SPDX-License-Identifier: Apache-2.0
// The keys of a manifest. kernels/README.md explains them to who writes one.
#include "manifest/internal.h"

#include "manifest/manifest.h"

static const char *const *input_names(size_t *n) {
    static const char *const names[] = {"unbatched", "batched", "spatial"};
    *n = 3;
    return names;
}

static const char *const *total_weight_names(size_t *n) {
    static const char *const names[] = {"input", "accumulate"};
    *n = 2;
    return names;
}

static const char *const *stage_directions(size_t *n) {
    const char *const *names = lg_direction_names(n);
    *n = 2; // a stage belongs to one pass, never to both
    return names;
}

#define MANIFEST(member) .offset = offsetof(lg_manifest, member)
#define KERNEL(member) .offset = offsetof(lg_kernel_draft, member)
#define STAGE(member) .offset = offsetof(lg_stage, member)
#define CHOICES(names, value) .choices = (names), .first = (int)(value)

static const lg_field manifest_fields[] = {
    {.key = "family",
     .type = LG_FIELD_CHOICE,
     MANIFEST(family),
     CHOICES(lg_loss_kind_names, LG_NLL_LOSS),
     .required = true},
    {.key = "source", .type = LG_FIELD_TEXT, MANIFEST(source)},
    {.key = "ptx", .type = LG_FIELD_TEXT, MANIFEST(ptx)},
    {.key = "nvcc_flags", .type = LG_FIELD_TEXT_LIST, MANIFEST(nvcc_flags)},
    {.key = "kernels", .type = LG_FIELD_CUSTOM, .read = lg_read_kernels, .required = true},
};

static const lg_field kernel_fields[] = {
    {.key = "name", .type = LG_FIELD_TEXT, KERNEL(kernel.name), .required = true},
    {.key = "policy", .type = LG_FIELD_CHOICE, KERNEL(policy), CHOICES(lg_policy_names, 1)},
    {.key = "policies", .type = LG_FIELD_CHOICE_SET, KERNEL(policies), CHOICES(lg_policy_names, 1)},
    {.key = "dtypes",
     .type = LG_FIELD_CHOICE_SET,
     KERNEL(kernel.input_dtypes),
     CHOICES(lg_dtype_names, 1),
     .required = true},
    {.key = "targets",
     .type = LG_FIELD_CHOICE_SET,
     KERNEL(kernel.target_dtypes),
     CHOICES(lg_dtype_names, 1)},
    {.key = "reductions",
     .type = LG_FIELD_CHOICE_SET,
     KERNEL(kernel.reductions),
     CHOICES(lg_reduction_names, LG_REDUCTION_NONE)},
    {.key = "inputs",
     .type = LG_FIELD_CHOICE_SET,
     KERNEL(inputs),
     CHOICES(input_names, LG_INPUT_UNBATCHED)},
    {.key = "probability_targets",
     .type = LG_FIELD_BOOL,
     KERNEL(kernel.probability_targets),
     .initial = "false"},
    {.key = "zero_log_zero",
     .type = LG_FIELD_BOOL,
     KERNEL(kernel.zero_log_zero),
     .initial = "false"},
    {.key = "label_smoothing",
     .type = LG_FIELD_BOOL,
     KERNEL(kernel.label_smoothing),
     .initial = "false"},
    {.key = "weights", .type = LG_FIELD_BOOL, KERNEL(kernel.weights), .initial = "true"},
    {.key = "strided", .type = LG_FIELD_BOOL, KERNEL(kernel.strided), .initial = "false"},
    {.key = "total_weight",
     .type = LG_FIELD_CHOICE,
     KERNEL(total_weight),
     CHOICES(total_weight_names, 0),
     .initial = "input"},
    {.key = "zero_grad_input",
     .type = LG_FIELD_BOOL,
     KERNEL(kernel.zero_grad_input),
     .initial = "false"},
    {.key = "scratch", .type = LG_FIELD_CUSTOM, .read = lg_read_scratch},
    {.key = "stages", .type = LG_FIELD_CUSTOM, .read = lg_read_stages, .required = true},
};

static const lg_field stage_fields[] = {
    {.key = "entry", .type = LG_FIELD_TEXT, STAGE(entry), .required = true},
    {.key = "direction",
     .type = LG_FIELD_CHOICE,
     STAGE(direction),
     CHOICES(stage_directions, LG_FORWARD),
     .initial = "forward"},
    {.key = "grid",
     .type = LG_FIELD_CUSTOM,
     .read = lg_read_geometry,
     STAGE(grid),
     .required = true},
    {.key = "block", .type = LG_FIELD_CUSTOM, .read = lg_read_geometry, STAGE(block)},
    {.key = "block_x", .type = LG_FIELD_CUSTOM, .read = lg_read_block_x},
    {.key = "shared_bytes", .type = LG_FIELD_CUSTOM, .read = lg_read_size, STAGE(shared_bytes)},
    {.key = "recorder", .type = LG_FIELD_CUSTOM, .read = lg_read_recorder, STAGE(recorder)},
    {.key = "args", .type = LG_FIELD_CUSTOM, .read = lg_read_args, .required = true},
};

#define TABLE(variable, path, rows)                                                                \
    const lg_field_table variable = {(path), rows, (int)(sizeof(rows) / sizeof *(rows))};

TABLE(lg_manifest_table, "", manifest_fields)
TABLE(lg_kernel_table, "kernels", kernel_fields)
TABLE(lg_stage_table, "stages", stage_fields)
