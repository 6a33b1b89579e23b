// SPDX-License-Identifier: Apache-2.0
// The device memory of one run: what each argument of the vocabulary points to, filled, fenced and
// poisoned, and the outputs read back.
//
// On a device that checks every access, allocations have exactly the size of their contents, so
// that one element past the end is a finding. Elsewhere each has fences on both sides, which are
// looked at after the run.
#ifndef LG_DEVICE_BUFFERS_H
#define LG_DEVICE_BUFFERS_H

#include "engine/driver.h"
#include "model/batch.h"
#include "manifest/manifest.h"
#include "result/observation.h"
#include "device/calls.h"
#include "support/error.h"

typedef enum lg_arg_id {
#define LG_ARG(id, name, kind, help) LG_ARG_##id,
#include "manifest/args.def"
#undef LG_ARG
    LG_N_ARGS
} lg_arg_id;

typedef enum lg_arg_kind { LG_ARG_BUFFER, LG_ARG_SIZE, LG_ARG_REAL } lg_arg_kind;

enum { LG_FENCE_BYTES = 256, LG_RING_CAPACITY = 4096 };
#define LG_FENCE_WORD 0xFE9CE5A1u

// The layout kernels know as lossgate_record_ring; the records follow.
typedef struct lg_record_ring {
    uint32_t capacity;
    uint32_t count;
    uint64_t reserved;
} lg_record_ring;

typedef struct lg_device_buffer {
    const char *name; // as in the manifest: "output", "scratch_partial"
    bool used;        // by a stage of this run
    bool reported;    // an output the run has to show
    lg_dtype dtype;   // LG_DTYPE_NONE: bytes
    int64_t n;        // elements
    size_t bytes;
    CUdeviceptr allocation; // 0: none
    CUdeviceptr address;    // of the first element; 0 for a null pointer
    bool host_mapped;
    struct lg_far_memory *far; // of a view whose elements lie gigabytes apart; NULL: `allocation`
    uint64_t reach;            // bytes of address space of such a view
} lg_device_buffer;

typedef struct lg_buffers {
    const lg_driver *driver;
    lg_device_buffer args[LG_N_ARGS]; // only those of kind BUFFER are ever used
    int n_scratch;
    lg_device_buffer *scratch; // as the kernel's, in the run's arena
    void *ring;                // host memory of the fault records, or NULL
    lg_arena *arena;           // the run's
    const char *not_made;      // why the device has no room for a far view, in the arena; or NULL
    bool has_total_weight;     // what the backward stages were given is kept
    unsigned char total_weight[8];
} lg_buffers;

// Index of a name of the vocabulary, or LG_N_ARGS. Scratch names are not in it.
lg_arg_id lg_arg_find(const char *name);
bool lg_stage_takes(const lg_stage *stage, lg_arg_id arg);
bool lg_kernel_takes(const lg_kernel *kernel, lg_arg_id arg); // in any stage
lg_arg_kind lg_arg_kind_of(lg_arg_id arg);

// Says what is used: a name of the vocabulary, or `scratch_<name>` of the kernel. False: neither.
bool lg_buffers_use(lg_buffers *buffers, const lg_kernel *kernel, const char *arg);
// Allocates and fills all that is used. `scratch_bytes`: size of each scratch buffer. False with an
// error when memory is out or a call fails; without one when `not_made` says why this device cannot
// be given the batch.
bool lg_buffers_make(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     const int64_t *scratch_bytes, lg_calls *calls, lg_diags *diags);
CUdeviceptr lg_buffers_address(const lg_buffers *buffers, const lg_kernel *kernel, const char *arg);

// Reads the outputs back into the observation; their values stay NULL when the context is dead.
// Inputs are compared with what was uploaded and freed first, so that host and device do not both
// hold all of a large batch.
void lg_buffers_read(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     bool context_dead, lg_observation *out, lg_calls *calls);

// --- buffers_inputs.c

// Compares an input bit for bit with what was uploaded, in pieces. The first element of the first
// input that differs goes into out->input_written, in words.
void lg_buffers_check_input(const lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg,
                            lg_observation *out, lg_calls *calls);
// The total weight is an output of forward and an input of backward: keeps what backward is given.
// Waits for forward, so only where launches block. Notes no call: none is the caller's.
void lg_buffers_keep_total_weight(lg_buffers *buffers);
void lg_buffers_check_total_weight(const lg_buffers *buffers, lg_observation *out, lg_calls *calls);
// The kernel may count in the ring of fault records, and not say how long it is.
void lg_buffers_check_ring(const lg_buffers *buffers, lg_observation *out);
// The fault records, readable also from a dead context.
void lg_buffers_read_ring(const lg_buffers *buffers, lg_observation *out);
// Frees what is left. Not for a dead context: destroying that frees its memory.
void lg_buffers_free(lg_buffers *buffers);
// Whether the batch was given in a range of addresses that the context will not hand out again.
bool lg_buffers_are_far(const lg_buffers *buffers);
// Address ranges belong to the process and outlive a context.
void lg_buffers_free_far(lg_buffers *buffers);

// The buffer that lies nearest to an address and how far it is: 0 inside, bytes past the end or
// before the start. NULL when there is none.
const lg_device_buffer *lg_buffers_nearest(const lg_buffers *buffers, uint64_t address,
                                           int64_t bytes, int64_t *distance);

// The pointers that the stages are given as null, "`weight` or `pos_weight`", in the arena; NULL
// when there are none.
const char *lg_buffers_null(const lg_buffers *buffers, lg_arena *arena);

// The word outputs are filled with: for every float type a signalling NaN, which no arithmetic
// returns.
uint32_t lg_poison_word(lg_dtype dtype);
// Elements of a packed array that still hold the poison; *first gets the first of them.
int64_t lg_count_poison(lg_dtype dtype, const void *data, int64_t n, int64_t *first);

#endif
