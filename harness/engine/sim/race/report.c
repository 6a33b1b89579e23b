// SPDX-License-Identifier: Apache-2.0
// What a race is reported as: both accesses, with their places in the source.
#include "engine/sim/race/lanes.h"

#include <string.h>

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

static void find(const lg_race_op *op, uint32_t lane, const char *text) {
    uint64_t offset = lg_race_offset(op, lane);
    bool shared = op->lines->shared;
    lg_sim_fault fault = {.kind = LG_DEVICE_FAULT_RACE,
                          .write = op->how & LG_RACE_WRITE,
                          .space = shared ? LG_SPACE_SHARED : LG_SPACE_GLOBAL,
                          .address = shared ? offset : op->alloc->base + offset,
                          .bytes = op->bytes};
    lg_find(op->x, op->insn, (int)lane, fault, text);
}

void lg_race_report(const lg_race_op *op, uint32_t lane, const lg_race_use *other, int other_lane) {
    const lg_exec *x = op->x;
    char place[96], who[64], text[320];
    describe_place(x->module, other->site, place, sizeof place);
    if (other_lane >= 0) {
        snprintf(who, sizeof who, "lane %d of the warp", other_lane);
    } else if (other->seq == x->race->seq) {
        snprintf(who, sizeof who, "warp %d of the block", other->warp);
    } else {
        uint32_t block[3];
        lg_launch_block(x, other->seq - 1, block);
        snprintf(who, sizeof who, "block [%u,%u,%u]", block[0], block[1], block[2]);
    }
    snprintf(text, sizeof text,
             "race: %s of %u bytes of %s memory, and the %s by %s at %s: "
             "nothing orders the two",
             name_access(op->how), op->bytes, op->lines->shared ? "shared" : "global",
             name_access(other->how), who, place);
    find(op, lane, text);
}

void lg_race_report_conflict(const lg_race_op *op, uint32_t lane) {
    char text[96];
    snprintf(text, sizeof text,
             "race: lanes of one warp write different values to the same %s address",
             op->lines->shared ? "shared" : "global");
    find(op, lane, text);
}
