// SPDX-License-Identifier: Apache-2.0
// What was seen when one case ran: calls and their results, outputs, fault records, asserts, memory
// findings. Facts only; judging is in judge/judge.h.
#ifndef LG_RESULT_OBSERVATION_H
#define LG_RESULT_OBSERVATION_H

#include "manifest/manifest.h"
#include "model/device_fault.h"
#include "support/arena.h"

#include <stdbool.h>
#include <stdint.h>

// A line `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `expr` failed.`
typedef struct lg_assert_line {
    const char *file;
    int line;
    const char *function;
    int64_t block[3];
    int64_t thread[3];
    const char *expression;
} lg_assert_line;

// One record a `report` kernel wrote (kernels/lossgate_record.cuh has the same layout).
typedef struct lg_fault_record {
    int64_t row;
    int64_t value;
    int64_t lower, upper; // the bounds it broke: lower <= value < upper
    int32_t block[3];
    int32_t thread[3];
    uint32_t kernel; // index of the launch that wrote it
    uint32_t code;   // lg_record_code
} lg_fault_record;

typedef enum lg_record_code {
    LG_RECORD_LABEL = 1,
    LG_RECORD_INPUT = 2,
    LG_RECORD_TARGET = 3
} lg_record_code;

// A launch of the case, in order: the `kernel` of a fault record is the index of one.
typedef struct lg_launch {
    const char *entry;
    int stage;        // index into the kernel's stages; -1: work that is not the loss's
    int64_t grid[3];  // blocks
    int64_t block[3]; // threads of a block
} lg_launch;

// A bad access the engine found (compute-sanitizer's memcheck, without a GPU).
typedef struct lg_memory_finding {
    bool present;
    lg_device_fault_kind kind;
    bool write;
    uint64_t address;
    int64_t bytes;        // size of the access
    const char *buffer;   // nearest buffer by its argument name ("input", "target"), or NULL
    lg_arg_id buffer_arg; // of `buffer`; LG_N_ARGS: scratch. Where there is no buffer, nothing
    const char *null_arguments; // of a null pointer access: the arguments that are null, or NULL
    int64_t distance;           // bytes past its end (> 0) or before its start (< 0); 0: inside
    int64_t offset;             // bytes from its first element, either way
    const char *file;           // kernel source
    int line;
    int64_t block[3];
    int64_t thread[3];
} lg_memory_finding;

// A barrier or warp exchange used wrongly, as the engine tells it.
typedef struct lg_barrier_finding {
    const char *text; // NULL: none
    const char *file; // kernel source, or NULL
    int line;
} lg_barrier_finding;

typedef enum lg_device_status {
    LG_STATUS_OK = 0,
    LG_STATUS_ASSERT = 710,
    LG_STATUS_ILLEGAL_ADDRESS = 700,
    LG_STATUS_TIMEOUT = 702,
    LG_STATUS_ILLEGAL_INSTRUCTION = 715,
    LG_STATUS_MISALIGNED = 716,
    LG_STATUS_TRAP = 719,
    LG_STATUS_OTHER = 999,
} lg_device_status;

// One output buffer copied back. `bits` are the raw elements, packed.
typedef struct lg_output {
    lg_arg_id arg; // LG_ARG_OUTPUT, LG_ARG_TOTAL_WEIGHT, LG_ARG_GRAD_INPUT
    int dtype;     // lg_dtype
    int64_t n;
    // As read back, widened: of a gradient NULL, which stays in its type; both are NULL when the
    // copy could not be made (context dead). lg_output_get reads either.
    double *values;
    void *data;
    int64_t n_unwritten; // elements that still hold the poison
    int64_t first_unwritten;
    bool fence_broken;
} lg_output;

enum { LG_MAX_OUTPUTS = 4 };

typedef struct lg_observation {
    lg_arena arena;       // owns the strings and arrays below
    bool refused_on_host; // a host check stopped it before any launch
    lg_device_status status;
    const char *status_text;   // "CUDA_ERROR_ASSERT (710)"
    const char *failed_launch; // entry that failed, or NULL
    // The launch of a batch before this one that had ended the context, or NULL. Then nothing of
    // this batch ran, and what the calls returned says nothing of it.
    const char *earlier_launch;
    // Why nothing was launched: what the batch asks for is not the kernel's or the device's to
    // give.
    const char *not_run;
    int failed_launch_index; // 0-based among the case's launches; -1: none
    int n_launches;
    lg_launch *launches;     // n_launches of them
    const char *surfaced_at; // API call that returned the error first, or NULL
    int calls_later;         // how many launches or calls after the failing launch that was
    int64_t n_asserts;       // lines seen; `asserts` holds the first of them
    int64_t n_asserts_kept;
    lg_assert_line *asserts;
    int64_t n_records;
    int64_t n_records_dropped;
    lg_fault_record *records; // n_records of them
    lg_memory_finding memory;
    const char *race; // text of the race check, or NULL
    lg_barrier_finding barrier;
    // How an output depends on the order in which blocks and warps run, in words; NULL: it does
    // not, or nobody looked.
    const char *order;
    // A buffer the kernel was given to read and changed, in words; NULL: none was seen to change.
    const char *input_written;
    const char *log; // device log: printf and assert lines, "" when empty
    int n_outputs;
    lg_output outputs[LG_MAX_OUTPUTS];
    // Mode-specific: the loss of the bystander/second batch, etc., in words when it went
    // wrong.
    const char *mode_failure;
    bool mode_failure_is_hang;
} lg_observation;

void lg_observation_free(lg_observation *observation);
// The stage whose launch failed, of the kernel that was launched; NULL: none, or it was no launch
// of a stage.
const lg_stage *lg_observation_failed_stage(const lg_observation *observation,
                                            const lg_kernel *kernel);
bool lg_output_exists(const lg_output *output); // false for NULL, and where there is no copy
double lg_output_get(const lg_output *output, int64_t index);
const lg_output *lg_observation_output(const lg_observation *observation, lg_arg_id arg); // or NULL

#endif
