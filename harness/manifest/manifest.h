// SPDX-License-Identifier: Apache-2.0
// A manifest (kernels/*.yaml) as data: how to call kernels the harness did not write.
//
// A manifest's kernel may name several policies; reading expands `{policy}` so that each lg_kernel
// has one. `{dtype}` and `{target}` in entry names are filled when a case is planned.
#ifndef LG_MANIFEST_MANIFEST_H
#define LG_MANIFEST_MANIFEST_H

#include "model/batch.h"
#include "support/arena.h"
#include "support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_policy {
    LG_POLICY_UNSET = 0,
#define LG_POLICY(id, name, help) LG_POLICY_##id,
#include "manifest/policy.def"
#undef LG_POLICY
    LG_N_POLICIES
} lg_policy;

const char *lg_policy_name(lg_policy policy);
const char *const *lg_policy_names(size_t *n); // without "unset"

typedef enum lg_mode {
    LG_MODE_UNSET = 0,
#define LG_MODE(id, name, help) LG_MODE_##id,
#include "manifest/mode.def"
#undef LG_MODE
    LG_N_MODES
} lg_mode;

const char *lg_mode_name(lg_mode mode);
const char *lg_mode_help(lg_mode mode);
const char *const *lg_mode_names(size_t *n); // without "unset"

// A size expression over the names of the argument vocabulary, kept as text; parsed and evaluated
// by lg_expr_eval: integers, names, + - * / (floor), ceil_div(a,b), min, max, next_pow2.
typedef const char *lg_expr;

// The argument vocabulary (args.def).
typedef enum lg_arg_id {
#define LG_ARG(id, name, kind, help) LG_ARG_##id,
#include "manifest/args.def"
#undef LG_ARG
    LG_N_ARGS
} lg_arg_id;

typedef enum lg_arg_kind { LG_ARG_BUFFER, LG_ARG_SIZE, LG_ARG_REAL } lg_arg_kind;

const char *const *lg_arg_names(size_t *n);
const char *lg_arg_name(lg_arg_id arg);
lg_arg_id lg_arg_find(const char *name);   // LG_N_ARGS: not in the vocabulary
lg_arg_kind lg_arg_kind_of(lg_arg_id arg); // of LG_N_ARGS, a scratch buffer: LG_ARG_BUFFER

// One parameter of an entry: an argument of the vocabulary, or a scratch buffer of the kernel.
typedef struct lg_arg {
    const char *name; // as in the manifest: "output", "scratch_partial"
    lg_arg_id id;     // LG_N_ARGS: a scratch buffer
    int scratch;      // its index in lg_kernel.scratch; with LG_N_ARGS, -1: not known
} lg_arg;

typedef struct lg_stage {
    const char *entry;    // with {dtype} and {target} still in it
    bool entry_by_dtype;  // {dtype} is: there is an entry for each type of the input
    bool entry_by_target; // {target} is: there is one for each type of the target
    lg_loc loc;
    lg_direction direction; // LG_FORWARD or LG_BACKWARD
    lg_expr grid[3];        // missing dimensions are "1"
    lg_expr block[3];
    int n_block_x;          // legal x block sizes: block_x[0] is the default, the rest are for the
    const lg_expr *block_x; // block_sizes mode; empty: only block[0]
    lg_expr shared_bytes;   // dynamic shared memory; NULL: 0
    lg_expr recorder; // which thread of the launch, counted over all its blocks, writes the fault
                      // record of `row`; NULL: unknown. It also has `threads`, of the launch
    int n_args;
    lg_arg *args;    // in parameter order
    lg_loc args_loc; // of the list; no line when the stage was not read from a file
} lg_stage;

typedef struct lg_scratch {
    const char *name; // used as `scratch_<name>` in args
    lg_expr bytes;
} lg_scratch;

typedef struct lg_kernel {
    const char *name; // "nll_loss/reduce/assert"
    const char *manifest;
    lg_loc loc;
    lg_loss_kind family;
    lg_policy policy;
    const char *source;      // resolved path of the .cu, or NULL
    const char *ptx;         // resolved path of a .ptx, or NULL
    const char **nvcc_flags; // extra flags from the manifest (`nvcc_flags: [-DNDEBUG]`)
    int n_nvcc_flags;
    // What it can take; a bit for each value of the enum (1u << value).
    uint64_t input_dtypes;
    uint64_t target_dtypes;
    uint64_t reductions;
    bool probability_targets;         // takes probabilities (only those)
    bool zero_log_zero;               // a class of probability 0 adds 0, whatever its logit is
    bool label_smoothing;             // honours loss.label_smoothing
    bool weights;                     // honours class weights
    bool unbatched, batched, spatial; // input shapes C, N×C, N×C×d…
    bool strided;                     // takes the strides as arguments
    bool total_weight_accumulates;    // total_weight has the accumulator's dtype (float32 for the
                                      // halves) instead of the input's
    bool zero_grad_input; // grad_input is zero-filled rather than poisoned before backward: the
                          // kernel writes only the cells it owns (as PyTorch's NLL backward)
    int n_scratch;
    lg_scratch *scratch;
    int n_stages;
    lg_stage *stages;
} lg_kernel;

// The directions it has stages for.
lg_direction lg_kernel_directions(const lg_kernel *kernel);
bool lg_stage_takes(const lg_stage *stage, lg_arg_id arg);
bool lg_kernel_takes(const lg_kernel *kernel, lg_arg_id arg); // in any stage

typedef struct lg_kernel_set {
    lg_arena arena;
    int64_t n;
    lg_kernel *items;
} lg_kernel_set;

// Reads one manifest and appends its kernels; *all* errors. Two kernels of one name are an error.
bool lg_kernels_read(const char *path, lg_kernel_set *set, lg_diags *diags);
// As lg_kernels_read, but after errors it keeps the kernels and stages whose entries and types are
// known, to look for further errors in what they compile to: an unknown argument has neither an id
// nor a scratch buffer there, and n_args is -1 when the list is not known. Not for running.
bool lg_kernels_read_for_check(const char *path, lg_kernel_set *set, lg_diags *diags);
// As lg_kernels_read for a manifest that is in memory; `name` is its path.
bool lg_kernels_read_text(const char *name, const char *text, size_t n, lg_kernel_set *set,
                          lg_diags *diags);
void lg_kernel_set_free(lg_kernel_set *set);

// --- Size expressions of a manifest: "ceil_div(samples, block_x)", "16 * rows + 4".
//
//   sum     = product { (+ | -) product }
//   product = factor { (* | /) factor }            / rounds down, towards minus infinity
//   factor  = integer | name | - factor | ( sum ) | function ( sum {, sum} )
//   function: ceil_div(a, b), mod(a, b), min(a, b), max(a, b), next_pow2(a)
//
// Over int64_t; mod is what / leaves; an overflow, a division by zero and next_pow2 of what has
// none are errors. Pure.

enum { LG_EXPR_MAX_DEPTH = 32, LG_EXPR_PROBLEM = 160 };

// What went wrong: a text and the byte of the expression where.
typedef struct lg_expr_problem {
    char text[LG_EXPR_PROBLEM];
    size_t at;
    bool unknown_name; // of an evaluation: it needs a name that the lookup does not have
} lg_expr_problem;

// The value of a name; false: unknown.
typedef bool (*lg_expr_lookup)(void *context, const char *name, int64_t *value);

bool lg_expr_eval(const char *text, lg_expr_lookup lookup, void *context, int64_t *value,
                  lg_expr_problem *problem);

// Syntax and names only: nothing is divided. `names` are those that an evaluation will know.
bool lg_expr_check(const char *text, const char *const *names, size_t n, lg_expr_problem *problem);

// The names that sizes may use: the SIZE arguments of args.def, block_x and dtype_bytes.
const char *const *lg_expr_names(size_t *n);

// --- What the names mean for a batch.

typedef struct lg_size_values {
    int64_t value[LG_N_ARGS]; // of the SIZE arguments
    double label_smoothing;
    int64_t block_x;
    int64_t dtype_bytes;
    int64_t row, threads; // of a stage's `recorder` only
} lg_size_values;

lg_size_values lg_sizes_measure(const lg_batch *batch);
// Evaluates an expression of a manifest; NULL is `otherwise`. False with an error.
bool lg_sizes_eval(const lg_size_values *sizes, lg_expr expr, int64_t otherwise, lg_loc loc,
                   int64_t *value, lg_diags *diags);
// The stride that walks dimensions [first, rank) as one; false when they cannot be walked so.
bool lg_collapse(const lg_tensor *tensor, int first, int64_t *stride);

#endif
