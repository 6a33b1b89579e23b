// SPDX-License-Identifier: Apache-2.0
// The index checks of kernels that torch.compile makes: the bound, and whose check it is.
#include "unit/explain/helpers.h"

#define COMPILED(function, condition)                                                              \
    "/tmp/torchinductor_u/pi/cpi.py:37: " function                                                 \
    ": block: [2,0,0], thread: [53,0,0] Assertion `index out of bounds: " condition "` failed.\n"
#define LOSS "triton_per_fused__log_softmax_nll_loss_forward_1"
#define CAUSES LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_WRONG_HEAD_WIDTH, 0
#define UNKNOWN LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0

static const log_row rows[] = {
    {"whose it is nobody says", COMPILED("unknown", "0 <= tmp4 < 50257"), UNKNOWN,
     "diagnose --targets labels.npy --head-width 50257", NULL},
    {"neither file nor line",
     "unknown:0: unknown: block: [0,0,0], thread: [162,0,0] Assertion `index out of bounds: 0 <= "
     "tmp4 < 32000` failed.\n",
     UNKNOWN, "the index must be below 32000: so many outputs has the head, if", NULL},
    {"a place with a blank",
     "<frozen importlib._bootstrap_external>:843: _call: block: [45,2,0], thread: [32,0,0] "
     "Assertion `index out of bounds: 0 <= tmp4 < 24` failed.\n",
     UNKNOWN, "--head-width 24\n", NULL},
    {"a broadcast index",
     COMPILED("unknown", "0 <= tl.broadcast_to(tmp10, [XBLOCK, R0_BLOCK]) < 7"), UNKNOWN,
     "--head-width 7\n", NULL},
    {"a loss", COMPILED(LOSS, "0 <= tmp9 < 10"), LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, CAUSES,
     "the index must be below 10: the head has so many outputs", "classes: 10"},
    {"a loss and an embedding", COMPILED("triton_poi_fused_embedding_nll_loss_0", "0 <= tmp9 < 10"),
     UNKNOWN, "made of a loss and of indexing", NULL},
    {"an embedding", COMPILED("triton_poi_fused_embedding_0", "0 <= tmp9 < 10"), LG_LOG_OTHER_FAULT,
     0, 0, 0, -1, 0, 0, 0, "an embedding, indexing, gather or scatter", NULL},
    {"one side", COMPILED(LOSS, "0 <= tmp36"), LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, CAUSES,
     "the label's value, the head width", "faults:"},
    {"the other side", COMPILED(LOSS, "tmp36 < 12"), LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1,
     CAUSES, "below 12", "classes: 12"},
    {"a symbol", COMPILED(LOSS, "0 <= tmp4 < ks0"), LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1,
     CAUSES, "below ks0, a size that the log does not hold", "faults:"},
    {"an expression",
     COMPILED("unknown", "0 <= tmp4 < libdevice.trunc(0.12*(ks0 < 3)).to(tl.int32)"), UNKNOWN,
     "below libdevice.trunc(0.12*(ks0 < 3)).to(tl.int32), a size", NULL},
    {"a sum that begins with a number", COMPILED("unknown", "0 <= tmp4 < 10 + ks0"), UNKNOWN,
     "below 10 + ks0, a size", NULL},
    {"beyond int64", COMPILED("unknown", "0 <= tmp4 < 92233720368547758080"), UNKNOWN,
     "--head-width C\n", NULL},
    {"nothing is below 0", COMPILED("unknown", "0 <= tmp4 < 0"), UNKNOWN, "below 0, a size", NULL},
    {"parted by a newline", COMPILED(LOSS, "0 <= tl.broadcast_to(tmp10,\n    [XBLOCK]) < 50257"),
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, CAUSES,
     "`index out of bounds: 0 <= tl.broadcast_to(tmp10, [XBLOCK]) < 50257`, line 1", "50257"},
    {"a flood of parted ones",
     COMPILED(LOSS, "0 <=\r\n tmp9\r\n < 10") COMPILED(LOSS, "0 <=\r\n tmp9\r\n < 10")
         COMPILED(LOSS, "0 <= tmp9 < 10"),
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 3, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "3 times, first in line 1", "classes: 11"},
    {"parted too often", COMPILED("unknown", "0 <=\n\n\n\n tmp9 < 10"), UNKNOWN, "--head-width C\n",
     NULL},
    {"the next line is another's",
     "k.py:1: unknown: block: [0,0,0], thread: [1,0,0] Assertion `index out of bounds: 0 <= tmp4 < "
     "1\n" COMPILED("unknown", "0 <= tmp4 < 12"),
     UNKNOWN, "--head-width C\n", NULL},
    {"cut within the bound",
     "k.py:1: " LOSS
     ": block: [0,0,0], thread: [1,0,0] Assertion `index out of bounds: 0 <= tmp4 < "
     "502",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, CAUSES, "the head width", "faults:"},
    {"on the CPU, with a frame",
     "    cpp_fused__log_softmax_nll_loss_forward_0(arg0_1, arg1_1, buf3)\n"
     "RuntimeError: index out of bounds: 0 <= tmp10 < 250048L\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0, "below 250048",
     "classes: 250049"},
    {"on the CPU, dynamic",
     "    cpp_fused__log_softmax_nll_loss_forward_0(arg0_1, arg1_1, buf3)\n"
     "RuntimeError: index out of bounds: 0 <= tmp10 < ks0\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0, "the head width",
     "faults:"},
    {"on the CPU, another kernel's frame",
     "    cpp_fused_embedding_0(arg0_1, arg1_1, buf3)\n"
     "RuntimeError: index out of bounds: 0 <= tmp10 < 250048L\n",
     UNKNOWN, "--head-width 250048\n", NULL},
    {"the source of a kernel",
     "tl.device_assert((0 <= tmp7), \"index out of bounds: 0 <= tmp7 < 5\")\n", LG_LOG_QUIET, 0, 0,
     0, -1, 0, 0, 0, "no loss fault", NULL},
};

static void test_logs(void) {
    check_logs(rows, sizeof rows / sizeof *rows);
}

int main(void) {
    static const lg_test tests[] = {{"logs", test_logs}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
