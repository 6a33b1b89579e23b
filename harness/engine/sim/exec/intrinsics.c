// SPDX-License-Identifier: Apache-2.0
// The device library functions that the engine provides: __assertfail and vprintf.

#include "engine/sim/exec/internal.h"
#include <inttypes.h>
#include <string.h>

static uint64_t arg_of(const lg_exec *x, const char *regs, const lg_call_arg *arg, uint32_t lane) {
    const lg_code *code = x->warp->frames[x->warp->depth].code;
    uint64_t value = 0;
    if (arg->is_register) {
        memcpy(&value, regs + arg->from + lane * arg->reg_bytes, arg->reg_bytes);
        return value;
    }
    const uint32_t *rows = (const uint32_t *)(const void *)(regs + code->rows);
    return lg_rows_get(rows, lane, arg->from - code->rows_base, arg->bytes > 4 ? 8 : 4);
}

static const lg_call *call_of(const lg_exec *x, const lg_insn *insn) {
    return &x->warp->frames[x->warp->depth].code->calls[insn->imm];
}

static void add_log(lg_exec *x, const char *text) {
    size_t n = strlen(text);
    if (x->log_full) {
        return;
    }
    if (x->log.n + n > LG_MAX_LOG_BYTES) {
        lg_str_add(&x->log, "\n(what was printed after this was dropped)\n");
        x->log_full = true;
        return;
    }
    lg_str_add_n(&x->log, text, n);
}

bool lg_read_string(lg_exec *x, const lg_insn *insn, int lane, uint64_t address, lg_str *out) {
    for (uint32_t i = 0; i < LG_MAX_STRING; i++) {
        char c;
        if (!lg_read_generic(x, lane, address + i, &c, 1)) {
            lg_raise_access(x, insn, lane, LG_SPACE_GENERIC, address + i, 1, false);
            return false;
        }
        if (c == '\0') {
            break;
        }
        lg_str_add_n(out, &c, 1);
    }
    return true;
}

static bool assert_line(lg_exec *x, const char *regs, const lg_insn *insn, uint32_t lane) {
    const lg_call *call = call_of(x, insn);
    lg_str expression = {0}, file = {0}, function = {0}, line = {0};
    bool ok =
        lg_read_string(x, insn, (int)lane, arg_of(x, regs, &call->args[0], lane), &expression) &&
        lg_read_string(x, insn, (int)lane, arg_of(x, regs, &call->args[1], lane), &file) &&
        lg_read_string(x, insn, (int)lane, arg_of(x, regs, &call->args[3], lane), &function);
    if (ok) {
        const uint32_t *size = x->launch->block;
        uint32_t thread = (uint32_t)x->warp->number * LG_LANES + lane;
        lg_str_printf(&line,
                      "%s:%" PRIu32 ": %s: block: [%" PRIu32 ",%" PRIu32 ",%" PRIu32
                      "], thread: [%" PRIu32 ",%" PRIu32 ",%" PRIu32 "] Assertion `%s` failed.\n",
                      lg_str_text(&file), (uint32_t)arg_of(x, regs, &call->args[2], lane),
                      lg_str_text(&function), x->block[0], x->block[1], x->block[2],
                      thread % size[0], thread / size[0] % size[1], thread / size[0] / size[1],
                      lg_str_text(&expression));
        add_log(x, lg_str_text(&line));
        lg_raise(x, insn, (int)lane, LG_SIM_ASSERT, LG_DEVICE_FAULT_ASSERT, "assertion `%s` failed",
                 lg_str_text(&expression));
    }
    lg_str_free(&expression);
    lg_str_free(&file);
    lg_str_free(&function);
    lg_str_free(&line);
    return ok;
}

bool lg_assert_fail(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    for (uint32_t lane = 0; lane < LG_LANES; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        if (!assert_line(x, regs, insn, lane)) {
            return false;
        }
        if (++x->n_asserts >= LG_MAX_ASSERT_LINES) {
            return false;
        }
    }
    x->warp->live = 0;
    x->warp->mask = 0;
    if (x->budget - x->n > LG_BUDGET_AFTER_ASSERT) { // the others may spin for what will not come
        x->budget = x->n + LG_BUDGET_AFTER_ASSERT;
        x->turn_end = x->turn_end < x->budget ? x->turn_end : x->budget;
    }
    return true;
}

static void put_result(lg_exec *x, char *regs, const lg_insn *insn, uint32_t lane, int result) {
    const lg_call *call = call_of(x, insn);
    const lg_code *code = x->warp->frames[x->warp->depth].code;
    if (call->n_returns == 0) {
        return;
    }
    const lg_call_arg *to = &call->returns[0];
    uint64_t value = (uint32_t)result;
    if (to->is_register) {
        memcpy(regs + to->from + lane * to->reg_bytes, &value, to->reg_bytes);
    } else {
        lg_rows_put((uint32_t *)(void *)(regs + code->rows), lane, to->from - code->rows_base, 4,
                    value);
    }
}

bool lg_vprintf(lg_exec *x, char *regs, const lg_insn *insn, uint32_t active) {
    const lg_call *call = call_of(x, insn);
    lg_str text = {0};
    bool ok = true;
    for (uint32_t lane = 0; lane < LG_LANES && ok; lane++) {
        if (!(active >> lane & 1)) {
            continue;
        }
        lg_str_clear(&text);
        int n = lg_format_printf(x, insn, (int)lane, arg_of(x, regs, &call->args[0], lane),
                                 arg_of(x, regs, &call->args[1], lane), &text);
        ok = n >= 0;
        if (ok) {
            add_log(x, lg_str_text(&text));
            put_result(x, regs, insn, lane, n);
        }
    }
    lg_str_free(&text);
    return ok;
}
