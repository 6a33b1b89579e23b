// SPDX-License-Identifier: Apache-2.0
// Memory that each lane has its own of: local memory and call parameters; and the launch's
// parameters.
#include "engine/sim/exec/internal.h"

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
        char *slot = regs + (lg_is_store(insn) ? insn->src[1 + i] : insn->dst[i]);
        if (form.bytes == 4) {
            memcpy(lg_is_store(insn) ? (char *)row : slot, lg_is_store(insn) ? slot : (char *)row,
                   4 * LG_LANES);
            continue;
        }
        uint64_t *wide = (uint64_t *)(void *)slot;
        for (int lane = 0; lane < LG_LANES && lg_is_store(insn); lane++) {
            row[lane] = (uint32_t)wide[lane];
            row[LG_LANES + lane] = (uint32_t)(wide[lane] >> 32);
        }
        for (int lane = 0; lane < LG_LANES && !lg_is_store(insn); lane++) {
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
                            lg_is_store(insn));
            return false;
        }
    }
    if (active == UINT32_MAX && differ == 0 && move_rows(regs, insn, form, view.rows, first)) {
        return true;
    }
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        for (uint32_t i = 0; i < form.vec && (active >> lane & 1); i++) {
            uint64_t at = offsets[lane] + i * form.bytes;
            if (lg_is_store(insn)) {
                lg_rows_put(view.rows, lane, at, form.bytes,
                            lg_get_reg(regs, insn->src[1 + i], form.reg_bytes, lane));
            } else {
                lg_put_reg(regs, insn->dst[i], form.reg_bytes, lane,
                           lg_extend(lg_rows_get(view.rows, lane, at, form.bytes), form));
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
        value = lg_extend(value, form);
        for (uint32_t lane = 0; lane < LG_LANES; lane++) {
            if (active >> lane & 1) {
                lg_put_reg(regs, insn->dst[i], form.reg_bytes, lane, value);
            }
        }
    }
}
