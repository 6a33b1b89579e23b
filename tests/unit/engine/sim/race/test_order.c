// SPDX-License-Identifier: Apache-2.0
// What orders two accesses without a barrier: fences and releases, their scopes and spellings.
#include "unit/engine/sim/race/grid.h"

// The last block to count itself reads what block 0 left.
#define LAST "setp.ne.u32 %p2, %r4, 2;\n@%p2 ret;\n"
// A thread of each warp: the last one of a block to do `count` to s reads what the other has left.
#define LAST_WARP(count)                                                                           \
    G ".shared .align 4 .b8 s[4];\n@%p1 st.shared.u32 [s], 0;\nbar.sync 0;\n"                      \
      "and.b32 %r6, %r1, 31;\nsetp.ne.u32 %p3, %r6, 0;\n@%p3 ret;\nst.global.u32 [%rd2], "         \
      "%r3;\n" count "setp.ne.u32 %p2, %r4, 1;\n@%p2 ret;\n"                                       \
      "xor.b32 %r5, %r3, 32;\nmad.wide.u32 %rd5, %r5, 4, %rd1;\n"                                  \
      "ld.global.u32 %r5, [%rd5];\nret;"
// The last block done, where all that orders is `fence` before the counter.
#define LAST_BLOCK(fence)                                                                          \
    G ".shared .align 4 .b8 s[4];\n@%p1 st.global.u32 [%rd3], %r3;\n" fence                        \
      "@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n@!%p1 ret;\n" LAST                                \
      "ld.global.u32 %r5, [%rd1];\nret;"

static const race_row rows[] = {
    {"the last block done",
     G "@%p1 st.global.u32 [%rd3], %r3;\nmembar.gl;\n@%p1 atom.global.inc.u32 %r4, [%rd4], 99;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, false, NULL},
    {"the last block done, by fence.acq_rel",
     G "@%p1 st.global.u32 [%rd3], %r3;\nfence.acq_rel.gpu;\n"
       "@%p1 atom.relaxed.gpu.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, false, NULL},
    {"the last block done, by atom.acq_rel",
     G "@%p1 st.global.u32 [%rd3], %r3;\n"
       "@%p1 atom.acq_rel.gpu.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, false, NULL},
    {"the last block done without a fence",
     G "@%p1 st.global.u32 [%rd3], %r3;\n@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, true, "race: read"},
    {"the last block done, a fence of the block only",
     G "@%p1 st.global.u32 [%rd3], %r3;\nmembar.cta;\n@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, true, "race: read"},
    {"the last block done, a fence of the device", LAST_BLOCK("fence.acq_rel.gpu;\n"), 32, false,
     NULL},
    {"the last block done, a fence of the cluster", LAST_BLOCK("fence.acq_rel.cluster;\n"), 32,
     true, "race: read"},
    {"the last block done, a release of the block",
     LAST_BLOCK("@%p1 atom.release.cta.shared.add.u32 %r4, [s], 1;\n"), 32, true, "race: read"},
    {"the last block done, a release of the block, spelt out",
     LAST_BLOCK("@%p1 atom.release.cta.shared::cta.add.u32 %r4, [s], 1;\n"), 32, true,
     "race: read"},
    {"the last block done, by an atomic of the cluster",
     G "@%p1 st.global.u32 [%rd3], %r3;\n@%p1 atom.acq_rel.cluster.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, true, "race: "},
    {"the last warp done, by a release of the block",
     LAST_WARP("atom.release.cta.shared.add.u32 %r4, [s], 1;\n"), 64, false, NULL},
    {"the last warp done, by a release of the block, spelt out",
     LAST_WARP("atom.release.cta.shared::cta.add.u32 %r4, [s], 1;\n"), 64, false, NULL},
    {"the last warp done, relaxed", LAST_WARP("atom.relaxed.cta.shared.add.u32 %r4, [s], 1;\n"), 64,
     true, "race: read"},
    {"the last warp done, relaxed, spelt out",
     LAST_WARP("atom.relaxed.cta.shared::cta.add.u32 %r4, [s], 1;\n"), 64, true, "race: read"},
    {"the last warp done, by a fence of the block",
     LAST_WARP("fence.acq_rel.cta;\natom.shared.add.u32 %r4, [s], 1;\n"), 64, false, NULL},
    {"the last warp done, without it", LAST_WARP("atom.shared.add.u32 %r4, [s], 1;\n"), 64, true,
     "race: read"},
    {"the last warp done, counted in global memory",
     LAST_WARP(
         "mad.wide.u32 %rd4, %r2, 4, %rd4;\natom.release.cta.global.add.u32 %r4, [%rd4], 1;\n"),
     64, false, NULL},
    {"a write behind the fence",
     G "membar.gl;\n@%p1 st.global.u32 [%rd3], %r3;\n@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, true, "race: read"},
    {"the reader does not look at the counter",
     G "@%p1 st.global.u32 [%rd3], %r3;\nmembar.gl;\n@%p1 red.global.add.u32 [%rd4], 1;\n"
       "@!%p1 ret;\nmov.u32 %r4, %r2;\n" LAST "ld.global.u32 %r5, [%rd1];\nret;",
     32, false, NULL}, // red reads: one cannot tell that nobody looked
    {"every thread fences, a barrier, one thread counts",
     G "st.global.u32 [%rd2], %r3;\nmembar.gl;\nbar.sync 0;\n"
       "@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n@!%p1 ret;\n" LAST
       "ld.global.u32 %r5, [%rd1+128];\nret;",
     64, false, NULL},
    {"a barrier, then one thread fences and counts",
     G "st.global.u32 [%rd2], %r3;\nbar.sync 0;\nmembar.gl;\n"
       "@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n@!%p1 ret;\n" LAST
       "ld.global.u32 %r5, [%rd1+128];\nret;",
     64, false, NULL},
    {"no barrier before one thread counts for all",
     G "st.global.u32 [%rd2], %r3;\nmembar.gl;\n"
       "@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n@!%p1 ret;\n" LAST
       "ld.global.u32 %r5, [%rd1+128];\nret;",
     64, true, "race: read"},
    {"what one word ordered goes on through the next", // block 0 → counter → block 1 → flag → 2
     G "setp.eq.u32 %p3, %r2, 0;\nsetp.eq.u32 %p4, %r2, 1;\nsetp.eq.u32 %p5, %r2, 2;\n"
       "@!%p1 ret;\n@%p3 st.global.u32 [%rd1], 77;\nmembar.gl;\n"
       "@%p3 atom.global.add.u32 %r4, [%rd4], 1;\n@%p4 atom.global.add.u32 %r4, [%rd4], 1;\n"
       "membar.gl;\n@%p4 st.volatile.global.u32 [%rd4+4], 1;\n"
       "@%p5 ld.volatile.global.u32 %r4, [%rd4+4];\n@%p5 ld.global.u32 %r5, [%rd1];\nret;",
     32, false, NULL},
    {"what a fence has ordered of a line, and what it has not",
     G "@%p1 st.global.u32 [%rd2], %r3;\n@%p1 membar.gl;\n"
       "@!%p1 st.global.u32 [%rd2], %r3;\n@%p1 atom.global.add.u32 %r4, [%rd4], 1;\n"
       "@!%p1 ret;\n" LAST "ld.global.u32 %r5, [%rd1+8];\nret;",
     64, true, "and the write by block [0,0,0]"},
    {"releases to more words than are told apart",
     G "st.global.u32 [%rd2], %r3;\nmembar.gl;\nbar.sync 0;\n@!%p1 ret;\nmov.u32 %r6, 0;\n"
       "L: mad.wide.u32 %rd5, %r6, 4, %rd4;\natom.global.add.u32 %r4, [%rd5], 1;\n"
       "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p3, %r6, 12;\n@%p3 bra L;\n" LAST
       "ld.global.u32 %r5, [%rd1+128];\nret;",
     64, false, NULL},
};

static void test_rows(void) {
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_any_order(void) {
    check_any_order(rows, sizeof rows / sizeof *rows);
}

int main(void) {
    static const lg_test tests[] = {
        {"what orders", test_rows},
        {"in any order of blocks", test_any_order},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
