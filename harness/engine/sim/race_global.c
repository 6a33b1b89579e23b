// SPDX-License-Identifier: Apache-2.0
// Races on global memory: every access of a warp against what is known of the bytes (race_lines.h).
#include "engine/sim/race_lines.h"

#include <string.h>

// An instruction's access to one allocation.
typedef struct access {
    lg_exec *x;
    const char *regs;
    const lg_insn *insn;
    uint32_t active;
    uint32_t bytes;
    int how;
    lg_mem_form form;
    lg_alloc *alloc;
    const uint64_t *offsets; // of the lanes in the allocation; NULL: an atomic at `offset`
    uint64_t offset;
} access;

// --- findings

static const lg_code *code_of_site(const lg_sim_module *module, uint32_t site, int *index) {
    for (int f = 0; f < module->ptx->n_functions; f++) {
        const lg_code *code = &module->codes[f];
        for (int i = 0; i < code->n_insns; i++) {
            const lg_insn *insn = &code->insns[i];
            bool has_site = insn->kind >= LG_KIND_ATOMIC && !insn->lane;
            if (has_site && insn->aux[1] == site) {
                *index = (int)insn->index;
                return code;
            }
        }
    }
    return NULL;
}

static void describe_place(const lg_sim_module *module, uint32_t site, char *out, size_t n) {
    int index, line_number, column;
    const char *file;
    const lg_code *code = code_of_site(module, site, &index);
    if (!code) {
        snprintf(out, n, "another place");
    } else if (lg_ptx_caller_source(module->ptx, code->ptx, index, &file, &line_number, &column)) {
        const char *name = strrchr(file, '/');
        snprintf(out, n, "%.60s:%d", name ? name + 1 : file, line_number);
    } else {
        snprintf(out, n, "PTX line %d", code->ptx->insns[index].line);
    }
}

static const char *name_access(int how) {
    bool strong = how & LG_RACE_STRONG;
    return how & LG_RACE_WRITE ? (strong ? "atomic update" : "write") : "read";
}

static void report(const access *a, uint32_t lane, uint64_t offset, const lg_race_use *other) {
    const lg_exec *x = a->x;
    char place[96], who[64], text[320];
    describe_place(x->module, other->site, place, sizeof place);
    if (other->seq == x->race->seq) {
        snprintf(who, sizeof who, "warp %d of the block", other->warp);
    } else {
        uint32_t block[3];
        lg_launch_block(x, other->seq - x->race->base - 1, block);
        snprintf(who, sizeof who, "block [%u,%u,%u]", block[0], block[1], block[2]);
    }
    snprintf(text, sizeof text,
             "race: %s of %u bytes of global memory, and the %s by %s at %s: "
             "nothing orders the two",
             name_access(a->how), a->bytes, name_access(other->how), who, place);
    lg_find_access(a->x, a->insn, (int)lane, "race", LG_SPACE_GLOBAL, a->alloc->base + offset,
                   a->bytes, text);
}

static bool changes(const access *a, uint32_t lane, uint64_t offset) {
    if (!(a->how & LG_RACE_WRITE) || !a->offsets) {
        return true;
    }
    for (uint32_t i = 0; i < a->form.vec; i++) {
        const char *value = a->regs + a->insn->src[1 + i] + lane * a->form.reg_bytes;
        const char *host = a->alloc->host + offset + i * a->form.bytes;
        if (memcmp(host, value, a->form.bytes) != 0) { // little-endian: its low bytes
            return true;
        }
    }
    return false;
}

static uint64_t grains_of(const access *a, uint64_t offset, uint32_t shift) {
    uint32_t n = a->bytes >> shift;
    return ((UINT64_C(1) << n) - 1) << (offset >> shift) % LG_LINE_GRAINS;
}

// The first lane that really meets the other access: one that only writes what is there does not.
static void find_lane(const access *a, uint64_t number, const lg_race_use *other) {
    uint32_t shift = a->alloc->lines->shift;
    for (uint32_t rest = a->active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        uint64_t offset = a->offsets ? a->offsets[lane] : a->offset;
        if (offset >> shift >> 6 == number && grains_of(a, offset, shift) & other->mask &&
            changes(a, lane, offset)) {
            report(a, lane, offset, other);
            return;
        }
    }
}

static bool meets(const lg_exec *x, const lg_race_use *other, const lg_race_use *now) {
    if (!(other->mask & now->mask) || other->seq <= x->race->base ||
        !((other->how | now->how) & LG_RACE_WRITE)) {
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

static void touch(const access *a, uint64_t number, uint64_t mask) {
    const lg_exec *x = a->x;
    lg_race_lines *lines = a->alloc->lines;
    lg_race_line *at = &lines->lines[number];
    const lg_warp *warp = x->warp;
    const lg_race_use now = {mask,
                             x->race->seq,
                             warp->clocks[warp->number],
                             a->insn->aux[1],
                             (uint8_t)warp->number,
                             (uint8_t)a->how};
    if (meets(x, &at->write, &now)) {
        find_lane(a, number, &at->write);
    }
    if (meets(x, &at->read, &now)) {
        find_lane(a, number, &at->read);
    }
    for (uint32_t i = 0; i < at->n; i++) {
        if (meets(x, &at->more[i], &now)) {
            find_lane(a, number, &at->more[i]);
        }
    }
    lg_race_add(lines, at, &now, x->race->base);
}

// False after raising a fault.
static bool prepare_lines(const access *a) {
    uint32_t shift = a->form.bytes >= 4 ? LG_MAX_GRAIN_SHIFT : (uint32_t)a->form.bytes / 2;
    if (!lg_race_need_lines(a->alloc, shift)) {
        lg_raise(a->x, a->insn, __builtin_ctz(a->active), LG_SIM_OUT_OF_MEMORY, "out of memory",
                 "no memory for the race check");
        return false;
    }
    return true;
}

// --- accesses

static bool is_watched(const lg_exec *x, const lg_alloc *alloc) {
    const lg_sim *sim = x->sim;
    return alloc != &sim->shared && alloc != &sim->shared_flat && alloc != &sim->params &&
           alloc != &sim->params_flat && alloc->write_bytes != 0;
}

static void touch_range(const access *a, uint64_t offset, uint64_t bytes) {
    uint32_t shift = a->alloc->lines->shift;
    uint64_t grain = offset >> shift, end = grain + (bytes >> shift);
    while (grain < end) {
        uint64_t first = grain % LG_LINE_GRAINS, n = end - grain;
        n = n < LG_LINE_GRAINS - first ? n : LG_LINE_GRAINS - first;
        touch(a, grain / LG_LINE_GRAINS, (UINT64_MAX >> (LG_LINE_GRAINS - n)) << first);
        grain += n;
    }
}

static void touch_lanes(const access *a) {
    uint32_t shift = a->alloc->lines->shift;
    uint64_t number = UINT64_MAX, mask = 0;
    for (uint32_t rest = a->active; rest; rest &= rest - 1) {
        uint64_t offset = a->offsets[__builtin_ctz(rest)];
        uint64_t at = offset >> shift >> 6;
        if (at != number && mask) {
            touch(a, number, mask);
            mask = 0;
        }
        number = at;
        mask |= grains_of(a, offset, shift);
    }
    touch(a, number, mask);
}

static void touch_all(const access *a) {
    if (!prepare_lines(a)) {
        return;
    }
    uint64_t run = 0, same = 0;
    for (uint64_t lane = 0; lane < LG_LANES; lane++) {
        run |= (a->offsets[lane] - a->offsets[0]) ^ lane * a->bytes;
        same |= a->offsets[lane] ^ a->offsets[0];
    }
    if (a->active == UINT32_MAX && (run == 0 || same == 0)) {
        touch_range(a, a->offsets[0], run == 0 ? (uint64_t)a->bytes * LG_LANES : a->bytes);
    } else {
        touch_lanes(a);
    }
    if (a->how & LG_RACE_STRONG) {
        for (uint32_t rest = a->active; rest; rest &= rest - 1) {
            uint64_t address = a->alloc->base + a->offsets[__builtin_ctz(rest)];
            bool writes = a->how & LG_RACE_WRITE;
            lg_race_strong(a->x, address, !writes, writes);
        }
    }
}

// Notes what the lanes of one allocation do, until all have been looked at. A lane whose access is
// not allowed is left to the access itself.
static void note(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t active, bool write) {
    lg_mem_form form = lg_mem_form_of(insn);
    lg_ptx_space space = (lg_ptx_space)form.space;
    if ((space != LG_SPACE_GLOBAL && space != LG_SPACE_GENERIC) || x->result->has_fault) {
        return;
    }
    uint64_t addresses[LG_LANES] = {0}, offsets[LG_LANES];
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        addresses[lane] = lg_lane_address(regs, insn, form.address_32, lane);
    }
    access a = {.x = x,
                .regs = regs,
                .insn = insn,
                .bytes = (uint32_t)form.bytes * form.vec,
                .how = lg_race_how(insn, write),
                .form = form,
                .alloc = x->sites[insn->aux[1]],
                .offsets = offsets};
    if (write && form.fences) {
        lg_race_fence(x, x->warp);
    }
    while (active) {
        uint64_t first = addresses[__builtin_ctz(active)];
        if (first - a.alloc->base >= a.alloc->bytes) {
            a.alloc = lg_resolve(x, space, first, a.bytes, write);
        }
        uint64_t size = a.alloc ? a.alloc->bytes : 0, base = a.alloc ? a.alloc->base : first;
        a.active = 0;
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            offsets[lane] = addresses[lane] - base;
            bool inside = offsets[lane] < size && size - offsets[lane] >= a.bytes &&
                          offsets[lane] % a.bytes == 0;
            a.active |= (uint32_t)inside << lane;
        }
        a.active &= active;
        if (a.active && is_watched(x, a.alloc)) {
            touch_all(&a);
        }
        active &= ~(a.active | (active & (0 - active)));
        a.alloc = a.alloc ? a.alloc : &x->sim->nothing;
    }
}

void lg_race_atomic(lg_exec *x, const lg_insn *insn, uint32_t lane, lg_alloc *alloc,
                    uint64_t offset) {
    lg_mem_form form = lg_mem_form_of(insn);
    access a = {.x = x,
                .insn = insn,
                .active = UINT32_C(1) << lane,
                .bytes = form.bytes,
                .how = lg_race_how(insn, true),
                .form = form,
                .alloc = alloc,
                .offset = offset};
    if (x->result->has_fault || !is_watched(x, alloc) || !prepare_lines(&a)) {
        return;
    }
    if (form.fences) {
        lg_race_fence(x, x->warp);
    }
    touch_range(&a, offset, form.bytes);
    lg_race_strong(x, alloc->base + offset, true, true);
}

#define NOTED(number, write)                                                                       \
    static bool noted_##number(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {     \
        note(x, regs, insn, active, write);                                                        \
        return x->race->memory->fn[number](x, regs, insn, active);                                 \
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
        {noted_0, noted_1, noted_2, noted_3, noted_4, noted_5, noted_6, noted_7}};
    return &table;
}
