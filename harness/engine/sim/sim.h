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

#include "engine/sim/memory/memory.h"
#include "engine/sim/state/result.h"
#include "support/error.h"

typedef struct lg_sim_module lg_sim_module; // a decoded module, loaded on one device

lg_sim *lg_sim_create(void); // NULL when memory is out
void lg_sim_destroy(lg_sim *sim);

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
