// SPDX-License-Identifier: Apache-2.0
// Which functions read a register before they write it.
#include "engine/ptx/ptx.h"
#include "engine/sim/decode/liveness.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *name;
    const char *body;
    bool reads;
} rows[] = {
    {"nothing", "ret;", false},
    {"write then read", "mov.u32 %r1, 1;\nadd.s32 %r2, %r1, 1;\nret;", false},
    {"read of its own operand", "add.s32 %r1, %r1, 1;\nret;", true},
    {"a guarded write is none",
     "setp.eq.s32 %p1, 1, 2;\n@%p1 mov.u32 %r1, 1;\nadd.s32 %r2, %r1, 1;\nret;", true},
    {"the guard itself", "@%p1 mov.u32 %r1, 1;\nret;", true},
    {"written on both paths",
     "setp.eq.s32 %p1, 1, 2;\n@%p1 bra L1;\nmov.u32 %r1, 1;\nbra.uni L2;\nL1:\nmov.u32 %r1, "
     "2;\nL2:\n"
     "add.s32 %r2, %r1, 1;\nret;",
     false},
    {"written on one path",
     "setp.eq.s32 %p1, 1, 2;\n@%p1 bra L1;\nmov.u32 %r1, 1;\nL1:\nadd.s32 %r2, %r1, 1;\nret;",
     true},
    {"written late in a loop",
     "mov.u32 %r2, 0;\nL1:\nadd.s32 %r2, %r2, %r1;\nmov.u32 %r1, 1;\nsetp.lt.s32 %p1, %r2, "
     "5;\n@%p1 bra "
     "L1;\nret;",
     true},
    {"written before a loop",
     "mov.u32 %r1, 1;\nmov.u32 %r2, 0;\nL1:\nadd.s32 %r2, %r2, %r1;\nsetp.lt.s32 %p1, %r2, "
     "5;\n@%p1 bra "
     "L1;\nret;",
     false},
    {"stored value", "mov.u64 %rd1, 4096;\nst.global.u32 [%rd1], %r1;\nret;", true},
    {"store address", "mov.u32 %r1, 1;\nst.global.u32 [%rd1], %r1;\nret;", true},
    {"pair of predicates", "setp.lt.s32 %p1|%p2, 1, 2;\nselp.u32 %r1, 1, 2, %p2;\nret;", false},
    {"unpacked elements",
     "mov.u64 %rd1, 7;\nmov.b64 {%r1, %r2}, %rd1;\nadd.s32 %r3, %r1, %r2;\nret;", false},
    {"packed elements", "mov.u32 %r1, 7;\nmov.b64 %rd1, {%r1, %r2};\nret;", true},
};

static void test_rows(void) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = lg_xasprintf(".version 9.0\n.target sm_75\n.address_size 64\n"
                                  ".visible .entry k()\n{\n.reg .pred %%p<4>;\n.reg .b32 %%r<8>;\n"
                                  ".reg .b64 %%rd<4>;\n%s\n}\n",
                                  rows[i].body);
        lg_diags diags = {0};
        lg_ptx_module *module = lg_ptx_load(rows[i].name, text, strlen(text), &diags);
        LG_CHECK_ROW(rows[i].name, module != NULL);
        if (module) {
            LG_CHECK_ROW(rows[i].name,
                         lg_reads_before_write(&module->functions[0]) == rows[i].reads);
            lg_ptx_free(module);
        }
        lg_diags_free(&diags);
        free(text);
    }
}

static const lg_test tests[] = {{"reads before writes", test_rows}};

int main(void) {
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof tests[0]);
}
