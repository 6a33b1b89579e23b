// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on one batch under one launch mode and says what was seen.
//
// Outputs are poisoned before the launch and copied back after it unless the context died; where
// the device does not check each access, buffers have fences (device/buffers.h). A
// `lg_device_session` belongs to one thread; it creates a fresh context after a sticky error and
// after a finding.
//
// The modes:
//   blocking     each launch waits and returns its own error; nothing is launched after one
//   async        the loss's launches, then unrelated work: a kernel on the same stream, a kernel
//   and a copy
//                on another. The other stream is waited for first, so that an error surfaces at
//                somebody else's call; `mode_failure` when the unrelated work returned wrong
//                numbers
//   block_sizes  once for each legal block size, each launch blocking. The run whose numbers differ
//   most
//                from those of the default size (relative) is the observation, so that judging it
//                against the reference judges them all; `mode_failure` when one differs in class:
//                status, number of fault records, unwritten elements, NaN, infinity or finite.
//                Stages with fewer sizes than others keep their last
//   poisoned     behind a bad batch on which the same kernel's assert ended the context. No launch
//                of the case's batch runs: `earlier_launch` says whose fault that is, and there is
//                no failed launch. For kernels of policy assert, and only where it is asked for by
//                name
//
// Races are looked for in every mode, on a device that can; in block_sizes on batches without a
// fault.
//
// A launch's number counts all launches of the case, unrelated ones included; `calls_later` counts
// the noted driver calls after the failing launch up to the one that returned the error: 0 is the
// launch itself. A stage whose grid has an empty dimension (no samples) is not launched.
#ifndef LG_DEVICE_DEVICE_H
#define LG_DEVICE_DEVICE_H

#include "batch/batch.h"
#include "engine/driver/driver.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "result/case.h"
#include "result/observation.h"
#include "support/arena.h"
#include "support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lg_device_session lg_device_session;

// `cache_dir`: where compiled PTX is kept (by hash of source, headers, flags and compiler); `nvcc`:
// the compiler, or NULL to refuse sources. Driver stays borrowed.
lg_device_session *lg_device_open(const lg_driver *driver, const char *nvcc, const char *cache_dir,
                                  lg_diags *diags);
void lg_device_close(lg_device_session *session);
// Calls `notice` before the compiler starts on a source that is not in the cache.
void lg_device_on_compile(lg_device_session *session,
                          void (*notice)(void *context, const char *source), void *context);

// Compiles (or finds in the cache) and loads the kernel's module, and checks every stage's
// arguments against the entry's parameters (number, sizes) for each dtype it names. All errors;
// what is wrong with a source is said once, for the first kernel of it. The kernel must outlive the
// session.
bool lg_device_prepare(lg_device_session *session, const lg_kernel *kernel, lg_diags *diags);

// Where in its source the entry of a stage begins that takes these types; strings in `arena`.
// false: not known.
bool lg_device_entry_place(lg_device_session *session, const lg_kernel *kernel,
                           const lg_stage *stage, lg_dtype input, lg_dtype target, lg_arena *arena,
                           lg_source_place *out);

// Why this kernel cannot take this batch (dtype, shape, option …), or NULL when it can. The text is
// static or lives in `arena`. Types and strides that a host check refuses are no reason for a
// guarded kernel: refusing such a batch is what its case shows.
const char *lg_device_unsuitable(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode,
                                 lg_arena *arena);

// Warp instructions that a launch of so many warps on this batch may take before it counts as a
// hang: far more than a right kernel needs, even one that does it all in one thread or in blocks of
// 32 warps that add up in double precision (test_devrun_budget.c shows how far), and few enough
// that a hang on a small batch takes a few seconds on the embedded device, whose own limit is
// 10^10.
enum {
    LG_BUDGET_LEAST = 20 * 1000 * 1000,
    LG_BUDGET_PER_WARP = 20 * 1000,
    LG_BUDGET_PER_ELEMENT = 4000, // of input and target
};
uint64_t lg_device_budget(const lg_batch *batch, double n_warps);

// The refusal of a call for integer labels of a type that this kernel does not take, as the
// dispatch of an operation has it, when nothing else keeps the kernel from the batch; cause NONE
// otherwise.
lg_refusal lg_device_refusal(const lg_kernel *kernel, const lg_batch *batch, lg_mode mode,
                             lg_arena *arena);

typedef struct lg_run_request {
    const lg_kernel *kernel;
    const lg_batch *batch;
    lg_mode mode;
    uint64_t budget;   // warp instructions of a launch; 0: lg_device_budget
    uint64_t schedule; // seeds the order of blocks and warps; 0: in order
    // Given: forward is not launched for a backward pass, which finds this as its total weight.
    const double *total_weight;
    bool skip_host_checks; // policy none: nothing stands between the caller and the kernel
} lg_run_request;

// Host checks are the caller's (lg_hostcheck). Fills `out` (free with lg_observation_free, also
// after false). false only for faults of lossgate itself or of the set-up (no memory, a size that
// does not fit a 32-bit parameter, an expression that cannot be evaluated); a failing kernel is an
// observation.
bool lg_device_run(lg_device_session *session, const lg_run_request *request, lg_observation *out,
                   lg_diags *diags);

// --- CUDA source → PTX through nvcc, kept in a cache.
//
// The key is a hash over everything the PTX depends on: the bytes of the source and of each local
// header it includes, the flags, the path as the compiler is given it, and what `nvcc --version`
// says. The compiler runs in the parent of the source's folder and gets `folder/file.cu`, and line
// tables are rewritten the same way, so that assert lines and coverage say `kernels/nll_loss.cu`
// wherever the tree lies. Threads and processes may share a cache: one compiles, the others wait
// for it.

typedef struct lg_compiler lg_compiler;

// `nvcc`: a path, or a name to be found on PATH. NULL with an error when it does not run. The cache
// folder is made if need be.
lg_compiler *lg_compiler_open(const char *nvcc, const char *cache_dir, lg_diags *diags);
void lg_compiler_close(lg_compiler *compiler);
// Calls `notice` with the source's path before nvcc starts on it.
void lg_compiler_notify(lg_compiler *compiler, void (*notice)(void *context, const char *source),
                        void *context);

typedef struct lg_compiled {
    char *path; // of the PTX in the cache
    char *ptx;  // the text, NUL-terminated, not to be written to
    size_t n_bytes;
    size_t mapped;   // bytes of address space at `ptx` where the file is mapped; 0: malloc'd
    bool from_cache; // no compiler ran for this call
} lg_compiled;

// False with the compiler's errors in `diags`, each at its own file and line (as the compiler names
// the file). Warnings of a compilation that succeeds are added as warnings, once: not when it is
// cached.
bool lg_compile(lg_compiler *compiler, const char *source, const char *const *flags, int n_flags,
                lg_compiled *out, lg_diags *diags);
void lg_compiled_free(lg_compiled *compiled);
// The text will not be read for a while: its pages need not stay in memory till then.
void lg_compiled_rest(const lg_compiled *compiled);

// --- Does a wrong result depend on the order in which blocks and warps run?

// Runs the request again in a few seeded orders and compares with `seen`, the run in order. The
// text that tells the first difference beyond rounding, in `arena`; NULL when there is none, or no
// run could be made. Only a device that can choose the order tells anything (the embedded one).
const char *lg_find_order_dependence(lg_device_session *device, const lg_run_request *request,
                                     const lg_observation *seen, lg_arena *arena);

#endif
