// SPDX-License-Identifier: Apache-2.0
// The types a kernel is given a scenario in. A scenario that gives no dtype for its input speaks of
// values; a kernel that takes no float32 is given them in a type of its own, so that a kernel for
// half precision is launched by the same scenarios as any other. Where every type is asked for, a
// kernel is given such a scenario once more in each further type that it offers.
#ifndef LG_BATCH_FIT_INPUT_H
#define LG_BATCH_FIT_INPUT_H

#include "manifest/manifest.h"
#include "scenario/scenario.h"
#include "support/arena.h"

typedef struct lg_fit {
    lg_dtype input;
    lg_dtype labels; // of class indices without a dtype; NONE: as batch/fit_labels.h chooses
    bool further;    // a type besides the one that the kernel is given anyway
} lg_fit;

enum { LG_MAX_FITS = LG_N_DTYPES + 1 };

// The types the kernel is given the scenario in, and their number, at least 1. The first has the
// input's type of the scenario, when the kernel takes it, or it is fixed, or a value of it does not
// fit, or a loss is written out. With `every_type` follow further ones, until each type that the
// kernel takes and the values fit was there, of the input and of labels: the two lists side by
// side, the shorter one begun `turn` places on, so that over several points each type meets each.
int lg_fits(const lg_scenario *scenario, const lg_kernel *kernel, bool every_type, int64_t turn,
            lg_fit fits[LG_MAX_FITS]);
// The scenario with its input, and whatever has the input's type by default, of that type; a
// further one says so in `point`. The copy lives in `arena`, what it points to is borrowed.
const lg_scenario *lg_fit_input(const lg_scenario *scenario, const lg_fit *fit, lg_arena *arena);
// Whether a scenario is such a copy: a fault of it may be none in its type.
bool lg_input_was_fitted(const lg_scenario *scenario);

#endif
