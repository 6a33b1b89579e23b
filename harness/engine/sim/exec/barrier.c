// SPDX-License-Identifier: Apache-2.0
// bar and barrier: sixteen barriers a block, arrival counted in whole warps as the hardware does. A
// warp that has ended counts as arrived where the whole block is expected.
#include "engine/sim/exec/internal.h"
#include "engine/sim/race/race.h"

#include <string.h>

static uint32_t first_value(const char *slot, uint32_t active) {
    uint32_t value;
    memcpy(&value, slot + __builtin_ctz(active) * 4, sizeof value);
    return value;
}

static uint32_t all_warps(const lg_exec *x) {
    return x->n_warps == 32 ? UINT32_MAX : (UINT32_C(1) << x->n_warps) - 1;
}

static uint32_t done_warps(const lg_exec *x) {
    uint32_t done = 0;
    for (int i = 0; i < x->n_warps; i++) {
        done |= (uint32_t)(x->warps[i].state == LG_WARP_DONE) << i;
    }
    return done;
}

static bool is_complete(const lg_exec *x, const lg_barrier *barrier) {
    if (barrier->arrived == 0) {
        return false;
    }
    if (barrier->expected) {
        return barrier->threads >= barrier->expected;
    }
    return (barrier->arrived | done_warps(x)) == all_warps(x);
}

static void give_result(lg_warp *warp, const lg_barrier *barrier) {
    const lg_insn *insn = warp->ip - 1;
    if (insn->aux[0] != LG_SUB_RED) {
        return;
    }
    char *to = warp->frames[warp->depth].regs + insn->dst[0];
    if (insn->aux[1] == LG_SUB_POPC) {
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            if (warp->barrier_lanes >> lane & 1) {
                memcpy(to + lane * 4, &barrier->popc, 4);
            }
        }
        return;
    }
    uint32_t value = insn->aux[1] == LG_SUB_AND ? barrier->all : barrier->any;
    uint32_t old;
    memcpy(&old, to, 4);
    old = (old & ~warp->barrier_lanes) | (value ? warp->barrier_lanes : 0);
    memcpy(to, &old, 4);
}

static void reset(lg_barrier *barrier) {
    *barrier = (lg_barrier){.all = 1};
}

static void release(lg_exec *x, lg_barrier *barrier) {
    if (x->checks & LG_SIM_CHECK_RACE && barrier->waiting == all_warps(x)) {
        lg_race_meet(x);
    }
    for (int i = 0; i < x->n_warps; i++) {
        lg_warp *warp = &x->warps[i];
        if (barrier->waiting >> i & 1) {
            give_result(warp, barrier);
            warp->state = LG_WARP_READY;
            if (x->checks & LG_SIM_CHECK_RACE) {
                lg_race_release(x, warp, barrier);
            }
        }
    }
    reset(barrier);
}

static bool check_operands(lg_exec *x, lg_warp *warp, char *regs, const lg_insn *insn,
                           uint32_t active, uint32_t *number, uint32_t *expected) {
    int lane = __builtin_ctz(active);
    *number = first_value(regs + insn->src[0], active);
    *expected = insn->aux[2] ? first_value(regs + insn->src[1], active) : 0;
    if (*number >= LG_N_BARRIERS) {
        lg_raise(x, insn, lane, LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_NO_SUCH_BARRIER,
                 "barrier %u does not exist: there are 16", *number);
        return false;
    }
    if (insn->aux[2] && (*expected == 0 || *expected % LG_LANES)) {
        lg_raise(x, insn, lane, LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_BARRIER_COUNT,
                 "barrier for %u threads: a multiple of 32 is needed", *expected);
        return false;
    }
    if (active != warp->live) {
        lg_raise(x, insn, __builtin_ctz(warp->live & ~active), LG_SIM_BARRIER,
                 LG_DEVICE_FAULT_DIVERGENT_BARRIER,
                 "barrier %u is reached by %d of the %d threads of a warp: the others can never "
                 "reach it together with them",
                 *number, __builtin_popcount(active), __builtin_popcount(warp->live));
        return false;
    }
    return true;
}

lg_stop lg_barrier_arrive(lg_exec *x, lg_warp *warp, char *regs, const lg_insn *insn,
                          uint32_t active) {
    uint32_t number, expected;
    if (!check_operands(x, warp, regs, insn, active, &number, &expected)) {
        return LG_STOP_FAULT;
    }
    lg_barrier *barrier = &x->barriers[number];
    bool waits = insn->aux[0] != LG_SUB_ARRIVE;
    uint32_t bit = UINT32_C(1) << warp->number;
    barrier->arrived |= bit;
    barrier->threads += LG_LANES;
    barrier->expected = expected;
    if (insn->aux[0] == LG_SUB_RED) {
        uint32_t predicate;
        memcpy(&predicate, regs + insn->src[2], sizeof predicate);
        predicate = (insn->src_inverted & 4 ? ~predicate : predicate) & active;
        barrier->popc += (uint32_t)__builtin_popcount(predicate);
        barrier->any |= predicate != 0;
        barrier->all &= predicate == active;
    }
    if (x->checks & LG_SIM_CHECK_RACE) {
        lg_race_arrive(x, warp, barrier);
    }
    warp->barrier = (int)number;
    warp->barrier_lanes = active;
    if (waits) {
        barrier->waiting |= bit;
        warp->state = LG_WARP_WAITING;
    }
    bool others = (barrier->waiting & ~bit) != 0;
    if (!is_complete(x, barrier)) {
        return waits ? LG_STOP_BARRIER : LG_STOP_NONE;
    }
    release(x, barrier);
    return others ? LG_STOP_TURN : LG_STOP_NONE; // the warps go on in their order
}

void lg_barriers_reset(lg_exec *x) {
    for (int i = 0; i < LG_N_BARRIERS; i++) {
        reset(&x->barriers[i]);
    }
}

void lg_barrier_warp_done(lg_exec *x) {
    for (int i = 0; i < LG_N_BARRIERS; i++) {
        if (!x->barriers[i].expected && is_complete(x, &x->barriers[i])) {
            release(x, &x->barriers[i]);
        }
    }
}

void lg_barrier_deadlock(lg_exec *x) {
    for (int i = 0; i < x->n_warps; i++) {
        lg_warp *warp = &x->warps[i];
        if (warp->state == LG_WARP_WAITING) {
            const lg_barrier *barrier = &x->barriers[warp->barrier];
            int n_waiting = __builtin_popcount(barrier->waiting);
            x->warp = warp;
            lg_raise(x, warp->ip - 1, __builtin_ctz(warp->barrier_lanes), LG_SIM_BARRIER,
                     LG_DEVICE_FAULT_BARRIER_DEADLOCK,
                     "barrier %d waits for ever: %d of %d warps are at it, the others ended or "
                     "wait elsewhere",
                     warp->barrier, n_waiting, x->n_warps);
            return;
        }
    }
}
