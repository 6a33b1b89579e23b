// SPDX-License-Identifier: Apache-2.0
// Scenario point → batch: clean data first, then each fault in the order of the file.
#ifndef LG_BATCH_GENERATE_H
#define LG_BATCH_GENERATE_H

#include "model/batch.h"
#include "scenario/scenario.h"
#include "support/error.h"

// Generates or reads every array, injects the faults and records for each the rows it spoiled. With
// `with_faults` false: the control, the same data without them. A fault that cannot fire on this
// batch (nothing to spoil) leaves `fired` false. Errors (unreadable file, wrong shape) point at the
// file.
bool lg_generate(const lg_scenario *scenario, bool with_faults, lg_batch *batch, lg_diags *diags);

// The same, but a generated input keeps its shape and dtype only: `data` is NULL and no value is
// drawn. For measuring attribution, which needs labels and shapes. Faults of the input's values do
// not fire.
bool lg_generate_labels_only(const lg_scenario *scenario, bool with_faults, lg_batch *batch,
                             lg_diags *diags);

#endif
