// SPDX-License-Identifier: Apache-2.0
// Labels in a kernel's own type. A scenario that gives no dtype for its class indices speaks of
// their values; a kernel that takes no int64 is handed them as int32 (or uint8), as a caller of it
// would, when all of them fit.
#ifndef LG_BATCH_FIT_LABELS_H
#define LG_BATCH_FIT_LABELS_H

#include "model/batch.h"
#include "manifest/manifest.h"
#include "scenario/scenario.h"

// True: `*out` is `batch` with a target of its own (lg_tensor_free(&out->target)); everything else
// is borrowed. False: the batch is handed over as it is, because the kernel takes its type, the
// scenario fixes it, a label does not fit, or what the device gets was changed on the way.
bool lg_fit_labels(const lg_scenario *scenario, const lg_kernel *kernel, const lg_batch *batch,
                   lg_batch *out);

#endif
