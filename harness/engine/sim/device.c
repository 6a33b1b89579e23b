// SPDX-License-Identifier: Apache-2.0
// A device from its beginning to its end.
#include "engine/sim/exec/exec.h"
#include "engine/sim/race/race.h"
#include "engine/sim/sim.h"

#include <stdlib.h>

lg_sim *lg_sim_create(void) {
    lg_sim *sim = calloc(1, sizeof *sim);
    if (sim) {
        sim->next = LG_GLOBAL_BASE;
        sim->shared.base = LG_SHARED_WINDOW;
        sim->params.base = LG_PARAM_WINDOW;
    }
    return sim;
}

void lg_sim_destroy(lg_sim *sim) {
    if (!sim) {
        return;
    }
    lg_memory_free(sim);
    for (int i = 0; i < LG_MAX_WARPS && sim->warps; i++) {
        lg_warp_free(&sim->warps[i]);
    }
    free(sim->warps);
    lg_race_free(sim->race);
    free(sim);
}
