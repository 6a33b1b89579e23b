// SPDX-License-Identifier: Apache-2.0
// Inside of the embedded device: contexts, their objects and their queue of work. Not for other
// layers.
//
// Handles are numbers that are never reused and never followed as pointers, so a stale or made-up
// handle is an error and not a crash. A context locks itself for the length of each call; different
// contexts run at the same time on different threads.
//
// Work is lazy: a launch, an asynchronous copy or a memset joins the queue of its context and runs
// when a call waits for it. The queue runs in order of submission over all streams of the context,
// which is one of the orders a GPU may choose, and always the same one.
#ifndef LG_ENGINE_DRIVER_SIM_H
#define LG_ENGINE_DRIVER_SIM_H

#include "engine/driver/driver.h"
#include "engine/ptx/ptx.h"
#include "engine/sim/sim.h"
#include "support/arena.h"
#include "support/str.h"

#include <pthread.h>

// The device pretends to be one multiprocessor of compute capability 7.5 with these sizes.
enum {
    LG_SIMDRV_CAPABILITY = 75,
    LG_SIMDRV_MAX_THREADS = 1024,
    LG_SIMDRV_MAX_SHARED = 48 * 1024,       // without asking
    LG_SIMDRV_MAX_SHARED_OPTIN = 64 * 1024, // with MAX_DYNAMIC_SHARED_SIZE_BYTES
    LG_SIMDRV_MAX_LOCAL = 512 * 1024,
    LG_SIMDRV_GRANULARITY = 256,   // of mapped memory
    LG_SIMDRV_QUEUE_LENGTH = 1024, // a submission beyond it waits for the oldest work
};
#define LG_SIMDRV_TOTAL_MEMORY ((size_t)16 << 30)

// A PTX text, parsed once for all contexts of the process (image.c).
typedef struct lg_simdrv_image lg_simdrv_image;

typedef enum lg_simdrv_kind {
    LG_SIMDRV_MODULE = 1,
    LG_SIMDRV_FUNCTION,
    LG_SIMDRV_STREAM,
    LG_SIMDRV_EVENT,
    LG_SIMDRV_BUFFER, // cuMemAlloc
    LG_SIMDRV_HOST,   // cuMemHostAlloc
    LG_SIMDRV_RANGE,  // cuMemAddressReserve
    LG_SIMDRV_PIECE,  // cuMemCreate
} lg_simdrv_kind;

typedef struct lg_simdrv_object lg_simdrv_object;
struct lg_simdrv_object {
    lg_simdrv_object *next;
    lg_simdrv_kind kind;
    uint64_t id; // the handle's value
    union {
        struct {
            lg_simdrv_image *image;
            lg_sim_module *decoded;
        } module;
        struct {
            lg_simdrv_object *module;
            int index;
            uint32_t max_dynamic_shared; // bytes
        } function;
        struct {
            uint64_t last; // number of the last work submitted to it, 0 none
        } stream;
        struct {
            unsigned flags;
            uint64_t recorded;  // number of its last record, 0 never
            uint64_t completed; // number of the record that `time_ns` belongs to
            int64_t time_ns;
        } event;
        struct {
            uint64_t address; // LG_SIMDRV_PIECE: where it is mapped; 0: nowhere
            size_t bytes;
            void *host;    // LG_SIMDRV_HOST: the memory itself
            bool released; // LG_SIMDRV_PIECE: its handle is given back
        } memory;
    };
};

typedef enum lg_simdrv_work_kind {
    LG_SIMDRV_LAUNCH = 1,
    LG_SIMDRV_WRITE,  // `data` to the device
    LG_SIMDRV_READ,   // from the device to `to`
    LG_SIMDRV_FILL,   // `value`, one byte, `bytes` times
    LG_SIMDRV_RECORD, // an event
} lg_simdrv_work_kind;

typedef struct lg_simdrv_work lg_simdrv_work;
struct lg_simdrv_work {
    lg_simdrv_work *next;
    lg_simdrv_work_kind kind;
    uint64_t number; // from 1, within the context
    lg_simdrv_object *function;
    lg_sim_launch launch;
    uint64_t launch_index;
    uint64_t event;        // id: the event may be destroyed before the record runs
    uint64_t event_record; // value of `recorded` it completes
    uint64_t address;
    size_t bytes;
    void *to;
    unsigned char value;
    unsigned char *data; // copied source bytes, or a launch's parameters
};

typedef struct lg_simdrv_context lg_simdrv_context;
struct lg_simdrv_context {
    lg_simdrv_context *next; // in the process' list
    uint64_t id;
    int n_users;    // guarded by the list's lock, as `next`
    bool destroyed; // guarded by `lock`, as everything below
    pthread_mutex_t lock;
    lg_sim *sim;
    bool blocking;
    uint64_t budget;
    unsigned checks;
    uint64_t schedule;
    CUresult pending; // what finished work failed with and no call has told yet
    CUresult dead;    // the sticky error every call returns
    lg_simdrv_object *objects;
    uint64_t n_submitted;
    uint64_t n_completed;
    uint64_t n_launches;
    lg_simdrv_work *head, *tail;
    size_t n_queued;
    lg_str log;
    lg_arena arena; // strings of the fault
    lg_device_fault fault;
};

// --- context.c

bool lg_simdrv_initialized(void);
// The calling thread's current context, locked; `*out` is unset on error. lg_simdrv_enter fails
// with the sticky error of a dead context, lg_simdrv_enter_any does not.
CUresult lg_simdrv_enter(lg_simdrv_context **out);
CUresult lg_simdrv_enter_any(lg_simdrv_context **out);
// How a function of the table begins: it declares and locks the context, or returns the error.
#define LG_ENTER(context)                                                                          \
    lg_simdrv_context *context;                                                                    \
    do {                                                                                           \
        CUresult entered = lg_simdrv_enter(&context);                                              \
        if (entered) {                                                                             \
            return entered;                                                                        \
        }                                                                                          \
    } while (0)
CUresult lg_simdrv_leave(lg_simdrv_context *context, CUresult result); // returns `result`

lg_simdrv_object *lg_simdrv_add(lg_simdrv_context *context, lg_simdrv_kind kind);
lg_simdrv_object *lg_simdrv_find(lg_simdrv_context *context, lg_simdrv_kind kind,
                                 const void *handle);
void lg_simdrv_remove(lg_simdrv_context *context, lg_simdrv_object *object); // frees it too

// --- queue.c

// Appends work (malloc'd, owned by the queue from here) and gives it its number. `stream`: 0, or an
// object.
void lg_simdrv_submit(lg_simdrv_context *context, lg_simdrv_object *stream, lg_simdrv_work *work);
// Runs the queue up to and with work `number`. After a fault the rest is dropped, not run.
void lg_simdrv_run_to(lg_simdrv_context *context, uint64_t number);
void lg_simdrv_run_one(lg_simdrv_context *context);
// Runs to `number`, then tells what is pending: from here on a sticky error is the context's.
CUresult lg_simdrv_wait(lg_simdrv_context *context, uint64_t number);
CUresult lg_simdrv_surface(lg_simdrv_context *context);
void lg_simdrv_drop_queue(lg_simdrv_context *context);
// The number a call on `stream` has to wait for; the null stream waits for all.
uint64_t lg_simdrv_last(const lg_simdrv_context *context, const lg_simdrv_object *stream);
// A stream handle: the null stream (also CU_STREAM_LEGACY, CU_STREAM_PER_THREAD) gives NULL.
CUresult lg_simdrv_find_stream(lg_simdrv_context *context, CUstream handle,
                               lg_simdrv_object **stream);

// --- image.c

// Parses `text` or finds it parsed; NULL with the problems in `diags`. Give back with release.
lg_simdrv_image *lg_simdrv_image_acquire(const char *text, lg_diags *diags);
void lg_simdrv_image_release(lg_simdrv_image *image);
const lg_ptx_module *lg_simdrv_image_ptx(const lg_simdrv_image *image);

// --- module.c

const lg_diags *lg_simdrv_load_diags(void);
bool lg_simdrv_takes_pointer(CUfunction function, int parameter);
void lg_simdrv_unload(lg_simdrv_context *context, lg_simdrv_object *module);
const lg_ptx_function *lg_simdrv_function(const lg_simdrv_object *function);
uint64_t lg_simdrv_static_shared(const lg_simdrv_object *function);
uint32_t lg_simdrv_max_threads(const lg_simdrv_object *function);

// --- every function of the table

#define LG_CU(name, params) CUresult lg_simdrv_##name params;
LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU

#endif
