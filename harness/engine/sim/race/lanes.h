// SPDX-License-Identifier: Apache-2.0
// Inside of the race check: accesses of an instruction, and the lanes of a warp among themselves.
//
// Of the running warp it is known which lane has used which grain of a line since the lanes were
// last ordered (bar.warp.sync, a barrier; a fence and then a strong access, which is taken to order
// all of them). It is forgotten when another warp runs: without a schedule that is at a barrier.
// Most instructions touch elements, or columns of rows, lane after lane: a piece then names its
// lanes by a formula, and what lanes do again and again to their own stays one piece.
#ifndef LG_ENGINE_SIM_RACE_LANES_H
#define LG_ENGINE_SIM_RACE_LANES_H

#include "engine/sim/race/lines.h"

// What lanes have done to the grains of `mask`.
typedef struct lg_race_piece {
    uint64_t mask;
    uint32_t lanes;  // each of them to all of the grains, where stride is 0
    uint32_t next;   // number + 1
    uint32_t stride; // else lane (g / stride - phase) modulo 32 to the allocation's grain g
    uint8_t phase;
    uint8_t how;
} lg_race_piece;

// An instruction's access to one allocation.
typedef struct lg_race_op {
    lg_exec *x;
    const char *regs;
    const lg_insn *insn;
    uint32_t active;
    uint32_t bytes;
    int how;
    lg_mem_form form;
    lg_alloc *alloc;
    lg_race_lines *lines;    // of the allocation
    const uint64_t *offsets; // of the lanes in the allocation; NULL: an atomic at `offset`
    uint64_t offset;
} lg_race_op;

static inline uint64_t lg_race_offset(const lg_race_op *op, uint32_t lane) {
    return op->offsets ? op->offsets[lane] : op->offset;
}

// report.c: notes the race of a lane's access with another use of a line, or with one of
// another lane, -1 none, of its warp.
void lg_race_report(const lg_race_op *op, uint32_t lane, const lg_race_use *other, int other_lane);
// The same for lanes that write different values to one place in one instruction.
void lg_race_report_conflict(const lg_race_op *op, uint32_t lane);
// Whether the access of that lane changes memory.
bool lg_race_changes(const lg_race_op *op, uint32_t lane);

// lanes.c
// Before the running warp's next access: forgets what an order has made harmless.
void lg_race_lanes_begin(lg_exec *x);
void lg_race_lanes_ordered(lg_race *race);
// Looks for a race at the grains of a line, and takes down who was there.
void lg_race_check_lanes(const lg_race_op *op, const lg_race_line *at, const lg_race_piece *now);
void lg_race_add_lanes(lg_race *race, lg_race_line *at, const lg_race_piece *now);
// The part of a line that was split.
void lg_race_split_lanes(lg_race *race, const lg_race_line *from, lg_race_line *to, uint32_t part,
                         uint32_t factor);
// The mask of a line's part: lines.c.
uint64_t lg_race_part(uint64_t mask, uint32_t part, uint32_t factor);

#endif
