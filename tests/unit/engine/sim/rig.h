// SPDX-License-Identifier: Apache-2.0
// A device with one module, for tests that run PTX text or a .cu file through the engine.
#ifndef LG_TESTS_ENGINE_SIM_RIG_H
#define LG_TESTS_ENGINE_SIM_RIG_H

#include "engine/ptx/ptx.h"
#include "engine/sim/sim.h"
#include "support/str.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct rig {
    lg_sim *sim;
    lg_ptx_module *ptx;
    lg_sim_module *module;
    lg_diags diags;
} rig;

#define PTX_HEADER ".version 9.0\n.target sm_75\n.address_size 64\n"

// Loads `text`; a failure is printed and leaves module NULL.
static inline rig rig_load(const char *text) {
    rig r = {.sim = lg_sim_create()};
    r.ptx = lg_ptx_load("test.ptx", text, strlen(text), &r.diags);
    if (r.ptx) {
        r.module = lg_sim_load(r.sim, r.ptx, &r.diags);
    }
    return r;
}

static inline rig rig_open(const char *text) {
    rig r = rig_load(text);
    if (!r.module) {
        lg_diags_print(&r.diags, stderr);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(r.module);
    return r;
}

// An entry `k` with the given parameters and body, the registers every test may use declared.
static inline rig rig_kernel(const char *globals, const char *params, const char *body) {
    lg_str text = {0};
    lg_str_printf(&text,
                  PTX_HEADER
                  "%s\n.visible .entry k(%s)\n{\n"
                  ".reg .pred %%p<20>;\n.reg .b16 %%h<20>;\n.reg .b32 %%r<40>;\n"
                  ".reg .f32 %%f<20>;\n.reg .b64 %%rd<40>;\n.reg .f64 %%fd<20>;\n%s\n}\n",
                  globals, params, body);
    rig r = rig_open(lg_str_text(&text));
    lg_str_free(&text);
    return r;
}

static inline void rig_close(rig *r) {
    if (r->module) {
        lg_sim_unload(r->sim, r->module);
    }
    lg_ptx_free(r->ptx);
    lg_sim_destroy(r->sim);
    lg_diags_free(&r->diags);
}

static inline lg_sim_launch rig_launch(uint32_t grid, uint32_t block, const void *params,
                                       size_t param_bytes) {
    return (lg_sim_launch){
        .grid = {grid, 1, 1}, .block = {block, 1, 1}, .params = params, .param_bytes = param_bytes};
}

static inline lg_sim_result rig_run(rig *r, const char *name, const lg_sim_launch *launch) {
    lg_sim_result result;
    int function = lg_ptx_find_function(r->ptx, name);
    CU_ASSERT_FATAL(function >= 0);
    lg_sim_launch_kernel(r->sim, r->module, function, launch, &result);
    return result;
}

// Runs `k` and expects it to end well.
static inline void rig_ok(rig *r, const lg_sim_launch *launch) {
    lg_sim_result result = rig_run(r, "k", launch);
    if (result.status != LG_SIM_OK) {
        fprintf(stderr, "\n    %s\n", result.fault.text);
    }
    CU_ASSERT_EQUAL(result.status, LG_SIM_OK);
    CU_ASSERT_FALSE(result.has_fault);
    lg_sim_result_free(&result);
}

static inline uint64_t rig_buffer(rig *r, const void *from, size_t bytes) {
    uint64_t address = lg_sim_alloc(r->sim, bytes);
    CU_ASSERT_FATAL(address != 0);
    if (from) {
        CU_ASSERT_TRUE(lg_sim_write(r->sim, address, from, bytes));
    } else {
        uint8_t zero = 0;
        CU_ASSERT_TRUE(lg_sim_fill(r->sim, address, &zero, 1, bytes));
    }
    return address;
}

static inline void rig_read(rig *r, uint64_t address, void *to, size_t bytes) {
    memset(to, 0xee, bytes);
    CU_ASSERT_TRUE(lg_sim_read(r->sim, address, to, bytes));
}

// Compiles CUDA source to PTX with the build's nvcc and opens it.
static inline rig rig_compile(const char *source) {
    char dir[] = "/tmp/lossgate-test-XXXXXX", path[64], command[512];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/k.cu", dir);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(source, file);
    fclose(file);
    snprintf(command, sizeof command,
             "%s -ptx -arch=compute_75 -lineinfo -std=c++17 -o %s/k.ptx %s", LG_DEFAULT_NVCC, dir,
             path);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/k.ptx", dir);
    size_t n;
    char *text = lg_read_file(path, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    unlink(path);
    rmdir(dir);
    rig r = rig_open(text);
    free(text);
    return r;
}

#endif
