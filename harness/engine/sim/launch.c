// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/exec/exec.h"
#include "engine/sim/internal.h"
#include "engine/sim/race/race.h"
#include "support/alloc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BUDGET UINT64_C(10000000000)

void lg_sim_result_free(lg_sim_result *result) {
    free(result->log);
    lg_arena_free(&result->arena);
    *result = (lg_sim_result){0};
}

static bool refuse(lg_exec *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(lg_exec *x, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *why = lg_xvasprintf(format, args);
    va_end(args);
    lg_raise(x, NULL, 0, LG_SIM_LAUNCH_REFUSED, LG_DEVICE_FAULT_LAUNCH_REFUSED, "%s: %s",
             x->code->ptx ? x->code->ptx->name : "launch", why);
    free(why);
    return false;
}

static bool check_block(lg_exec *x) {
    static const uint32_t block_limits[3] = {1024, 1024, 64};
    static const uint32_t grid_limits[3] = {INT32_MAX, 65535, 65535};
    const lg_sim_launch *launch = x->launch;
    const lg_ptx_function *ptx = x->code->ptx;
    for (int i = 0; i < 3; i++) {
        if (launch->block[i] == 0 || launch->block[i] > block_limits[i]) {
            return refuse(x, "block size %u in dimension %d is not in 1..%u", launch->block[i], i,
                          block_limits[i]);
        }
        if (launch->grid[i] == 0 || launch->grid[i] > grid_limits[i]) {
            return refuse(x, "grid size %u in dimension %d is not in 1..%u", launch->grid[i], i,
                          grid_limits[i]);
        }
        if (ptx->req_threads[0] &&
            launch->block[i] != (ptx->req_threads[i] ? ptx->req_threads[i] : 1)) {
            return refuse(x, "block size %u in dimension %d, the kernel requires %u",
                          launch->block[i], i, ptx->req_threads[i]);
        }
    }
    uint64_t n = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    uint64_t limit = 1024;
    if (ptx->max_threads[0]) {
        uint64_t y = ptx->max_threads[1] ? ptx->max_threads[1] : 1;
        uint64_t z = ptx->max_threads[2] ? ptx->max_threads[2] : 1;
        limit = ptx->max_threads[0] * y * z;
    }
    if (n > limit) {
        return refuse(x, "%llu threads in a block, at most %llu run", (unsigned long long)n,
                      (unsigned long long)limit);
    }
    x->n_threads = (int)n;
    x->n_warps = (int)((n + LG_LANES - 1) / LG_LANES);
    return true;
}

static uint64_t dynamic_align(const lg_ptx_module *ptx) {
    uint64_t align = 16;
    for (int i = 0; i < ptx->n_symbols; i++) {
        const lg_ptx_symbol *symbol = &ptx->symbols[i];
        if (symbol->space == LG_SPACE_SHARED && symbol->is_extern && symbol->align > align) {
            align = symbol->align;
        }
    }
    return align;
}

static bool check_launch(lg_exec *x) {
    const lg_sim_launch *launch = x->launch;
    const lg_code *code = x->code;
    lg_diags diags = {0};
    bool ready = code->ptx->is_entry && lg_module_prepare(x->module, code->function, &diags);
    lg_diags_free(&diags);
    if (!ready) {
        return refuse(x, "it is not a kernel");
    }
    if (x->module->site_checks != launch->checks) {
        lg_module_forget_sites(x->module);
        x->module->site_checks = launch->checks;
    }
    x->mem = (lg_mem_state){x->module->sites, x->module->last, lg_access_slow};
    if (launch->param_bytes != code->ptx->param_bytes) {
        return refuse(x, "%zu bytes of parameters, the kernel takes %llu", launch->param_bytes,
                      (unsigned long long)code->ptx->param_bytes);
    }
    if (!check_block(x)) {
        return false;
    }
    uint64_t limit = launch->shared_limit ? launch->shared_limit : LG_DEFAULT_SHARED_LIMIT;
    limit = limit < LG_MAX_SHARED_LIMIT ? limit : LG_MAX_SHARED_LIMIT;
    uint64_t align = dynamic_align(x->module->ptx);
    x->dynamic_shared = (code->shared_end + align - 1) / align * align;
    x->shared_bytes =
        launch->shared_bytes ? x->dynamic_shared + launch->shared_bytes : code->shared_end;
    uint64_t asked = code->shared_end + launch->shared_bytes;
    if (asked > limit) {
        return refuse(x, "%llu bytes of shared memory, at most %llu", (unsigned long long)asked,
                      (unsigned long long)limit);
    }
    return true;
}

// --- running

static void begin_turn(lg_exec *x) {
    x->turn_end = x->budget;
    if (x->launch->schedule) {
        uint64_t end = x->n + 16 + lg_next_random(x) % 512;
        x->turn_end = end < x->budget ? end : x->budget;
    }
}

static bool start_block(lg_exec *x) {
    if (x->shared_bytes) {
        memset(x->sim->shared.host, LG_MEMORY_POISON, x->shared_bytes);
    }
    lg_barriers_reset(x);
    for (int i = 0; i < x->n_warps; i++) {
        if (!lg_warp_start(x, &x->warps[i])) {
            return false;
        }
    }
    if (x->checks & LG_SIM_CHECK_RACE) {
        lg_race_block(x);
    }
    return true;
}

// Every warp in turn until all have ended; false when the launch is over.
static bool run_block(lg_exec *x) {
    int order[LG_MAX_WARPS] = {0};
    int n_done = 0;
    while (n_done < x->n_warps) {
        bool moved = false;
        lg_order_warps(x, order);
        for (int i = 0; i < x->n_warps; i++) {
            lg_warp *warp = &x->warps[order[i]];
            if (warp->state != LG_WARP_READY) {
                continue;
            }
            moved = true;
            begin_turn(x);
            lg_stop stop = lg_run_warp(x, warp);
            if (stop == LG_STOP_FAULT) {
                return false;
            }
            if (stop == LG_STOP_DONE) {
                warp->state = LG_WARP_DONE;
                n_done++;
                lg_barrier_warp_done(x);
            }
        }
        if (!moved) {
            lg_barrier_deadlock(x);
            return false;
        }
    }
    return true;
}

// Blocks without a loop never look at the budget themselves.
static bool within_budget(lg_exec *x) {
    if (x->n < x->budget) {
        return true;
    }
    lg_raise(x, NULL, 0, LG_SIM_TIMEOUT, LG_DEVICE_FAULT_TIMEOUT,
             "blocks left after %llu warp instructions", (unsigned long long)x->n);
    return false;
}

static bool prepare_memory(lg_exec *x, char **shared) {
    lg_sim *sim = x->sim;
    *shared = x->shared_bytes ? lg_buffer_alloc(x->shared_bytes) : NULL;
    if (!sim->warps) {
        sim->warps = calloc(LG_MAX_WARPS, sizeof(lg_warp));
    }
    bool ok = sim->warps && (*shared || !x->shared_bytes);
    if (!ok) {
        lg_raise(x, NULL, 0, LG_SIM_OUT_OF_MEMORY, LG_DEVICE_FAULT_OUT_OF_MEMORY,
                 "no memory for the launch");
        return false;
    }
    if (x->checks & LG_SIM_CHECK_RACE) {
        lg_race_begin(x);
    }
    x->warps = sim->warps;
    for (int i = 0; i < LG_MAX_WARPS; i++) {
        x->warps[i].number = i;
        memset(x->warps[i].clocks, 0, sizeof x->warps[i].clocks);
        x->warps[i].lane_epoch = 0;
    }
    lg_alloc memory = {.bytes = x->shared_bytes,
                       .write_bytes = x->shared_bytes,
                       .full_bytes = x->shared_bytes,
                       .host = *shared,
                       .live = true};
    sim->shared_flat = sim->shared = memory;
    sim->shared.base = LG_SHARED_WINDOW;
    lg_alloc params = {.bytes = x->launch->param_bytes,
                       .full_bytes = x->launch->param_bytes,
                       .host = (char *)(uintptr_t)x->launch->params, // never written: write_bytes 0
                       .live = true};
    sim->params_flat = sim->params = params;
    sim->params.base = LG_PARAM_WINDOW;
    return true;
}

static void release_memory(lg_exec *x, char *shared) {
    lg_race_end(x);
    lg_alloc none = {0};
    x->sim->shared_flat = x->sim->shared = none;
    x->sim->params_flat = x->sim->params = none;
    free(shared);
}

void lg_sim_launch_kernel(lg_sim *sim, lg_sim_module *module, int function,
                          const lg_sim_launch *launch, lg_sim_result *result) {
    *result = (lg_sim_result){.status = LG_SIM_OK};
    lg_exec x = {.checks = launch->checks,
                 .memory = lg_mem_table_best(),
                 .budget = launch->budget ? launch->budget : DEFAULT_BUDGET,
                 .sim = sim,
                 .module = module,
                 .code = &module->codes[function],
                 .launch = launch,
                 .result = result,
                 .random = launch->schedule};
    char *shared = NULL;
    if (check_launch(&x)) {
        sim->n_launches++;
        if (prepare_memory(&x, &shared)) {
            x.order = lg_order_blocks(&x);
            bool ok = true;
            for (uint64_t i = 0; i < x.order.n && ok; i++) {
                x.warp = NULL;
                lg_launch_block(&x, i, x.block);
                ok = start_block(&x) && run_block(&x) && within_budget(&x);
            }
        }
        release_memory(&x, shared);
    }
    result->warp_instructions = x.n;
    result->lane_instructions = x.lanes;
    result->log = x.log.text ? lg_str_take(&x.log) : lg_xstrdup("");
}
