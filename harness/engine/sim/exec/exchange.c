// SPDX-License-Identifier: Apache-2.0
// Member masks: which lanes take part in shfl, vote, match, redux, elect and bar.warp.sync (PTX ISA
// 9.0, sections 9.7.9 and 9.7.13). Undefined, and so a finding of every launch, is
//   - a lane that is not in its own mask;
//   - a mask that names a lane that has not ended and does not execute this instruction with the
//     same mask: on a GPU such a lane is waited for, here it never comes;
// A lane that has ended, or that the block never had, may be named: it is not waited for.
//
// What shfl reads from a lane that takes no part is another matter: the value is undefined, the
// instruction is not, and a kernel that looks before it uses the value is right. So the value is a
// poison: as a float and as the halves of a double far larger than any loss, as an integer far out
// of any range. A sum or a maximum that takes it shows it; a minimum of floats would not.
#include "engine/sim/exec/internal.h"
#include "engine/sim/race/race.h"

#include <string.h>

static uint32_t value_of(const char *slot, uint32_t lane) {
    uint32_t value;
    memcpy(&value, slot + lane * 4, sizeof value);
    return value;
}

static const char *mnemonic(const lg_exec *x, const lg_insn *insn) {
    return x->warp->frames[x->warp->depth].code->ptx->insns[insn->index].text;
}

static void find(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_device_fault_kind kind,
                 const char *what) {
    lg_find(x, insn, (int)lane, (lg_sim_fault){.kind = kind, .space = LG_SPACE_LOCAL}, what);
}

// The lanes of `mask` that execute the instruction with this mask.
static uint32_t agreeing(const char *masks, uint32_t mask, uint32_t active) {
    uint32_t same = 0;
    for (uint32_t rest = mask & active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        same |= (uint32_t)(value_of(masks, lane) == mask) << lane;
    }
    return same;
}

static void check_lane(lg_exec *x, const lg_insn *insn, uint32_t lane, const char *masks,
                       uint32_t active) {
    uint32_t mask = value_of(masks, lane);
    uint32_t absent = mask & x->warp->live & ~agreeing(masks, mask, active);
    char text[192];
    if (!(mask >> lane & 1)) {
        snprintf(text, sizeof text, "%.48s by lane %u, which its own member mask 0x%x leaves out",
                 mnemonic(x, insn), lane, mask);
        find(x, insn, lane, LG_DEVICE_FAULT_OWN_LANE_LEFT_OUT, text);
    } else if (absent) {
        uint32_t first = (uint32_t)__builtin_ctz(absent);
        snprintf(text, sizeof text,
                 "%.48s with member mask 0x%x, but lane %u %s: it would be waited for",
                 mnemonic(x, insn), mask, first,
                 active >> first & 1 ? "names another mask" : "is not there");
        find(x, insn, lane, LG_DEVICE_FAULT_ABSENT_LANE, text);
    }
}

// Whether all active lanes name the same mask, and that all of them and nobody else who lives.
static bool is_plain(const lg_exec *x, const char *masks, uint32_t active) {
    uint32_t mask = value_of(masks, (uint32_t)__builtin_ctz(active)), differ = 0;
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        differ |= (value_of(masks, lane) ^ mask) & (0 - (active >> lane & 1));
    }
    return differ == 0 && (mask & x->warp->live) == active;
}

// False when the masks are plain.
static bool check_masks(lg_exec *x, const lg_insn *insn, const char *masks, uint32_t active) {
    if (is_plain(x, masks, active)) {
        return false;
    }
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        check_lane(x, insn, (uint32_t)__builtin_ctz(rest), masks, active);
    }
    return true;
}

// The lane that shfl reads from, which is its own where the source is out of its segment.
static uint32_t source_of(uint32_t lane, uint32_t b, uint32_t c, lg_ptx_sub mode) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31, first = lane & segment;
    uint32_t last = first | (clamp & ~segment);
    uint32_t step = b & 31;
    if (mode == LG_SUB_UP) {
        return lane >= step && (int32_t)(lane - step) >= (int32_t)last ? lane - step : lane;
    }
    uint32_t from = mode == LG_SUB_DOWN   ? lane + step
                    : mode == LG_SUB_BFLY ? lane ^ step
                                          : first | (step & ~segment);
    return from <= last ? from : lane;
}

enum { POISON = 0x7F7FFFFF };

// The lanes whose source takes no part.
static uint32_t lanes_without_source(const char *regs, const lg_insn *insn, uint32_t active) {
    uint32_t without = 0;
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint32_t from = source_of(lane, value_of(regs + insn->src[1], lane),
                                  value_of(regs + insn->src[2], lane), (lg_ptx_sub)insn->aux[2]);
        uint32_t members = value_of(regs + insn->src[3], lane) & active;
        without |= (uint32_t)(from != lane && !(members >> from & 1)) << lane;
    }
    return without;
}

static void poison(char *slot, uint32_t lanes) {
    static const uint32_t value = POISON;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        memcpy(slot + __builtin_ctz(rest) * 4, &value, sizeof value);
    }
}

void lg_exchange(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    bool mixed = check_masks(x, insn, regs + insn->src[insn->aux[0]], active);
    // Before the lane function: the result may go where an operand is.
    bool partial = insn->aux[1] && (mixed || active != UINT32_MAX);
    uint32_t without = partial ? lanes_without_source(regs, insn, active) : 0;
    ((lg_lane_fn *)(uintptr_t)insn->imm)(regs, insn, active);
    if (without) {
        poison(regs + insn->dst[0], without);
    }
}

void lg_warp_sync(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    check_masks(x, insn, regs + insn->src[0], active);
    x->warp->lane_epoch++;
}
