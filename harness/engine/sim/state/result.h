// SPDX-License-Identifier: Apache-2.0
// What a launch is given, how it ended, and its first fault.
#ifndef LG_ENGINE_SIM_STATE_RESULT_H
#define LG_ENGINE_SIM_STATE_RESULT_H

#include "engine/ptx/ast.h"
#include "model/device_fault.h"
#include "support/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_sim_status {
    LG_SIM_OK = 0,
    LG_SIM_ASSERT,          // __assertfail
    LG_SIM_ILLEGAL_ADDRESS, // out of bounds, freed, read-only, wrong space
    LG_SIM_MISALIGNED,
    LG_SIM_TRAP,                // trap
    LG_SIM_ILLEGAL_INSTRUCTION, // an instruction that cannot run (call through a bad pointer, …)
    LG_SIM_TIMEOUT,             // the budget of warp instructions is spent
    LG_SIM_STACK_OVERFLOW,      // call depth or local memory exhausted
    LG_SIM_BARRIER,             // a barrier that some threads can never reach (hang on a GPU)
    LG_SIM_LAUNCH_REFUSED,      // bad geometry, shared memory or parameters: nothing ran
    LG_SIM_OUT_OF_MEMORY,       // host memory for the launch
} lg_sim_status;

typedef enum lg_sim_check { // bits; the bounds checks of every access are always on
    // What a check finds is in `fault` with has_fault set; the launch goes on and its status stays
    // what
    // it would be without the check.
    LG_SIM_CHECK_INIT = 1, // reads of global memory never written
    LG_SIM_CHECK_RACE = 2, // races on shared and global memory (race.h)
} lg_sim_check;

// The first fault of a launch. Strings belong to the launch result.
typedef struct lg_sim_fault {
    lg_device_fault_kind kind;
    bool write; // of an access
    uint64_t address;
    uint32_t bytes;
    lg_ptx_space space;
    bool has_nearest; // nearest live (or freed) allocation
    uint64_t nearest_base;
    uint64_t nearest_bytes;
    int64_t distance; // bytes past its end (> 0; 1 = first byte after), before its start (< 0), 0
                      // inside
    const char *function; // PTX function
    int ptx_line;
    const char *file; // source by .loc, or NULL
    int line;
    uint32_t block[3];
    uint32_t thread[3];
    const char *text; // one line for people
} lg_sim_fault;

typedef struct lg_sim_launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared_bytes; // dynamic
    uint32_t shared_limit; // static and dynamic together; 0: 48 KiB. At most 227 KiB
    const void *params;    // the entry's parameter block, param_bytes of it
    size_t param_bytes;
    uint64_t budget;   // warp instructions; 0: the default of 10^10
    unsigned checks;   // lg_sim_check bits
    uint64_t schedule; // 0: in order; otherwise seeds the order of blocks and warps
} lg_sim_launch;

typedef struct lg_sim_result {
    lg_sim_status status;
    lg_sim_fault fault; // valid when status is not OK, or when a sanitizer finding exists
    bool has_fault;
    uint64_t warp_instructions; // executed
    uint64_t lane_instructions; // sum of active lanes over them
    char *log;                  // printf and assert lines in order; "" when none; malloc'd
    lg_arena arena;
} lg_sim_result;

void lg_sim_result_free(lg_sim_result *result);

#endif
