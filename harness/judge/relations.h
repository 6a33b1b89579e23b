// SPDX-License-Identifier: Apache-2.0
// The metamorphic relations of a scenario (run.relations), checked inside the cases of the mode
// `blocking`: the kernel runs once more on the batch written in another way, and its two results
// must agree.
#ifndef LG_JUDGE_RELATIONS_H
#define LG_JUDGE_RELATIONS_H

#include "result/case.h"
#include "device/device.h"
#include "judge/relations_batch.h"

// The other batches of a point; const once made, shared by its cases.
typedef struct lg_relations {
    int n;
    lg_related items[LG_N_RELATIONS];
} lg_relations;

// Makes what the scenario asks for; nothing for a scenario without relations. False when memory is
// out.
bool lg_relations_make(const lg_scenario *scenario, const lg_batch *batch, lg_relations *out);
void lg_relations_free(lg_relations *relations);

// Why the kernel cannot take one of the other batches, or NULL; as lg_device_unsuitable. Labels
// that the scenario gives no type are handed over as batch/fit_labels.h says, as those of the
// case.
const char *lg_relations_unsuitable(const lg_relations *relations, const lg_scenario *scenario,
                                    const lg_kernel *kernel, lg_arena *arena);

// Runs the kernel of a case that passed on the other batches. Where a relation is broken, or the
// other batch itself does not pass, `result` gets the verdict, its reason and the finding: the
// finding is that of the other run, with the relation's own cause where its numbers name none.
// False for faults of lossgate (in diags): nothing is shown then, and the verdict is `untested`.
bool lg_relations_check(lg_device_session *device, const lg_relations *relations,
                        const lg_batch *batch, const lg_reference *reference,
                        lg_case_result *result, lg_arena *arena, lg_diags *diags);

#endif
