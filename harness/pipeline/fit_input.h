// SPDX-License-Identifier: Apache-2.0
// Inputs in a kernel's own type. A scenario that gives no dtype for its input speaks of values; a
// kernel that takes no float32 is given them in a type of its own, so that a kernel for half
// precision is launched by the same scenarios as any other.
#ifndef LG_PIPELINE_FIT_INPUT_H
#define LG_PIPELINE_FIT_INPUT_H

#include "model/kernel_spec.h"
#include "model/scenario.h"
#include "support/arena.h"

// The type the kernel is given the scenario's input in: that of the scenario, when the kernel takes
// it, or it is fixed, or a value of it does not fit, or a loss is written out.
lg_dtype lg_fit_input_dtype(const lg_scenario *scenario, const lg_kernel *kernel);
// The scenario with its input, and whatever has the input's type by default, of that type; the copy
// lives in `arena`, what it points to is borrowed.
const lg_scenario *lg_fit_input(const lg_scenario *scenario, lg_dtype dtype, lg_arena *arena);
// Whether a scenario is such a copy: a fault of it may be none in its type.
bool lg_input_was_fitted(const lg_scenario *scenario);

#endif
