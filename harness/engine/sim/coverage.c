// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/internal.h"
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

void lg_coverage_begin(lg_sim_module *module, lg_code *code) {
    size_t n = (size_t)code->n_insns;
    if (code->executed || n == 0) {
        return;
    }
    lg_unfuse(code);
    code->executed = lg_arena_array(&module->arena, n, sizeof(uint64_t));
    code->taken = lg_arena_array(&module->arena, n, sizeof(uint64_t));
    code->not_taken = lg_arena_array(&module->arena, n, sizeof(uint64_t));
    code->divergent = lg_arena_array(&module->arena, n, sizeof(uint64_t));
}

void lg_sim_set_coverage(lg_sim_module *module, bool on) {
    module->coverage = on;
    for (int i = 0; i < module->ptx->n_functions && on; i++) {
        lg_coverage_begin(module, &module->codes[i]);
    }
}

static int compare_lines(const void *a, const void *b) {
    const lg_sim_line_count *x = a, *y = b;
    int files = strcmp(x->file, y->file);
    return files ? files : (x->line > y->line) - (x->line < y->line);
}

static bool place_of(const lg_sim_module *module, const lg_code *code, uint32_t index,
                     lg_sim_line_count *row) {
    int column;
    return lg_ptx_source(module->ptx, code->ptx, (int)index, &row->file, &row->line, &column);
}

// One row an instruction. A function that was never launched may not be decoded: its lines count as
// not executed all the same.
static size_t count_insns(const lg_sim_module *module, lg_sim_line_count *rows) {
    size_t n = 0;
    for (int f = 0; f < module->ptx->n_functions; f++) {
        const lg_code *code = &module->codes[f];
        for (int i = 0; i < code->ptx->n_insns && !code->executed; i++) {
            lg_sim_line_count row = {0};
            if (place_of(module, code, (uint32_t)i, &row)) {
                rows[n++] = row;
            }
        }
        for (int i = 0; i < code->n_insns && code->executed; i++) {
            const lg_insn *insn = &code->insns[i];
            lg_sim_line_count row = {.executed = code->executed[i],
                                     .taken = code->taken[i],
                                     .not_taken = code->not_taken[i],
                                     .divergent = code->divergent[i]};
            if (insn->kind != LG_KIND_RECONVERGE && insn->kind != LG_KIND_END &&
                place_of(module, code, insn->index, &row)) {
                rows[n++] = row;
            }
        }
    }
    return n;
}

size_t lg_sim_coverage(const lg_sim_module *module, lg_sim_line_count *out, size_t capacity) {
    size_t n_insns = 0;
    for (int f = 0; f < module->ptx->n_functions; f++) {
        n_insns += (size_t)module->ptx->functions[f].n_insns;
    }
    lg_sim_line_count *rows = lg_xcalloc(n_insns + 1, sizeof *rows);
    size_t n = count_insns(module, rows), n_lines = 0;
    qsort(rows, n, sizeof *rows, compare_lines);
    for (size_t i = 0; i < n; i++) {
        if (n_lines && compare_lines(&rows[n_lines - 1], &rows[i]) == 0) {
            lg_sim_line_count *line = &rows[n_lines - 1];
            line->executed += rows[i].executed;
            line->taken += rows[i].taken;
            line->not_taken += rows[i].not_taken;
            line->divergent += rows[i].divergent;
        } else {
            rows[n_lines++] = rows[i];
        }
    }
    for (size_t i = 0; i < n_lines && i < capacity; i++) {
        out[i] = rows[i];
    }
    free(rows);
    return n_lines;
}
