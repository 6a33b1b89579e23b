// SPDX-License-Identifier: Apache-2.0
// Every access of a warp to shared and global memory against what is known of the bytes.
#include "engine/sim/race/lanes.h"

#include <string.h>

bool lg_race_changes(const lg_race_op *op, uint32_t lane) {
    if (!(op->how & LG_RACE_WRITE) || !op->offsets) {
        return true;
    }
    for (uint32_t i = 0; i < op->form.vec; i++) {
        const char *value = op->regs + op->insn->src[1 + i] + lane * op->form.reg_bytes;
        const char *host = op->alloc->host + op->offsets[lane] + i * op->form.bytes;
        if (memcmp(host, value, op->form.bytes) != 0) { // little-endian: its low bytes
            return true;
        }
    }
    return false;
}

// --- warps and blocks

static uint64_t grains_of(const lg_race_op *op, uint64_t offset, uint32_t shift) {
    uint32_t n = op->bytes >> shift;
    return ((UINT64_C(1) << n) - 1) << (offset >> shift) % LG_LINE_GRAINS;
}

// The first lane that really meets the other access: one that only writes what is there does not.
static void find_lane(const lg_race_op *op, uint64_t number, const lg_race_use *other) {
    uint32_t shift = op->lines->shift;
    for (uint32_t rest = op->active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t offset = lg_race_offset(op, lane);
        if (offset >> shift >> 6 == number && grains_of(op, offset, shift) & other->mask &&
            lg_race_changes(op, lane)) {
            lg_race_report(op, lane, other, -1);
            return;
        }
    }
}

static bool meets(const lg_exec *x, const lg_race_use *other, const lg_race_use *now) {
    if (!(other->mask & now->mask) || !((other->how | now->how) & LG_RACE_WRITE)) {
        return false;
    }
    bool one_block = other->seq == now->seq;
    if (one_block && other->warp == now->warp) {
        return false;
    }
    bool strong = other->how & now->how & LG_RACE_STRONG;
    bool reaches = one_block || !((other->how | now->how) & LG_RACE_NARROW);
    return !(strong && reaches) && !lg_race_ordered(x, other->seq, other->warp, other->clock);
}

// `lanes`: who touches the grains; NULL: that is told apart.
static void touch(const lg_race_op *op, uint64_t number, uint64_t mask, lg_race_piece *lanes) {
    const lg_exec *x = op->x;
    lg_race_line *at = lg_race_open_line(x->race, op->lines, number);
    const lg_warp *warp = x->warp;
    const lg_race_use now = {mask,
                             x->race->seq,
                             warp->clocks[warp->number],
                             op->insn->aux[1],
                             (uint8_t)warp->number,
                             (uint8_t)op->how};
    if (lanes) {
        lanes->mask = mask;
        lg_race_check_lanes(op, at, lanes);
    }
    if (meets(x, &at->write, &now)) {
        find_lane(op, number, &at->write);
    }
    if (meets(x, &at->read, &now)) {
        find_lane(op, number, &at->read);
    }
    bool any = at->more_writes || op->how & LG_RACE_WRITE;
    for (uint32_t i = 0; any && i < at->n; i++) {
        if (meets(x, &at->more[i], &now)) {
            find_lane(op, number, &at->more[i]);
        }
    }
    lg_race_add(x, at, &now);
    if (lanes) {
        lg_race_add_lanes(x->race, at, lanes);
    }
}

// --- accesses

static bool is_shared(const lg_exec *x, const lg_alloc *alloc) {
    return alloc == &x->sim->shared || alloc == &x->sim->shared_flat;
}

static bool is_watched(const lg_exec *x, const lg_alloc *alloc) {
    const lg_sim *sim = x->sim;
    return alloc != &sim->params && alloc != &sim->params_flat && alloc->write_bytes != 0;
}

// False after raising a fault.
static bool prepare_lines(lg_race_op *op) {
    uint32_t shift = op->form.bytes >= 4 ? LG_MAX_GRAIN_SHIFT : (uint32_t)op->form.bytes / 2;
    bool shared = is_shared(op->x, op->alloc);
    lg_alloc *alloc = shared ? &op->x->sim->shared : op->alloc; // one of its two windows
    if (!lg_race_need_lines(op->x->race, alloc, shift, shared)) {
        lg_raise(op->x, op->insn, __builtin_ctz(op->active), LG_SIM_OUT_OF_MEMORY,
                 LG_DEVICE_FAULT_OUT_OF_MEMORY, "no memory for the race check");
        return false;
    }
    op->lines = alloc->lines;
    return true;
}

static void touch_range(const lg_race_op *op, uint64_t offset, uint64_t bytes,
                        lg_race_piece *lanes) {
    uint32_t shift = op->lines->shift;
    uint64_t grain = offset >> shift, end = grain + (bytes >> shift);
    while (grain < end) {
        uint64_t first = grain % LG_LINE_GRAINS, n = end - grain;
        n = n < LG_LINE_GRAINS - first ? n : LG_LINE_GRAINS - first;
        touch(op, grain / LG_LINE_GRAINS, (UINT64_MAX >> (LG_LINE_GRAINS - n)) << first, lanes);
        grain += n;
    }
}

// Neighbouring lanes in one line are one touch.
static void touch_lanes(const lg_race_op *op, lg_race_piece *lanes) {
    uint32_t shift = op->lines->shift;
    uint64_t number = UINT64_MAX, mask = 0;
    for (uint32_t rest = op->active; rest; rest &= rest - 1) {
        uint64_t offset = op->offsets[__builtin_ctz(rest)];
        uint64_t at = offset >> shift >> 6;
        if (at != number && mask) {
            touch(op, number, mask, lanes);
            mask = 0;
        }
        number = at;
        mask |= grains_of(op, offset, shift);
    }
    touch(op, number, mask, lanes);
}

// Lanes anywhere: each looks at what was before the instruction, not at the others of it.
static void touch_scattered(const lg_race_op *op) {
    lg_race *race = op->x->race;
    uint32_t shift = op->lines->shift;
    for (int add = 0; add < 2; add++) {
        for (uint32_t rest = op->active; rest; rest &= rest - 1) {
            uint64_t offset = op->offsets[__builtin_ctz(rest)];
            lg_race_piece piece = {.mask = grains_of(op, offset, shift),
                                   .lanes = rest & (0 - rest),
                                   .how = (uint8_t)op->how};
            lg_race_line *at = lg_race_open_line(race, op->lines, offset >> shift >> 6);
            if (add) {
                lg_race_add_lanes(race, at, &piece);
            } else {
                lg_race_check_lanes(op, at, &piece);
            }
        }
        if (!add) {
            touch_lanes(op, NULL);
        }
    }
}

static void find_conflict(const lg_race_op *op) {
    int lane = lg_race_find_conflict(op->regs, op->insn, op->active, op->offsets);
    if (lane >= 0) {
        lg_race_report_conflict(op, (uint32_t)lane);
    }
}

// Whether the lanes, `stride` bytes apart, touch one element of a row each, where rows of `stride`
// bytes follow another from the start of the allocation.
static bool find_rows(const lg_race_op *op, int64_t stride, lg_race_piece *lanes) {
    if (stride < (int64_t)op->bytes || stride % op->bytes) {
        return false;
    }
    uint32_t first = (uint32_t)__builtin_ctz(op->active);
    uint64_t row = op->offsets[first] / (uint64_t)stride,
             rows = (uint64_t)stride >> op->lines->shift;
    lanes->stride = (uint32_t)rows;
    lanes->phase = (uint8_t)((row - first) % LG_LANES);
    return rows <= UINT32_MAX / 8;
}

static lg_race_word word_of(const lg_race_op *op, uint32_t lane, bool reads, bool writes) {
    bool shared = op->lines->shared;
    uint64_t base = shared ? op->x->sim->shared.base : op->alloc->base;
    return (lg_race_word){.address = base + lg_race_offset(op, lane),
                          .narrow = shared || op->form.narrow,
                          .reads = reads,
                          .writes = writes};
}

static void touch_all(lg_race_op *op, int64_t stride) {
    if (!prepare_lines(op)) {
        return;
    }
    lg_race_piece lanes = {.lanes = op->active, .how = (uint8_t)op->how};
    uint64_t offset = op->offsets[__builtin_ctz(op->active)];
    if (stride <= 0 && op->how & LG_RACE_WRITE) {
        find_conflict(op);
    }
    if (stride == 0) {
        touch_range(op, offset, op->bytes, &lanes);
    } else if (!find_rows(op, stride, &lanes)) {
        touch_scattered(op);
    } else if (stride == op->bytes && (op->active & (op->active + 1)) == 0) {
        touch_range(op, offset, (uint64_t)__builtin_popcount(op->active) * op->bytes, &lanes);
    } else {
        touch_lanes(op, &lanes);
    }
    if (op->how & LG_RACE_STRONG) {
        for (uint32_t rest = op->active; rest; rest &= rest - 1) {
            bool writes = op->how & LG_RACE_WRITE;
            lg_race_strong(op->x, word_of(op, (uint32_t)__builtin_ctz(rest), !writes, writes));
        }
    }
}

// Notes what the lanes of one allocation do, until all have been looked at. A lane whose access is
// not allowed is left to the access itself.
static void note(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t active, bool write) {
    lg_mem_form form = lg_mem_form_of(insn);
    lg_ptx_space space = (lg_ptx_space)form.space;
    if (space == LG_SPACE_CONST || space == LG_SPACE_LOCAL || x->result->has_fault) {
        return;
    }
    uint64_t offsets[LG_LANES];
    int64_t stride;
    lg_race_op op = {.x = x,
                     .regs = regs,
                     .insn = insn,
                     .bytes = (uint32_t)form.bytes * form.vec,
                     .how = lg_race_how(insn, write),
                     .form = form,
                     .alloc = x->mem.sites[insn->aux[1]],
                     .offsets = offsets};
    lg_race_lanes_begin(x);
    if (write && form.fences) {
        lg_race_fence(x, x->warp, form.narrow);
    }
    while (active) {
        op.active = x->race->memory->survey(regs, insn, active, op.alloc, offsets, &stride);
        if (!op.active) {
            uint32_t first = (uint32_t)__builtin_ctz(active);
            uint64_t address = lg_lane_address(regs, insn, form.address_32, first);
            op.alloc = lg_resolve(x->sim, space, address, op.bytes, write);
            op.alloc = op.alloc ? op.alloc : &x->sim->nothing;
            op.active = x->race->memory->survey(regs, insn, active, op.alloc, offsets, &stride);
        }
        if (op.active && is_watched(x, op.alloc)) {
            touch_all(&op, stride);
        }
        active &= ~(op.active | (active & (0 - active)));
    }
}

void lg_race_atomic(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_alloc *alloc,
                    uint64_t offset) {
    lg_mem_form form = lg_mem_form_of(insn);
    lg_race_op op = {.x = x,
                     .insn = insn,
                     .active = UINT32_C(1) << lane,
                     .bytes = form.bytes,
                     .how = lg_race_how(insn, true),
                     .form = form,
                     .alloc = alloc,
                     .offset = offset};
    lg_race_piece lanes = {.lanes = op.active, .how = (uint8_t)op.how};
    if (x->result->has_fault || !is_watched(x, alloc) || !prepare_lines(&op)) {
        return;
    }
    lg_race_lanes_begin(x);
    if (form.fences) {
        lg_race_fence(x, x->warp, form.narrow);
    }
    touch_range(&op, offset, form.bytes, &lanes);
    lg_race_strong(x, word_of(&op, lane, true, true));
}

#define NOTED(number, write)                                                                       \
    static bool noted_##number(lg_mem_state *m, char *regs, const lg_insn *insn,                   \
                               uint32_t active) {                                                  \
        lg_exec *x = lg_exec_of(m);                                                                \
        note(x, regs, insn, active, write);                                                        \
        return x->race->memory->fn[number](m, regs, insn, active);                                 \
    }
NOTED(0, false)
NOTED(1, false)
NOTED(2, false)
NOTED(3, false)
NOTED(4, true)
NOTED(5, true)
NOTED(6, true)
NOTED(7, true)
#undef NOTED

const lg_mem_table *lg_race_mem_table(void) {
    static const lg_mem_table table = {
        {noted_0, noted_1, noted_2, noted_3, noted_4, noted_5, noted_6, noted_7}, NULL};
    return &table;
}
