// SPDX-License-Identifier: Apache-2.0
// Parts of devrun: the session's contexts and modules, the sizes a manifest computes with, one run.
#ifndef LG_DEVICE_INTERNAL_H
#define LG_DEVICE_INTERNAL_H

#include "device/buffers.h"
#include "device/compile.h"
#include "device/device.h"
#include "device/ptx_slice.h"

// A PTX text that was compiled or read; kernels of one source share it.
typedef struct lg_ptx_source {
    char *key;        // source and flags, or path of the PTX
    lg_compiled file; // its text NULL: it could not be compiled or read, which has been reported
    lg_ptx_index index;
    bool whole;    // slices of it do not load: load all of it
    bool reported; // its load problems have been told
} lg_ptx_source;

// What is loaded of a source for one kernel and one pair of types, or a text of our own.
typedef struct lg_loaded_slice {
    size_t ptx; // index into the session's sources
    char *key;  // the entries' names
    uint64_t generation;
    CUmodule module; // valid when `generation` is the session's
} lg_loaded_slice;

typedef struct lg_prepared_kernel {
    const lg_kernel *kernel;
    size_t ptx; // index into the session's sources
    bool ok;
} lg_prepared_kernel;

struct lg_device_session {
    const lg_driver *driver;
    lg_compiler *compiler; // NULL: sources are refused
    CUdevice device;
    CUcontext context;      // NULL: none now
    uint64_t generation;    // counts contexts, from 1
    uint64_t base_launches; // in the current context before the run
    size_t n_ptx;
    lg_ptx_source *ptx;
    size_t n_slices;
    lg_loaded_slice *slices;
    size_t n_prepared;
    lg_prepared_kernel *prepared;
    uint64_t bystander_generation;
    CUmodule bystander; // valid when its generation is the session's
};

// --- devrun.c, devrun_load.c

// A usable context, current on this thread.
bool lg_device_ensure_context(lg_device_session *session, lg_diags *diags);
// Ends the context and all that is in it; the next run gets a fresh one.
void lg_device_drop_context(lg_device_session *session);
// A module of the current context with the kernel's entries for these types: one of many entries
// loads in a hundredth of the time of all.
bool lg_device_module(lg_device_session *session, size_t ptx, const lg_kernel *kernel,
                      lg_dtype input, lg_dtype target, CUmodule *module, lg_diags *diags);
// Loads a text that must load; its problems are reported as problems of `path`.
bool lg_device_load(lg_device_session *session, const char *text, const char *path, lg_loc blame,
                    CUmodule *module, lg_diags *diags);
// The prepared kernel, preparing it if need be; NULL when it cannot run.
const lg_prepared_kernel *lg_device_find(lg_device_session *session, const lg_kernel *kernel,
                                         lg_diags *diags);
// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)" and its like; returns false.
bool lg_device_error(const lg_device_session *session, lg_diags *diags, lg_loc loc,
                     const char *call, CUresult error);

// --- devrun_prepare.c

// The entry's name with {policy}, {dtype} and {target} filled; malloc'd.
char *lg_entry_name(const lg_kernel *kernel, const char *entry, lg_dtype input, lg_dtype target);
// All arguments of all stages against the entries. All errors.
bool lg_device_check_entries(lg_device_session *session, const lg_kernel *kernel, size_t ptx,
                             lg_diags *diags);
// Bytes of each parameter of an entry into `bytes` (capacity `n`); the number there are, or n + 1
// when more.
int lg_entry_params(const lg_driver *driver, CUfunction function, size_t *bytes, int n);

// --- devrun_sizes.c

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

// --- devrun_once.c

typedef struct lg_once_options {
    bool blocking;
    bool bystanders; // queue unrelated work behind the loss and check it
    // Launched and waited for first, in the same context, by the same kernel: it must end it.
    const lg_batch *before;
    int block_size; // index into block_x of each stage (its last, when it has fewer)
} lg_once_options;

enum { LG_MAX_PARAMS = 64 };

// The stages a direction runs, in order: *out is an array of the kernel's n_stages; their number.
int lg_stages_of(const lg_kernel *kernel, lg_direction direction, const lg_stage **out);
bool lg_run_once(lg_device_session *session, const lg_run_request *request,
                 const lg_once_options *options, lg_observation *out, lg_diags *diags);

// --- devrun_observe.c

// What the calls, the log and the device say about the run.
void lg_observe(const lg_device_session *session, const lg_buffers *buffers, const lg_calls *calls,
                bool blocking, lg_observation *out);

// --- launch_modes.c

typedef struct lg_bystander {
    CUstream other;
    CUdeviceptr same_stream; // buffers of the two launches
    CUdeviceptr other_stream;
    uint32_t *copied; // where the copy queued behind goes
} lg_bystander;

// Makes the unrelated work's stream and memory, before the loss is launched.
bool lg_bystander_make(lg_device_session *session, lg_bystander *by, lg_calls *calls,
                       lg_diags *diags);
// Queues it: a kernel on the loss's stream, a kernel and a copy on another.
bool lg_bystander_queue(lg_device_session *session, lg_bystander *by, CUstream stream,
                        lg_calls *calls);
// What went wrong with its results, or NULL; only for a context that lives.
const char *lg_bystander_check(lg_device_session *session, lg_bystander *by, lg_calls *calls);
void lg_bystander_free(lg_device_session *session, lg_bystander *by, bool context_dead);

// Mode block_sizes: see devrun.h.
bool lg_run_block_sizes(lg_device_session *session, const lg_run_request *request,
                        lg_observation *out, lg_diags *diags);
// Mode poisoned: see devrun.h.
bool lg_run_poisoned(lg_device_session *session, const lg_run_request *request, lg_observation *out,
                     lg_diags *diags);
int lg_count_block_sizes(const lg_kernel *kernel, lg_direction direction);

#endif
