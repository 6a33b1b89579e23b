// SPDX-License-Identifier: Apache-2.0
// Kernels of three blocks on one buffer, and whether the race check finds something.
#ifndef LG_TESTS_ENGINE_SIM_RACE_GRID_H
#define LG_TESTS_ENGINE_SIM_RACE_GRID_H

#include "unit/engine/sim/rig.h"

// %rd1: the buffer, %r1: thread, %r2: block, %r3: thread in the grid, %rd2: its word, %rd3: the
// block's word, %rd4: a counter behind the words, %p1: first thread of the block.
#define G                                                                                          \
    "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %ctaid.x;\n"                    \
    "mov.u32 %r9, %ntid.x;\n mad.lo.u32 %r3, %r2, %r9, %r1;\n"                                     \
    "mad.wide.u32 %rd2, %r3, 4, %rd1;\n mad.wide.u32 %rd3, %r2, 4, %rd1;\n"                        \
    "add.s64 %rd4, %rd1, 4096;\n setp.eq.u32 %p1, %r1, 0;\n"

typedef struct race_row {
    const char *name, *body;
    uint32_t threads; // in each of three blocks
    bool race;
    const char *text; // part of the finding
} race_row;

static inline lg_sim_result run_grid(rig *r, uint32_t threads, uint64_t schedule,
                                     uint64_t address) {
    lg_sim_launch launch = rig_launch(3, threads, &address, 8);
    launch.checks = LG_SIM_CHECK_RACE;
    launch.schedule = schedule;
    return rig_run(r, "k", &launch);
}

static inline void check_rows(const race_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        rig r = rig_kernel("", ".param .u64 p", rows[i].body);
        // The second launch finds the same: the end of a launch orders all there was before.
        for (int again = 0; again < 2; again++) {
            uint64_t address = rig_buffer(&r, NULL, 8192);
            lg_sim_result result = run_grid(&r, rows[i].threads, 0, address);
            LG_CHECK_ROW(rows[i].name, result.status == LG_SIM_OK);
            LG_CHECK_ROW(rows[i].name, result.has_fault == rows[i].race);
            if (result.has_fault) {
                bool ok = rows[i].race && strstr(result.fault.text, rows[i].text);
                LG_CHECK_ROW(rows[i].name, ok);
                LG_CHECK_ROW(rows[i].name, result.fault.kind == LG_DEVICE_FAULT_RACE);
                LG_CHECK_ROW(rows[i].name, result.fault.space == LG_SPACE_GLOBAL);
                LG_CHECK_ROW(rows[i].name, result.fault.nearest_base == address);
                if (!ok) {
                    fprintf(stderr, "\n    %s\n", result.fault.text);
                }
            }
            lg_sim_result_free(&result);
        }
        rig_close(&r);
    }
}

// No order of blocks hides a race, and none makes one. (The rows that name a block do so in order.)
static inline void check_any_order(const race_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        bool by_place = strstr(rows[i].body, "%r4, 2;") || strstr(rows[i].body, "%p5");
        rig r = rig_kernel("", ".param .u64 p", rows[i].body);
        for (uint64_t schedule = 1; schedule < 6 && !by_place; schedule++) {
            lg_sim_result result =
                run_grid(&r, rows[i].threads, schedule, rig_buffer(&r, NULL, 8192));
            LG_CHECK_ROW(rows[i].name, result.status == LG_SIM_OK);
            LG_CHECK_ROW(rows[i].name, result.has_fault == rows[i].race);
            lg_sim_result_free(&result);
        }
        rig_close(&r);
    }
}

#endif
