// SPDX-License-Identifier: Apache-2.0
// atom and red, lane after lane in lane order: one of the orders a GPU may choose, always the same.
#include "engine/sim/exec/internal.h"
#include "engine/sim/race/race.h"

// Only the inline conversions are used; they are the same for every instruction set.
#define LG_ISA baseline
#include "engine/sim/lane/half.h"

#include <string.h>

static uint64_t integer_min_max(lg_ptx_type type, bool is_max, uint64_t a, uint64_t b) {
    bool a_is_less;
    if (type == LG_PTX_S32) {
        a_is_less = (int32_t)a < (int32_t)b;
    } else if (type == LG_PTX_S64) {
        a_is_less = (int64_t)a < (int64_t)b;
    } else {
        a_is_less = a < b;
    }
    return a_is_less == is_max ? b : a;
}

// NaN only when both are; -0 is less than +0.
static float float_min_max(bool is_max, float a, float b) {
    if (isnan(a) || isnan(b)) {
        return isnan(a) ? b : a;
    }
    bool a_is_less = a < b || (a == b && signbit(a));
    return a_is_less == is_max ? b : a;
}

static uint16_t half_update(lg_ptx_sub sub, bool bf, uint16_t a, uint16_t b) {
    float x = bf ? bf16_value(a) : f16_value(a), y = bf ? bf16_value(b) : f16_value(b);
    // Twice as many bits and two more: adding in float and rounding once more is exact.
    float r = sub == LG_SUB_ADD ? x + y : float_min_max(sub == LG_SUB_MAX, x, y);
    return bf ? bf16_of(r) : f16_of(r);
}

static uint64_t float_add(uint64_t a, uint64_t b, bool ftz) {
    uint32_t low = (uint32_t)a, high = (uint32_t)b;
    float x, y;
    memcpy(&x, &low, 4);
    memcpy(&y, &high, 4);
    x = ftz ? f32_flush(x) : x;
    y = ftz ? f32_flush(y) : y;
    float r = x + y;
    r = ftz ? f32_flush(r) : r;
    if (isnan(r)) {
        return 0x7fffffff;
    }
    memcpy(&low, &r, 4);
    return low;
}

static uint64_t double_add(uint64_t a, uint64_t b) {
    double x, y;
    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    double r = x + y;
    memcpy(&a, &r, 8);
    return a;
}

// What the place holds after the update; `b` is the operand, `c` the new value of cas.
static uint64_t update(lg_ptx_sub sub, lg_ptx_type type, bool in_shared, uint64_t a, uint64_t b,
                       uint64_t c) {
    bool bf = type == LG_PTX_BF16 || type == LG_PTX_BF16X2;
    if (type == LG_PTX_F16 || type == LG_PTX_BF16) {
        return half_update(sub, bf, (uint16_t)a, (uint16_t)b);
    }
    if (type == LG_PTX_F16X2 || type == LG_PTX_BF16X2) {
        return half_update(sub, bf, (uint16_t)a, (uint16_t)b) |
               (uint64_t)half_update(sub, bf, (uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16;
    }
    switch (sub) {
    case LG_SUB_ADD: // f32 in global memory flushes subnormal values, in shared memory it does not
        return type == LG_PTX_F32   ? float_add(a, b, !in_shared)
               : type == LG_PTX_F64 ? double_add(a, b)
                                    : a + b;
    case LG_SUB_MIN:
    case LG_SUB_MAX:
        return integer_min_max(type, sub == LG_SUB_MAX, a, b);
    case LG_SUB_INC:
        return a >= b ? 0 : a + 1;
    case LG_SUB_DEC:
        return a == 0 || a > b ? b : a - 1;
    case LG_SUB_AND:
        return a & b;
    case LG_SUB_OR:
        return a | b;
    case LG_SUB_XOR:
        return a ^ b;
    case LG_SUB_EXCH:
        return b;
    case LG_SUB_CAS:
        return a == b ? c : a;
    default: // the decoder lets no other one through
        return a;
    }
}

static void check(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_alloc *alloc, uint64_t offset,
                  uint32_t bytes) {
    if (x->checks & LG_SIM_CHECK_RACE) {
        lg_race_atomic(x, insn, lane, alloc, offset);
    }
    if (alloc == &x->sim->shared || alloc == &x->sim->shared_flat) {
        return;
    }
    if (x->checks & LG_SIM_CHECK_INIT && !lg_memory_is_written(alloc, offset, bytes)) {
        lg_sim_fault fault = {.kind = LG_DEVICE_FAULT_UNINITIALISED,
                              .address = alloc->base + offset,
                              .bytes = bytes,
                              .space = LG_SPACE_GLOBAL};
        lg_find(x, insn, (int)lane, fault, "atomic update of global memory that was never written");
    }
    lg_memory_mark_written(alloc, offset, bytes);
}

bool lg_atomic(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint32_t bytes = form.bytes;
    lg_alloc *alloc = x->mem.sites[insn->aux[1]];
    for (uint32_t rest = active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t address = lg_lane_address(regs, insn, form.address_32, lane);
        uint64_t offset = address - alloc->base;
        if (offset > alloc->write_bytes || bytes > alloc->write_bytes - offset) {
            alloc = lg_resolve(x->sim, (lg_ptx_space)form.space, address, bytes, true);
            offset = alloc ? address - alloc->base : 0;
        }
        if (!alloc || address % bytes) {
            lg_raise_access(x, insn, (int)lane, (lg_ptx_space)form.space, address, bytes, true);
            return false;
        }
        if (x->checks) {
            check(x, insn, lane, alloc, offset, bytes);
        } else {
            alloc->all_written = true;
            x->mem.sites[insn->aux[1]] = alloc;
        }
        bool in_shared = alloc == &x->sim->shared || alloc == &x->sim->shared_flat;
        uint64_t a = 0, b = 0, c = 0;
        memcpy(&a, alloc->host + offset, bytes);
        memcpy(&b, regs + insn->src[1] + lane * bytes, bytes);
        memcpy(&c, regs + insn->src[2] + lane * bytes, bytes);
        uint64_t now =
            update((lg_ptx_sub)insn->aux[2], (lg_ptx_type)insn->aux[3], in_shared, a, b, c);
        memcpy(alloc->host + offset, &now, bytes);
        memcpy(regs + insn->dst[0] + lane * bytes, &a, bytes);
    }
    return true;
}
