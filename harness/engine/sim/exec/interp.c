// SPDX-License-Identifier: Apache-2.0
// The loop that runs one warp until it ends, waits, gives up its turn or fails.
#include "engine/sim/exec/internal.h"
#include "engine/sim/race/race.h"

#include <string.h>

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static void read_clock(char *regs, const lg_insn *insn, uint32_t active, uint64_t n) {
    uint64_t value = insn->aux[1] == LG_SREG_CLOCK_HI ? n >> 32 : n;
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (active >> lane & 1) {
            memcpy(regs + insn->dst[0] + lane * insn->aux[0], &value, insn->aux[0]);
        }
    }
}

// The active lanes whose value equals the first one's.
static uint32_t same_as_first(const char *slot, uint32_t bytes, uint32_t active) {
    uint32_t first = (uint32_t)__builtin_ctz(active), same = 0;
    for (uint32_t lane = first; lane < LG_LANES; lane++) {
        if ((active >> lane & 1) && !memcmp(slot + lane * bytes, slot + first * bytes, bytes)) {
            same |= UINT32_C(1) << lane;
        }
    }
    return same;
}

// The lanes that go where the first one goes take the branch; the others come here again.
static bool indexed_branch(lg_exec *x, lg_warp *warp, const char *regs, const lg_insn *insn,
                           uint32_t active) {
    const lg_code *code = warp->frames[warp->depth].code;
    const lg_branch_table *table = &code->tables[insn->imm];
    uint32_t same = same_as_first(regs + insn->src[0], 4, active);
    int first = __builtin_ctz(active);
    uint32_t index;
    memcpy(&index, regs + insn->src[0] + first * 4, sizeof index);
    if (index >= (uint32_t)table->n) {
        lg_raise(x, insn, first, LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_BRANCH_INDEX,
                 "brx.idx with index %u of %d labels", index, table->n);
        return false;
    }
    const lg_insn *target = code->insns + table->targets[index];
    if (same == warp->mask) {
        warp->ip = target;
        return true;
    }
    return lg_warp_split(x, warp, insn, insn + (int32_t)insn->aux[0], (lg_simt){target, NULL, same},
                         (lg_simt){insn, NULL, warp->mask & ~same});
}

// The lanes whose pointer equals the first one's make the call; the others come here again.
static bool indirect_call(lg_exec *x, lg_warp *warp, const char *regs, const lg_insn *insn,
                          uint32_t active) {
    uint32_t same = same_as_first(regs + insn->src[0], 8, active);
    int first = __builtin_ctz(active);
    uint64_t target;
    memcpy(&target, regs + insn->src[0] + first * 8, sizeof target);
    uint64_t offset = target - lg_function_address(x->module, 0);
    uint64_t function = offset / 16;
    if (offset % 16 || function >= (uint64_t)x->module->ptx->n_functions ||
        x->module->codes[function].n_insns == 0 || x->module->ptx->functions[function].is_entry) {
        lg_raise(x, insn, first, LG_SIM_ILLEGAL_INSTRUCTION, LG_DEVICE_FAULT_BAD_CALL,
                 "call through 0x%llx, which is no function", (unsigned long long)target);
        return false;
    }
    if (same != active && !lg_warp_split(x, warp, insn, insn + 1, (lg_simt){insn, NULL, same},
                                         (lg_simt){insn, NULL, warp->mask & ~same})) {
        return false;
    }
    return lg_call_enter(x, warp, insn, (int)function, same);
}

static bool turn_is_over(lg_exec *x, const lg_warp *warp, const lg_insn *insn, lg_stop *stop) {
    if (x->n < x->turn_end) {
        return false;
    }
    *stop = LG_STOP_TURN;
    if (x->n >= x->budget) {
        lg_raise(x, insn, __builtin_ctz(warp->mask), LG_SIM_TIMEOUT, LG_DEVICE_FAULT_TIMEOUT,
                 "still running after %llu warp instructions", (unsigned long long)x->n);
        *stop = LG_STOP_FAULT;
    }
    return true;
}

// What is rare enough to stay out of the loop. The warp's state is in *warp, its ip behind `insn`.
static lg_stop run_rare(lg_exec *x, lg_warp *warp, char *regs, const lg_insn *insn,
                        uint32_t active) {
    bool ok = true;
    lg_stop stop = LG_STOP_NONE;
    if ((insn->kind == LG_KIND_CALL || insn->kind == LG_KIND_CALL_INDIRECT) &&
        turn_is_over(x, warp, insn, &stop)) {
        warp->ip = insn; // comes back to the call
        return stop;
    }
    switch ((lg_kind)insn->kind) {
    case LG_KIND_CALL:
        ok = lg_call_enter(x, warp, insn, warp->frames[warp->depth].code->calls[insn->imm].function,
                           active);
        break;
    case LG_KIND_CALL_INDIRECT:
        ok = indirect_call(x, warp, regs, insn, active);
        break;
    case LG_KIND_BRX:
        ok = indexed_branch(x, warp, regs, insn, active);
        if (ok && turn_is_over(x, warp, insn, &stop)) {
            return stop;
        }
        break;
    case LG_KIND_ASSERT_FAIL:
        if (!lg_assert_fail(x, regs, insn, active)) {
            return LG_STOP_FAULT;
        }
        return lg_warp_resume(warp) ? LG_STOP_NONE : LG_STOP_DONE;
    case LG_KIND_VPRINTF:
        ok = lg_vprintf(x, regs, insn, active);
        break;
    case LG_KIND_TRAP:
        lg_raise(x, insn, __builtin_ctz(active), LG_SIM_TRAP, LG_DEVICE_FAULT_TRAP, "trap");
        ok = false;
        break;
    case LG_KIND_BARRIER:
        return lg_barrier_arrive(x, warp, regs, insn, active);
    case LG_KIND_FENCE:
        if (x->race) {
            lg_race_fence(x, warp, insn->aux[0]);
        }
        break;
    case LG_KIND_WARP_SYNC:
        lg_warp_sync(x, regs, insn, active);
        break;
    case LG_KIND_CLOCK:
        read_clock(regs, insn, active, x->n);
        break;
    case LG_KIND_ISSPACEP:
        lg_isspacep(regs, insn, active);
        break;
    case LG_KIND_LD_PARAM:
        lg_load_param(x, regs, insn, active);
        break;
    case LG_KIND_ATOMIC:
        ok = lg_atomic(x, regs, insn, active);
        break;
    case LG_KIND_LANE: // the loop has done the others
    case LG_KIND_RECONVERGE:
    case LG_KIND_END:
    case LG_KIND_NOP:
    case LG_KIND_EXCHANGE:
    case LG_KIND_BRA:
    case LG_KIND_RET:
    case LG_KIND_EXIT:
    case LG_KIND_LD_ROWS:
    case LG_KIND_ST_ROWS:
    case LG_KIND_LD_2:
    case LG_KIND_LD_4:
    case LG_KIND_LD_8:
    case LG_KIND_LD_ANY:
    case LG_KIND_ST_2:
    case LG_KIND_ST_4:
    case LG_KIND_ST_8:
    case LG_KIND_ST_ANY:
    case LG_N_KINDS:
        break;
    }
    return ok ? LG_STOP_NONE : LG_STOP_FAULT;
}

static void count_branch(const lg_warp *warp, const lg_insn *insn, uint32_t active) {
    const lg_code *code = warp->frames[warp->depth].code;
    uint64_t *count = active == 0            ? code->not_taken
                      : active == warp->mask ? code->taken
                                             : code->divergent;
    count[insn - code->insns]++;
}

// The loop keeps the warp's state in locals; LEAVE writes it back, ENTER reads it. Lane
// instructions are counted where the mask changes, and corrected where a guard switches lanes off.
// An instruction counts for the needless ones that it steps over (fold.h), so that counts and
// budget do not depend on what is needless; for coverage each is executed.
#define LEAVE(next_ip)                                                                             \
    do {                                                                                           \
        lanes += (n - n_mark) * (uint64_t)__builtin_popcount(mask);                                \
        n_mark = n;                                                                                \
        warp->ip = (next_ip);                                                                      \
        warp->mask = mask;                                                                         \
        x->n = n;                                                                                  \
        x->lanes = lanes;                                                                          \
    } while (0)
#define ENTER()                                                                                    \
    do {                                                                                           \
        ip = warp->ip;                                                                             \
        mask = warp->mask;                                                                         \
        rpc = warp->rpc;                                                                           \
        regs = warp->frames[warp->depth].regs;                                                     \
    } while (0)

static inline __attribute__((always_inline)) lg_stop run(lg_exec *x, lg_warp *warp,
                                                         const bool counting) {
    const lg_insn *ip, *rpc;
    char *regs;
    uint32_t mask;
    uint64_t n = x->n, n_mark = n, lanes = x->lanes;
    const lg_mem_table *memory = x->memory;
    ENTER();
    for (;;) {
        const lg_insn *insn = ip;
        if (counting) {
            const lg_code *code = warp->frames[warp->depth].code;
            code->executed[insn - code->insns]++;
        }
        const uint32_t step = counting ? 1 : insn->step;
        n += step;
        uint32_t active = mask;
        if (UNLIKELY(insn->guard)) {
            uint32_t guard;
            memcpy(&guard, regs + insn->guard, sizeof guard);
            active &= guard ^ (0 - (uint32_t)insn->guard_invert);
            if (active != mask && insn->kind != LG_KIND_BRA) {
                lanes -= (uint64_t)__builtin_popcount(mask & ~active);
                if (active == 0) {
                    ip += step;
                    continue;
                }
            }
        }
        if (insn->lane) {
            insn->lane(regs, insn, active);
            ip += step;
            continue;
        }
        switch ((lg_kind)insn->kind) {
        case LG_KIND_LD_2:
        case LG_KIND_LD_4:
        case LG_KIND_LD_8:
        case LG_KIND_LD_ANY:
        case LG_KIND_ST_2:
        case LG_KIND_ST_4:
        case LG_KIND_ST_8:
        case LG_KIND_ST_ANY:
            if (UNLIKELY(!memory->fn[insn->kind - LG_KIND_LD_2](&x->mem, regs, insn, active))) {
                n -= step - 1; // what it would have stepped over
                LEAVE(insn);
                return LG_STOP_FAULT;
            }
            ip += step;
            break;
        case LG_KIND_BRA:
            if (counting) {
                warp->mask = mask;
                count_branch(warp, insn, active);
            }
            if (active == 0) {
                ip++;
            } else if (active == mask) {
                ip = insn + (int64_t)insn->imm;
                if (UNLIKELY(n >= x->turn_end) && ip <= insn) {
                    LEAVE(ip);
                    lg_stop stop = LG_STOP_NONE;
                    if (turn_is_over(x, warp, insn, &stop)) {
                        return stop;
                    }
                }
            } else if (insn->aux[1] && !counting) {
                uint32_t stay = mask & ~active;
                const lg_insn *meet = insn + (int64_t)insn->imm;
                for (ip = insn + 1; ip < meet; ip += ip->step) {
                    ip->lane(regs, ip, stay);
                }
                n += insn->aux[1];
                lanes -= insn->aux[1] * (uint64_t)__builtin_popcount(active);
                ip = meet;
            } else {
                LEAVE(insn);
                if (!lg_warp_split(x, warp, insn, insn + (int32_t)insn->aux[0],
                                   (lg_simt){insn + 1, NULL, mask & ~active},
                                   (lg_simt){insn + (int64_t)insn->imm, NULL, active})) {
                    return LG_STOP_FAULT;
                }
                lg_stop stop = LG_STOP_NONE;
                if (UNLIKELY(n >= x->turn_end) && turn_is_over(x, warp, insn, &stop)) {
                    return stop;
                }
                ENTER();
            }
            break;
        case LG_KIND_RECONVERGE:
            n--;
            ip++;
            if (insn == rpc) {
                LEAVE(insn);
                warp->mask = 0;
                lg_warp_resume(warp); // the entry of the meeting place lies below
                ENTER();
            }
            break;
        case LG_KIND_RET:
        case LG_KIND_EXIT:
        case LG_KIND_END:
            LEAVE(insn + 1);
            if (insn->kind == LG_KIND_RET && warp->depth > 0) {
                warp->frames[warp->depth].returned |= active;
            } else {
                warp->live &= ~active;
            }
            warp->mask &= ~active;
            if (!lg_warp_resume(warp)) {
                return LG_STOP_DONE;
            }
            ENTER();
            break;
        case LG_KIND_NOP:
            ip++;
            break;
        case LG_KIND_EXCHANGE:
            lg_exchange(x, regs, insn, active);
            ip++;
            break;
        case LG_KIND_LD_ROWS:
        case LG_KIND_ST_ROWS:
            if (UNLIKELY(!lg_rows_access(x, regs, insn, active))) {
                LEAVE(insn);
                return LG_STOP_FAULT;
            }
            ip++;
            break;
        case LG_KIND_LANE: // without a function: not decoded
        case LG_KIND_BRX:
        case LG_KIND_CALL:
        case LG_KIND_CALL_INDIRECT:
        case LG_KIND_ASSERT_FAIL:
        case LG_KIND_VPRINTF:
        case LG_KIND_TRAP:
        case LG_KIND_BARRIER:
        case LG_KIND_WARP_SYNC:
        case LG_KIND_FENCE:
        case LG_KIND_CLOCK:
        case LG_KIND_ISSPACEP:
        case LG_KIND_LD_PARAM:
        case LG_KIND_ATOMIC:
        case LG_N_KINDS: {
            LEAVE(insn + 1);
            lg_stop stop = run_rare(x, warp, regs, insn, active);
            if (stop != LG_STOP_NONE) {
                return stop;
            }
            ENTER();
            break;
        }
        }
    }
}

lg_stop lg_run_warp(lg_exec *x, lg_warp *warp) {
    x->warp = warp;
    return x->module->coverage ? run(x, warp, true) : run(x, warp, false);
}
