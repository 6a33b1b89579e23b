// SPDX-License-Identifier: Apache-2.0
// Parts of devrun: the session's contexts and modules, the sizes a manifest computes with, one run.
#ifndef LG_DEVICE_INTERNAL_H
#define LG_DEVICE_INTERNAL_H

#include "device/device.h"
#include "engine/driver/driver.h"
#include "manifest/manifest.h"
#include "model/batch.h"
#include "model/far_view.h"
#include "result/observation.h"
#include "support/arena.h"
#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// --- The driver calls of one run, counted, with the first error: what surfaced where, and how
// late.

enum { LG_MAX_LAUNCHES = 32 }; // of one run; a manifest with more stages is refused

typedef struct lg_launch_note {
    lg_launch what; // its entry lives in the run's arena
    int64_t call;   // its number among the calls
} lg_launch_note;

typedef struct lg_calls {
    int64_t n_calls;
    CUresult error;          // the first
    const char *surfaced_at; // name of the call that returned it
    int64_t surfaced_call;
    int n_launches;
    lg_launch_note launches[LG_MAX_LAUNCHES];
} lg_calls;

// Counts a call and keeps its error when it is the first. True on success.
bool lg_note_call(lg_calls *calls, const char *name, CUresult result);

// LG_CALL(calls, driver, cuMemFree, address): calls through the table and notes it.
#define LG_CALL(calls, table, function, ...)                                                       \
    lg_note_call((calls), #function, (table)->function(__VA_ARGS__))

// --- The device memory of one run: what each argument of the vocabulary points to, filled, fenced
// and poisoned, and the outputs read back.
//
// On a device that checks every access, allocations have exactly the size of their contents, so
// that one element past the end is a finding. Elsewhere each has fences on both sides, which are
// looked at after the run.

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
    lg_arg_id arg;    // LG_N_ARGS: scratch
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

// Says what is used.
void lg_buffers_use(lg_buffers *buffers, const lg_arg *arg);
// Allocates and fills all that is used. `scratch_bytes`: size of each scratch buffer. False with an
// error when memory is out or a call fails; without one when `not_made` says why this device cannot
// be given the batch.
bool lg_buffers_make(lg_buffers *buffers, const lg_kernel *kernel, const lg_batch *batch,
                     const int64_t *scratch_bytes, lg_calls *calls, lg_diags *diags);
CUdeviceptr lg_buffers_address(const lg_buffers *buffers, const lg_arg *arg);

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

// --- Elements of an input that a kernel changed: found, counted and told.

typedef struct lg_change {
    int64_t n, first; // elements that differ, and the first of them
    unsigned char was[8], is[8];
} lg_change;

// Compares n elements of `size` bytes; they are numbered from `first`.
void lg_change_find(const void *was, const void *is, size_t size, int64_t n, int64_t first,
                    lg_change *found);
// Says so in out->input_written. `where`: the first element, "[3, 5]".
void lg_change_report(const lg_device_buffer *buffer, const char *where, const lg_change *found,
                      lg_observation *out);

// --- What the inputs of a kernel hold when it differs from the bytes of a tensor of the batch.

// Type and number of elements of a buffer of the vocabulary.
void lg_buffer_describe(const lg_kernel *kernel, const lg_batch *batch, lg_arg_id arg,
                        lg_device_buffer *buffer);
// The far view that the argument is given as, or NULL.
const lg_tensor *lg_buffer_far_view(const lg_batch *batch, lg_arg_id arg);
// Bytes to copy into an input buffer: borrowed from the batch, or made into *owned (free()). NULL
// and *owned NULL: the argument is absent, a null pointer, or memory is out (*failed).
const void *lg_buffer_contents(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                               void **owned, bool *failed);
// Elements [first, first + n) of the same bytes: a pointer into the batch, or `room`, which holds n
// elements and is filled. NULL: the argument is absent.
const void *lg_buffer_part(const lg_batch *batch, lg_arg_id arg, const lg_device_buffer *buffer,
                           int64_t first, int64_t n, void *room);
// Where element `index` of the buffer is, as people write it: "[3, 5]", or "17 of the storage" for
// one that no index of a strided view reaches. In the arena.
const char *lg_buffer_index_text(const lg_batch *batch, lg_arg_id arg, int64_t index,
                                 lg_arena *arena);

// --- A far view (model/far_view.h) in device memory: a range of addresses of which only the places
// of elements are backed.
//
// The device backs whole granules, at least the one that an element lies in; what a granule has
// besides elements holds the fence word and is looked at after the run. Everything between the
// granules has no memory: an access there is a fault of the device itself. The range begins and
// ends 2^31 elements away from the view, so that an offset that overflowed 32 bits stays in it,
// whatever its sign, and never meets another buffer.

typedef struct lg_far_piece {
    CUdeviceptr address;
    size_t bytes;
    int64_t first, n; // elements of the walk
} lg_far_piece;

typedef struct lg_far_memory {
    CUdeviceptr range;
    size_t range_bytes;
    size_t n_pieces;
    lg_far_piece *pieces; // by address; the first n_mapped are backed
    size_t n_mapped;
    lg_far_walk walk;
    lg_tensor tensor; // borrowed contents
} lg_far_memory;

// Reserves, backs and fills; buffer->address, reach and far are set. False with the failed call
// noted; what was made is still to be freed. CUDA_ERROR_NOT_SUPPORTED and
// CUDA_ERROR_OUT_OF_MEMORY: the device has no such memory, or not enough.
bool lg_far_make(const lg_driver *driver, const lg_tensor *tensor, lg_device_buffer *buffer,
                 lg_arena *arena, lg_calls *calls);
// Compares each piece with what was put there: an element that changed is reported as an input that
// was written, a byte beside the elements as a write out of bounds.
void lg_far_check(const lg_buffers *buffers, const lg_batch *batch, lg_arg_id arg,
                  lg_observation *out, lg_calls *calls);
// Whether the address lies in the buffer's range, where nothing else can be meant.
bool lg_far_owns(const lg_device_buffer *buffer, CUdeviceptr address);
// Notes no call: its context may be past caring.
void lg_far_free(const lg_driver *driver, lg_device_buffer *buffer);

// --- Parts of compile.c that are tested on their own.

// Runs a program without a shell, its standard input empty, standard output and error together into
// `output`. `cwd` NULL: here. False with errno when it could not be started; otherwise `*status` is
// the exit code, or 128 + signal.
bool lg_run_program(const char *const argv[], const char *cwd, lg_str *output, int *status);

// Appends path and contents of every local file that `source` reaches through #include lines,
// itself first, each once. Local: found beside the includer or in one of the folders (`-I`). An
// include that is not found is a system header and left out. `*opaque` is set when an include names
// a macro, so that what it reads cannot be known. Paths are relative to `cwd` when below it.
bool lg_collect_sources(const char *source, const char *const *folders, size_t n_folders,
                        const char *cwd, lg_str *out, bool *opaque, lg_diags *diags);

// Compiler output → diagnostics: `file(line): error: text` with the source line and caret below it,
// and `file:line:column: error: text`. Returns the number of errors found.
size_t lg_parse_compiler_output(const char *output, lg_diags *diags);

// Rewrites the `.file` lines of a PTX text: paths below `folder` become relative to it.
void lg_shorten_ptx_paths(const char *ptx, const char *folder, lg_str *out);

// --- Cuts a PTX text down to the entries a run needs. The kernels of one source are hundreds of
// entries, and a context that died has to load its modules again: the two entries of a case load a
// hundred times faster than all.

// A piece of the text: an entry function, or a debug section.
typedef struct lg_ptx_piece {
    size_t start, end; // bytes [start, end), whole lines where the text allows it
    size_t name;       // where an entry's name starts
    size_t n_name;     // 0: a debug section
} lg_ptx_piece;

typedef struct lg_ptx_index {
    lg_ptx_piece *pieces; // in order of the text; free()
    size_t n_pieces;
} lg_ptx_index;

// Finds the pieces. Looks at braces, comments and strings only, never fails; a text it misreads
// gives a slice that does not load, and the caller falls back to the whole.
lg_ptx_index lg_ptx_index_make(const char *text, size_t n);
void lg_ptx_index_free(lg_ptx_index *index);

// The piece with the entry of this name, NULL when there is none.
const lg_ptx_piece *lg_ptx_index_find(const char *text, const lg_ptx_index *index,
                                      const char *name);

// Everything but the entries that are not in `names`; without the debug sections unless
// `keep_debug` (a GPU's compiler resolves names in them). Returns the number of
// entries kept; names may be missing.
size_t lg_ptx_slice(const char *text, size_t n, const lg_ptx_index *index, const char *const *names,
                    size_t n_names, bool keep_debug, lg_str *out);

// --- Where in the source an entry of a PTX text begins, by its line table.

// The first `.loc` in the entry's body, with the name of its `.file`, in `arena`. false: the text
// has no such entry, or no line for it.
bool lg_ptx_entry_place(const char *text, size_t n, const lg_ptx_index *index, const char *entry,
                        lg_arena *arena, const char **file, int *line);

// A PTX text that was compiled or read; kernels of one source share it.
typedef struct lg_ptx_program {
    char *key;        // source and flags, or path of the PTX
    lg_compiled file; // its text NULL: it could not be compiled or read, which has been reported
    lg_ptx_index index;
    bool whole;    // slices of it do not load: load all of it
    bool reported; // its load problems have been reported
} lg_ptx_program;

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
    char *nvcc; // NULL: sources are refused
    char *cache_dir;
    lg_compiler *compiler; // opened for the first source
    void (*notice)(void *context, const char *source);
    void *notice_context;
    CUdevice device;
    CUcontext context;      // NULL: none now
    uint64_t generation;    // counts contexts, from 1
    uint64_t base_launches; // in the current context before the run
    size_t n_ptx;
    lg_ptx_program *ptx;
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
