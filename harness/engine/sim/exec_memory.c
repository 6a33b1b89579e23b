// SPDX-License-Identifier: Apache-2.0
// Loads and stores, lane by lane, with every check and finding; the vector code of mem.inc comes
// here for all it does not do itself. And memory that each lane has its own of: local memory, call
// parameters.
#include "engine/sim/race.h"
#include "engine/sim/rows.h"

#include <string.h>

static bool is_store(const lg_insn *insn) {
    return insn->kind >= LG_KIND_ST_2 || insn->kind == LG_KIND_ST_ROWS;
}

uint64_t lg_lane_address(const char *regs, const lg_insn *insn, bool address_32, uint32_t lane) {
    if (address_32) {
        uint32_t low;
        memcpy(&low, regs + insn->src[0] + lane * 4, sizeof low);
        return (uint32_t)(low + (uint32_t)insn->imm);
    }
    uint64_t address;
    memcpy(&address, regs + insn->src[0] + lane * 8, sizeof address);
    return address + insn->imm;
}

static lg_alloc *holds(lg_alloc *alloc, uint64_t address, uint32_t bytes, bool write) {
    uint64_t size = write ? alloc->write_bytes : alloc->bytes;
    uint64_t offset = address - alloc->base;
    return offset <= size && bytes <= size - offset ? alloc : NULL;
}

lg_alloc *lg_resolve(lg_exec *x, lg_ptx_space space, uint64_t address, uint32_t bytes, bool write) {
    lg_sim *sim = x->sim;
    lg_alloc *alloc = NULL;
    switch (space) {
    case LG_SPACE_SHARED:
        return holds(&sim->shared_flat, address, bytes, write);
    case LG_SPACE_PARAM:
        return holds(&sim->params_flat, address, bytes, write);
    case LG_SPACE_LOCAL:
        return NULL;
    case LG_SPACE_GENERIC:
        if (address - LG_SHARED_WINDOW < LG_WINDOW_BYTES) {
            return holds(&sim->shared, address, bytes, write);
        }
        if (address - LG_PARAM_WINDOW < LG_WINDOW_BYTES) {
            return holds(&sim->params, address, bytes, write);
        }
        break;
    case LG_SPACE_GLOBAL:
    case LG_SPACE_CONST:
        break;
    }
    alloc = lg_memory_find(sim, address);
    return alloc ? holds(alloc, address, bytes, write) : NULL;
}

static bool in_local_window(lg_ptx_space space, uint64_t address) {
    return space == LG_SPACE_GENERIC && address - LG_LOCAL_WINDOW < LG_WINDOW_BYTES;
}

static bool in_local(const lg_warp *warp, uint64_t offset, uint32_t bytes) {
    return offset <= warp->local_top && bytes <= warp->local_top - offset;
}

static uint64_t extend(uint64_t value, lg_mem_form form) {
    if (form.sign && form.bytes < 8) {
        int shift = 64 - 8 * form.bytes;
        return (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static void put_reg(char *regs, uint32_t slot, uint8_t bytes, uint32_t lane, uint64_t value) {
    memcpy(regs + slot + lane * bytes, &value, bytes);
}

static uint64_t get_reg(const char *regs, uint32_t slot, uint8_t bytes, uint32_t lane) {
    uint64_t value = 0;
    memcpy(&value, regs + slot + lane * bytes, bytes);
    return value;
}

// Where one lane's access goes.
typedef struct target {
    lg_alloc *alloc; // NULL: the lane's local memory
    uint64_t offset;
} target;

static bool find_targets(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t active,
                         target *targets) {
    lg_mem_form form = lg_mem_form_of(insn);
    lg_ptx_space space = (lg_ptx_space)form.space;
    uint32_t bytes = (uint32_t)form.bytes * form.vec;
    bool write = is_store(insn);
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        uint64_t address = lg_lane_address(regs, insn, form.address_32, lane);
        bool ok = address % bytes == 0;
        target *to = &targets[lane];
        if (in_local_window(space, address)) {
            *to = (target){NULL, address - LG_LOCAL_WINDOW};
            ok = ok && in_local(x->warp, to->offset, bytes);
        } else {
            to->alloc = ok ? lg_resolve(x, space, address, bytes, write) : NULL;
            ok = to->alloc != NULL;
            to->offset = ok ? address - to->alloc->base : 0;
        }
        if (!ok) {
            lg_raise_access(x, insn, (int)lane, space, address, bytes, write);
            return false;
        }
    }
    return true;
}

// Lanes of one instruction that store different values to one place: which stays is not defined.
static void find_conflict(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t active,
                          const target *targets) {
    lg_mem_form form = lg_mem_form_of(insn);
    for (uint32_t lane = 1; lane < LG_LANES; lane++) {
        for (uint32_t other = 0; other < lane; other++) {
            if (!(active >> lane & 1) || !(active >> other & 1) ||
                targets[lane].offset != targets[other].offset) {
                continue;
            }
            for (uint32_t i = 0; i < form.vec; i++) {
                uint64_t a = get_reg(regs, insn->src[1 + i], form.bytes, lane);
                uint64_t b = get_reg(regs, insn->src[1 + i], form.bytes, other);
                if (a != b) {
                    lg_find_access(x, insn, (int)lane, "race", LG_SPACE_SHARED,
                                   targets[lane].offset, form.bytes,
                                   "race: lanes of one warp write different values to the same "
                                   "shared address");
                    return;
                }
            }
        }
    }
}

static bool is_shared(const lg_exec *x, const lg_alloc *alloc) {
    return alloc == &x->sim->shared || alloc == &x->sim->shared_flat;
}

// `value`: the bytes of a write, NULL for a read.
static void check_lane(lg_exec *x, const lg_insn *insn, uint32_t lane, const target *to,
                       const char *value) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint32_t bytes = (uint32_t)form.bytes * form.vec;
    bool write = value != NULL;
    lg_alloc *alloc = to->alloc;
    if (!alloc) {
        return;
    }
    if (is_shared(x, alloc)) {
        if (x->checks & LG_SIM_CHECK_RACE) {
            bool same = value && memcmp(alloc->host + to->offset, value, bytes) == 0;
            lg_race_access(x, insn, (int)lane, to->offset, bytes, lg_race_how(insn, write), same);
        }
        return;
    }
    if (write) {
        lg_memory_mark_written(alloc, to->offset, bytes);
    } else if (x->checks & LG_SIM_CHECK_INIT && !lg_memory_is_written(alloc, to->offset, bytes)) {
        lg_find_access(x, insn, (int)lane, "uninitialised read", (lg_ptx_space)form.space,
                       alloc->base + to->offset, bytes,
                       "read of global memory that was never written");
    }
}

static void store_lane(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t lane,
                       const target *to) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint64_t values[4] = {0};
    char packed[32];
    for (uint32_t i = 0; i < form.vec; i++) {
        values[i] = get_reg(regs, insn->src[1 + i], form.reg_bytes, lane);
        memcpy(packed + i * form.bytes, &values[i], form.bytes);
    }
    if (x->checks) {
        check_lane(x, insn, lane, to, packed);
    }
    if (to->alloc) {
        memcpy(to->alloc->host + to->offset, packed, (size_t)form.bytes * form.vec);
        return;
    }
    for (uint32_t i = 0; i < form.vec; i++) {
        lg_rows_put(x->warp->local, lane, to->offset + i * form.bytes, form.bytes, values[i]);
    }
}

static void load_lane(lg_exec *x, char *regs, const lg_insn *insn, uint32_t lane,
                      const target *from) {
    lg_mem_form form = lg_mem_form_of(insn);
    if (x->checks) {
        check_lane(x, insn, lane, from, NULL);
    }
    for (uint32_t i = 0; i < form.vec; i++) {
        uint64_t value = 0, offset = from->offset + i * form.bytes;
        if (from->alloc) {
            memcpy(&value, from->alloc->host + offset, form.bytes);
        } else {
            value = lg_rows_get(x->warp->local, lane, offset, form.bytes);
        }
        put_reg(regs, insn->dst[i], form.reg_bytes, lane, extend(value, form));
    }
}

// What this instruction used is what it will most likely use next: the fast path looks there.
// Memory whose accesses a sanitizer must see is never remembered, so that they all come here.
static void remember_site(lg_exec *x, const lg_insn *insn, lg_alloc *alloc) {
    unsigned watched = alloc && is_shared(x, alloc) ? LG_SIM_CHECK_RACE : LG_SIM_CHECK_INIT;
    if (!alloc || x->checks & watched) {
        return;
    }
    x->sites[insn->aux[1]] = alloc;
    if (is_store(insn)) {
        alloc->all_written = true; // stores of the fast path leave no trace
    }
}

// All lanes read one place, as they do what a block left for everybody: one check, one read. false:
// it is not so, or not allowed, and nothing was done.
static bool load_uniform(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint32_t first = (uint32_t)__builtin_ctz(active);
    uint64_t address = lg_lane_address(regs, insn, form.address_32, first);
    for (uint32_t rest = active & (active - 1); rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        if (lg_lane_address(regs, insn, form.address_32, lane) != address) {
            return false;
        }
    }
    uint32_t bytes = (uint32_t)form.bytes * form.vec;
    lg_alloc *alloc = lg_resolve(x, (lg_ptx_space)form.space, address, bytes, false);
    if (!alloc || address % bytes != 0 || in_local_window((lg_ptx_space)form.space, address)) {
        return false;
    }
    target from = {alloc, address - alloc->base};
    remember_site(x, insn, alloc);
    if (x->checks) {
        check_lane(x, insn, first, &from, NULL);
        check_lane(x, insn, 31 - (uint32_t)__builtin_clz(active), &from, NULL); // not one lane only
    }
    for (uint32_t i = 0; i < form.vec; i++) {
        uint64_t value = 0;
        memcpy(&value, alloc->host + from.offset + i * form.bytes, form.bytes);
        value = extend(value, form);
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            put_reg(regs, insn->dst[i], form.reg_bytes, (uint32_t)__builtin_ctz(rest), value);
        }
    }
    return true;
}

bool lg_access_slow(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    target targets[LG_LANES] = {0};
    bool write = is_store(insn);
    if (!write && load_uniform(x, regs, insn, active)) {
        return true;
    }
    if (!find_targets(x, regs, insn, active, targets)) {
        return false;
    }
    lg_alloc *first = targets[__builtin_ctz(active)].alloc;
    remember_site(x, insn, first);
    if (write && x->checks & LG_SIM_CHECK_RACE && first && is_shared(x, first)) {
        find_conflict(x, regs, insn, active, targets);
    }
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        if (write) {
            if (targets[lane].alloc && !(x->checks & LG_SIM_CHECK_INIT)) {
                targets[lane].alloc->all_written = true;
            }
            store_lane(x, regs, insn, lane, &targets[lane]);
        } else {
            load_lane(x, regs, insn, lane, &targets[lane]);
        }
    }
    return true;
}

// --- rows

typedef struct rows_view {
    uint32_t *rows;
    uint64_t base;  // address of the first row
    uint64_t bytes; // a lane
} rows_view;

static rows_view view_of(const lg_exec *x, char *regs, lg_ptx_space space) {
    const lg_warp *warp = x->warp;
    if (space == LG_SPACE_LOCAL) {
        return (rows_view){warp->local, 0, warp->local_top};
    }
    const lg_code *code = warp->frames[warp->depth].code;
    return (rows_view){(uint32_t *)(void *)(regs + code->rows), code->rows_base,
                       (uint64_t)code->n_rows * 4};
}

// All 32 lanes at one offset: whole rows.
static bool move_rows(char *regs, const lg_insn *insn, lg_mem_form form, uint32_t *rows,
                      uint64_t offset) {
    if (form.bytes != form.reg_bytes || form.bytes < 4) {
        return false;
    }
    for (uint32_t i = 0; i < form.vec; i++, offset += form.bytes) {
        uint32_t *row = rows + offset / 4 * LG_LANES;
        char *slot = regs + (is_store(insn) ? insn->src[1 + i] : insn->dst[i]);
        if (form.bytes == 4) {
            memcpy(is_store(insn) ? (char *)row : slot, is_store(insn) ? slot : (char *)row,
                   4 * LG_LANES);
            continue;
        }
        uint64_t *wide = (uint64_t *)(void *)slot;
        for (int lane = 0; lane < LG_LANES && is_store(insn); lane++) {
            row[lane] = (uint32_t)wide[lane];
            row[LG_LANES + lane] = (uint32_t)(wide[lane] >> 32);
        }
        for (int lane = 0; lane < LG_LANES && !is_store(insn); lane++) {
            wide[lane] = row[lane] | (uint64_t)row[LG_LANES + lane] << 32;
        }
    }
    return true;
}

bool lg_rows_access(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    lg_mem_form form = lg_mem_form_of(insn);
    rows_view view = view_of(x, regs, (lg_ptx_space)form.space);
    uint32_t bytes = (uint32_t)form.bytes * form.vec;
    uint64_t offsets[LG_LANES] = {0}, first = 0, differ = 0;
    first = insn->aux[2] ? insn->imm - view.base : 0;
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        uint64_t address =
            insn->aux[2] ? insn->imm : lg_lane_address(regs, insn, form.address_32, lane);
        offsets[lane] = address - view.base;
        first = lane == (uint32_t)__builtin_ctz(active) ? offsets[lane] : first;
        differ |= offsets[lane] ^ first;
        if (offsets[lane] > view.bytes || bytes > view.bytes - offsets[lane] ||
            address % bytes != 0) {
            lg_raise_access(x, insn, (int)lane, (lg_ptx_space)form.space, address, bytes,
                            is_store(insn));
            return false;
        }
    }
    if (active == UINT32_MAX && differ == 0 && move_rows(regs, insn, form, view.rows, first)) {
        return true;
    }
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        for (uint32_t i = 0; i < form.vec && (active >> lane & 1); i++) {
            uint64_t at = offsets[lane] + i * form.bytes;
            if (is_store(insn)) {
                lg_rows_put(view.rows, lane, at, form.bytes,
                            get_reg(regs, insn->src[1 + i], form.reg_bytes, lane));
            } else {
                put_reg(regs, insn->dst[i], form.reg_bytes, lane,
                        extend(lg_rows_get(view.rows, lane, at, form.bytes), form));
            }
        }
    }
    return true;
}

void lg_load_param(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    lg_mem_form form = lg_mem_form_of(insn);
    for (uint32_t i = 0; i < form.vec; i++) {
        uint64_t value = 0;
        memcpy(&value, (const char *)x->launch->params + insn->imm + i * form.bytes, form.bytes);
        value = extend(value, form);
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            if (active >> lane & 1) {
                put_reg(regs, insn->dst[i], form.reg_bytes, lane, value);
            }
        }
    }
}

void lg_isspacep(char *regs, const lg_insn *insn, uint32_t active) {
    uint32_t result;
    memcpy(&result, regs + insn->dst[0], sizeof result);
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        uint64_t address = get_reg(regs, insn->src[0], 8, lane);
        bool shared = address - LG_SHARED_WINDOW < LG_WINDOW_BYTES;
        bool local = address - LG_LOCAL_WINDOW < LG_WINDOW_BYTES;
        bool param = address - LG_PARAM_WINDOW < LG_WINDOW_BYTES;
        bool is = insn->aux[0] == LG_SPACE_SHARED  ? shared
                  : insn->aux[0] == LG_SPACE_LOCAL ? local
                  : insn->aux[0] == LG_SPACE_PARAM ? param
                                                   : !shared && !local && !param;
        if (active >> lane & 1) {
            result = (result & ~(UINT32_C(1) << lane)) | (uint32_t)is << lane;
        }
    }
    memcpy(regs + insn->dst[0], &result, sizeof result);
}

bool lg_read_generic(lg_exec *x, int lane, uint64_t address, void *to, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) {
        uint64_t at = address + i;
        char *out = (char *)to + i;
        if (in_local_window(LG_SPACE_GENERIC, at)) {
            if (!in_local(x->warp, at - LG_LOCAL_WINDOW, 1)) {
                return false;
            }
            *out = (char)lg_rows_get(x->warp->local, (uint32_t)lane, at - LG_LOCAL_WINDOW, 1);
            continue;
        }
        const lg_alloc *alloc = lg_resolve(x, LG_SPACE_GENERIC, at, 1, false);
        if (!alloc) {
            return false;
        }
        *out = alloc->host[at - alloc->base];
    }
    return true;
}
