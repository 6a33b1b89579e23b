// SPDX-License-Identifier: Apache-2.0
// Inside of engine/sim: what a launch asks of a module.
#ifndef LG_ENGINE_SIM_INTERNAL_H
#define LG_ENGINE_SIM_INTERNAL_H

#include "engine/sim/decode/decode.h"
#include "engine/sim/sim.h"

// module.c: decodes what a launch of the function can reach and lays out its shared memory, once.
bool lg_module_prepare(lg_sim_module *module, int function, lg_diags *diags);
void lg_module_forget_sites(lg_sim_module *module);
// coverage.c: counters for a decoded function.
void lg_coverage_begin(lg_sim_module *module, lg_code *code);

#endif
