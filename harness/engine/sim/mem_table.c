// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/exec.h"

#include <string.h>

const lg_mem_table *lg_mem_table_best(void) {
    const char *isa = lg_lane_table_best()->isa;
    if (strcmp(isa, "avx512") == 0) {
        return lg_mem_table_avx512();
    }
    return strcmp(isa, "avx2") == 0 ? lg_mem_table_avx2() : lg_mem_table_baseline();
}
