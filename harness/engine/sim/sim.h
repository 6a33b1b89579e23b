// SPDX-License-Identifier: Apache-2.0
// The engine: device memory with checked accesses, loaded modules, and launches executed warp by
// warp.
//
// A device is one address space, as a CUDA context has. It is not locked: one thread at a time uses
// a device; different devices are independent. Results do not depend on anything but the inputs.
//
// Where it is not a GPU: the lanes of a warp run in step and meet again at the immediate
// post-dominator of a branch, so code that needs one lane of a warp to go on while another waits
// for it hangs, and the budget ends it; a barrier that only a part of a warp reaches is an error;
// warps run one after the other, from barrier to barrier, unless `schedule` seeds another order;
// atomics take effect in lane order; clocks count warp instructions; there is one grid at a time.
// After an assert the warps that did not fail run on to their end, as long as that takes less than
// 5·10^7 warp instructions.
#ifndef LG_ENGINE_SIM_SIM_H
#define LG_ENGINE_SIM_SIM_H

#include "engine/ptx/ast.h"
#include "model/device_fault.h"
#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lg_sim lg_sim;               // a device
typedef struct lg_sim_module lg_sim_module; // a decoded module, loaded on one device

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

lg_sim *lg_sim_create(void); // NULL when memory is out
void lg_sim_destroy(lg_sim *sim);

// Device memory. Addresses are 256-byte aligned; allocations sit apart with unmapped gaps of at
// least 4 KiB and at least their own size up to 1 MiB, so that an index one row off is caught.
// Freed ranges are remembered (not reused while addresses last). bytes 0 fails, as cuMemAlloc.
uint64_t lg_sim_alloc(lg_sim *sim, size_t bytes); // 0 when it cannot
// Maps caller-owned host memory (host-mapped allocations). The caller keeps it until unmapped.
uint64_t lg_sim_map(lg_sim *sim, void *host, size_t bytes);
// A range of addresses with nothing behind it, and memory behind a part of one: at most 256-byte
// aligned, apart from every other, freed or not. It is out of bounds until lg_sim_open makes it
// readable and writable; lg_sim_free takes it away. Addresses are never handed out again.
uint64_t lg_sim_reserve(lg_sim *sim, uint64_t bytes); // 0 when it cannot
bool lg_sim_back(lg_sim *sim, uint64_t base, size_t bytes);
bool lg_sim_open(lg_sim *sim, uint64_t base);
bool lg_sim_free(lg_sim *sim, uint64_t base); // alloc'd or mapped; false when base is not one
bool lg_sim_set_read_only(lg_sim *sim, uint64_t base, bool read_only);
// Host access to [address, address+bytes): false unless it lies inside one live allocation.
bool lg_sim_write(lg_sim *sim, uint64_t address, const void *from, size_t bytes);
bool lg_sim_read(lg_sim *sim, uint64_t address, void *to, size_t bytes);
bool lg_sim_fill(lg_sim *sim, uint64_t address, const void *pattern, size_t pattern_bytes,
                 size_t n);
size_t lg_sim_bytes_in_use(const lg_sim *sim);

// Decodes a checked module and places its variables. The lg_ptx_module must outlive it. All forms
// the engine cannot execute are listed in `diags` with their PTX line; NULL when there is any.
lg_sim_module *lg_sim_load(lg_sim *sim, const lg_ptx_module *ptx, lg_diags *diags);
void lg_sim_unload(lg_sim *sim, lg_sim_module *module);
// Static shared memory of a launch of the function, in bytes: its own, that of the .func it may
// call and the module's.
uint64_t lg_sim_static_shared(lg_sim_module *module, int function);
// Address and size of a module-level .global or .const variable; false when there is none.
bool lg_sim_global(const lg_sim_module *module, const char *name, uint64_t *address,
                   uint64_t *bytes);
// The function index is lg_ptx_find_function's.
void lg_sim_launch_kernel(lg_sim *sim, lg_sim_module *module, int function,
                          const lg_sim_launch *launch, lg_sim_result *result);

// Which vector code runs: "avx512", "avx2" or "baseline" (LOSSGATE_ISA overrides, for tests).
const char *lg_sim_isa(void);

// Line and branch counts for coverage, summed over launches of the module.
typedef struct lg_sim_line_count {
    const char *file;
    int line;
    uint64_t executed;                    // warp instructions of the line that ran
    uint64_t taken, not_taken, divergent; // branches on the line, per warp
} lg_sim_line_count;
void lg_sim_set_coverage(lg_sim_module *module, bool on);
size_t lg_sim_coverage(const lg_sim_module *module, lg_sim_line_count *out, size_t capacity);

#endif
