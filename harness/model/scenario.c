// SPDX-License-Identifier: Apache-2.0
#include "model/scenario.h"

void lg_scenario_set_free(lg_scenario_set *set) {
    lg_arena_free(&set->arena);
    *set = (lg_scenario_set){0};
}
