// SPDX-License-Identifier: Apache-2.0
// Relations that a scenario asks for and its batch has no room for.
#include "manifest/manifest.h"
#include "scenario/internal.h"
#include "scenario/scenario.h"
#include "support/str.h"

// Why the batch cannot be written in the relation's other way, or NULL.
static const char *misfit(const lg_scenario *scenario, lg_relation relation) {
    const lg_batch_spec *batch = &scenario->batch;
    bool binary = lg_loss_is_binary(scenario->loss.kind);
    int64_t rows = batch->samples;
    for (int64_t i = 0; i < batch->extent.n; i++) {
        rows *= binary ? 1 : batch->extent.items[i];
    }
    switch (relation) {
    case LG_RELATION_PERMUTE_ROWS:
        return rows < 2 ? "needs two rows or more" : NULL;
    case LG_RELATION_SPLIT_BATCH:
        return batch->samples < 2 ? "needs two samples or more" : NULL;
    case LG_RELATION_DOUBLE_BATCH:
        return batch->unbatched ? "needs a batch with a sample axis" : NULL;
    case LG_RELATION_FLATTEN_SPATIAL:
        return binary             ? "belongs to losses with a class axis"
               : !batch->extent.n ? "needs extra dimensions (batch.extent)"
                                  : NULL;
    case LG_RELATION_SHIFT_LOGITS:
        return scenario->loss.kind != LG_CROSS_ENTROPY ? "belongs to cross_entropy" : NULL;
    case LG_RELATION_CONTIGUOUS_COPY:
        return !batch->logits.stride.n && !batch->targets.stride.n
                   ? "needs a view: batch.logits.stride or batch.targets.stride"
                   : NULL;
    case LG_RELATION_UNSET:
    case LG_N_RELATIONS:
        break;
    }
    return NULL;
}

static bool runs_blocking(const lg_str_list *modes) {
    for (int64_t i = 0; i < modes->n; i++) {
        if (lg_glob_match(modes->items[i], lg_mode_name(LG_MODE_BLOCKING))) {
            return true;
        }
    }
    return modes->n == 0;
}

void lg_scenario_check_relations(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    if (!scenario->relations || !lg_scenario_knows(reader, "run.relations")) {
        return;
    }
    if (scenario->n_faults && lg_scenario_knows(reader, "faults")) {
        lg_scenario_error(reader, "run.relations",
                          "run.relations compares clean runs, but the scenario has faults");
    }
    if (lg_scenario_knows(reader, "run.modes") && !runs_blocking(&scenario->modes)) {
        lg_scenario_error(reader, "run.relations",
                          "run.relations are looked at in the mode blocking, which run.modes "
                          "leaves out");
    }
    if (!lg_scenario_knows_sizes(reader) ||
        !lg_scenario_knows(reader, "batch.logits.stride batch.targets.stride")) {
        return;
    }
    bool empty = scenario->batch.samples == 0;
    for (int64_t i = 0; i < scenario->batch.extent.n; i++) {
        empty = empty || scenario->batch.extent.items[i] == 0;
    }
    if (empty) {
        lg_scenario_error(reader, "run.relations",
                          "run.relations compares rows, but the batch has none");
        return;
    }
    for (int i = LG_RELATION_UNSET + 1; i < LG_N_RELATIONS; i++) {
        lg_relation relation = (lg_relation)i;
        const char *why =
            scenario->relations & LG_RELATION_BIT(i) ? misfit(scenario, relation) : NULL;
        if (why) {
            lg_scenario_error(reader, "run.relations", "the relation %s %s",
                              lg_relation_name(relation), why);
        }
    }
}
