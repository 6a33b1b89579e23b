// SPDX-License-Identifier: Apache-2.0
// All 65,536 values of a 16-bit source, through one instruction in every instruction set.
#ifndef LG_TESTS_ENGINE_SIM_LANE_EVERY_H
#define LG_TESTS_ENGINE_SIM_LANE_EVERY_H

#include "unit/engine/sim/lane/testing.h"

// The warp of values that starts at `first`. A packed source has each value in its low half and, in
// another order, in its high half.
static inline void lane_fill_every(const lane_test *t, lane_values *in, uint64_t first) {
    bool packed = t->form.src_bytes[0] == 4;
    for (int i = 0; i < LG_LANES; i++) {
        uint64_t low = first + (uint64_t)i;
        in->src[0][i] = low | (packed ? (low * 40503 + 1) << 16 & 0xffff0000u : 0);
    }
}

static inline bool lane_check_every(const lane_test *t, lane_oracle *oracle) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    bool ok = true;
    for (uint64_t first = 0; first < 65536 && ok; first += LG_LANES) {
        lane_values in = {0}, want, got;
        lane_fill_every(t, &in, first);
        lane_answers(t, &in, UINT32_MAX, oracle, &want);
        for (int isa = 0; isa < n_isas && ok; isa++) {
            lg_lane_fn *fn = tables[isa]->select(&t->form);
            ok = fn && lane_run(t, fn, &in, UINT32_MAX, &got) &&
                 lane_compare(t, lg_isa_name(tables[isa]->isa), &in, UINT32_MAX, &want, &got);
        }
    }
    return ok;
}

static inline void lane_check_every_name(const char *name, void *context) {
    lane_sweep *sweep = context;
    lane_test t;
    LG_CHECK_ROW(name, lane_open(&t, &sweep->arena, name) && lane_check_every(&t, sweep->oracle));
    sweep->n_forms++;
}

// Every combination of a pattern; how many there were.
static inline int lane_check_every_form(const char *pattern, lane_oracle *oracle) {
    lane_sweep sweep = {.oracle = oracle};
    lane_expand(pattern, lane_check_every_name, &sweep);
    lg_arena_free(&sweep.arena);
    return sweep.n_forms;
}

#endif
