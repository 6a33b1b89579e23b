// SPDX-License-Identifier: Apache-2.0
// Loads and stores, lane by lane, with every check and finding; the vector code comes
// here for all it does not do itself.
#include "engine/sim/exec/internal.h"

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
    bool write = lg_is_store(insn);
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        uint64_t address = lg_lane_address(regs, insn, form.address_32, lane);
        bool ok = address % bytes == 0;
        target *to = &targets[lane];
        if (lg_in_local_window(space, address)) {
            *to = (target){NULL, address - LG_LOCAL_WINDOW};
            ok = ok && lg_in_local(x->warp, to->offset, bytes);
        } else {
            to->alloc = ok ? lg_resolve(x->sim, space, address, bytes, write) : NULL;
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
    if (!alloc || is_shared(x, alloc)) {
        return;
    }
    if (write) {
        lg_memory_mark_written(alloc, to->offset, bytes);
    } else if (x->checks & LG_SIM_CHECK_INIT && !lg_memory_is_written(alloc, to->offset, bytes)) {
        lg_sim_fault fault = {.kind = LG_DEVICE_FAULT_UNINITIALISED,
                              .address = alloc->base + to->offset,
                              .bytes = bytes,
                              .space = (lg_ptx_space)form.space};
        lg_find(x, insn, (int)lane, fault, "read of global memory that was never written");
    }
}

static void store_lane(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t lane,
                       const target *to) {
    lg_mem_form form = lg_mem_form_of(insn);
    uint64_t values[4] = {0};
    char packed[32];
    for (uint32_t i = 0; i < form.vec; i++) {
        values[i] = lg_get_reg(regs, insn->src[1 + i], form.reg_bytes, lane);
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
        lg_put_reg(regs, insn->dst[i], form.reg_bytes, lane, lg_extend(value, form));
    }
}

// What this instruction used is what it will most likely use next: the fast path looks there.
// Memory whose accesses a sanitizer must see is never remembered, so that they all come here.
static void remember_site(lg_exec *x, const lg_insn *insn, lg_alloc *alloc) {
    if (!alloc || (x->checks & LG_SIM_CHECK_INIT && !is_shared(x, alloc))) {
        return;
    }
    x->mem.sites[insn->aux[1]] = alloc;
    if (lg_is_store(insn)) {
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
    lg_alloc *alloc = lg_resolve(x->sim, (lg_ptx_space)form.space, address, bytes, false);
    if (!alloc || address % bytes != 0 || lg_in_local_window((lg_ptx_space)form.space, address)) {
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
        value = lg_extend(value, form);
        for (uint32_t rest = active; rest; rest &= rest - 1) {
            lg_put_reg(regs, insn->dst[i], form.reg_bytes, (uint32_t)__builtin_ctz(rest), value);
        }
    }
    return true;
}

bool lg_access_slow(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active) {
    lg_exec *x = lg_exec_of(m);
    target targets[LG_LANES] = {0};
    bool write = lg_is_store(insn);
    if (!write && load_uniform(x, regs, insn, active)) {
        return true;
    }
    if (!find_targets(x, regs, insn, active, targets)) {
        return false;
    }
    lg_alloc *first = targets[__builtin_ctz(active)].alloc;
    remember_site(x, insn, first);
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
