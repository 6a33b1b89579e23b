// SPDX-License-Identifier: Apache-2.0
// What is made of the asserts of devices, of records, sanitizers and aftermath, with decoys among
// them.
#include "unit/explain/helpers.h"

static const log_row rows[] = {
    {"empty", "", LG_LOG_EMPTY, 0, 0, 0, -1, 0, 0, 0, "is empty: it proves nothing", NULL},
    {"a clean run", "epoch 1 loss 0.3\nepoch 2 loss 0.2", LG_LOG_QUIET, 0, 0, 0, -1, 0, 0, 0,
     "2 lines, none speaks of one", NULL},
    {"linux, one line", "epoch 1\n" REDUCE "[5,0,0]" LABEL AFTERMATH, LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, LG_CAUSE_WRONG_HEAD_WIDTH, 0,
     "rows 5, 37, 69 …", "rows: [5]"},
    {"the rest of its text", REDUCE "[5,0,0]" LABEL AFTERMATH, LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1,
     1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "unknown   the label's value, the head width, which row it is", "reduction: mean"},
    {"a thread beyond 32 tells the version", REDUCE "[5,0,0]" LABEL REDUCE "[70,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 2, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "rows 5, 133, 261 … and 70, 198, 326 … if the block has 128 threads", "faults:"},
    {"windows, no kernel name",
     "C:\\w\\native\\cuda\\Loss.cu:242: block: [0,0,0], thread: [0,0,0]"
     " Assertion `t >= 0 && t < n_classes` failed.\r\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "rows 0, 32, 64 …", "faults:"},
    {"reduction none names the row", NO_REDUCE "[3,0,0], thread: [17,0,0]" CUR_LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, 3089, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "row 3089 exactly", "rows: [3089]"},
    {"reduction none in the scenario", NO_REDUCE "[0,0,0], thread: [7,0,0]" CUR_LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, 7, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "row 7 exactly",
     "reduction: none"},
    {"uint8 labels are never negative",
     LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [1,0,0]"
             " Assertion `t < n_classes` failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL_UINT8, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH,
     LG_CAUSE_WRONG_HEAD_WIDTH, LG_CAUSE_NEGATIVE_LABELS, "for uint8 labels", "dtype: uint8"},
    {"a single sample",
     LOSS_CU ":207: nll_loss_forward_reduce_cuda_kernel_1d: block: [0,0,0], thread: [0,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, 0, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "row 0 exactly: the input is a single sample", "faults:"},
    {"spatial",
     "/p/NLLLoss2d.cu:106: nll_loss2d_forward_kernel: block: [3,0,0], thread: [160,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "sample 3, pixels 160, 1184, 2208 …", "extent: [8, 8]"},
    {"spatial, reduction none",
     "/p/NLLLoss2d.cu:73: nll_loss2d_forward_no_reduce_kernel: block: [1,0,0], thread: "
     "[2,0,0]" CUR_LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "with i = 1026 it is sample i mod N", "faults:"},
    {"spatial, windows", "C:\\a\\NLLLoss2d.cu:106: block: [2,0,0], thread: [1,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "sample 2, pixels 1, 1025", "extent"},
    {"an offset that overflowed",
     "/p/NLLLoss2d.cu:109: nll_loss2d_forward_kernel: block: [0,0,0], thread: [0,0,0] Assertion "
     "`input_index >= 0` failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_OFFSET, 1, 1, -1, LG_CAUSE_INDEX_OVERFLOW, 0,
     LG_CAUSE_WRONG_HEAD_WIDTH, "fewer than 2^31 elements", NULL},
    {"lossgate's own kernel",
     "kernels/nll_loss.cu:48: nll_loss_forward_no_reduce_assert_float32_int64: block: [2,0,0], "
     "thread: [9,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "row 521 if the block has 256 threads", "reduction: none"},
    {"hip",
     "/w/Loss.hip:186: nll_loss_forward_no_reduce_cuda_kernel: Device-side assertion `cur_target "
     ">= 0 && cur_target < n_classes' failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "the text names neither a row nor a thread", "faults:"},
    {"sycl",
     "/w/LossNLL.cpp:88: operator(): global id: [51,0,0], local id: [19,0,0] Assertion "
     "`cur_target >= 0 && cur_target < n_classes` failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "work item 51",
     "faults:"},
    {"bce input",
     LOSS_CU ":94: operator(): block: [2,0,0], thread: [64,0,0] Assertion `input_val >= zero && "
             "input_val <= one` failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_INPUT_RANGE, 1, 1, -1, LG_CAUSE_BCE_RANGE,
     LG_CAUSE_NONFINITE_LOGITS, LG_CAUSE_WRONG_HEAD_WIDTH, "elements 1024 to 1535", "where: input"},
    {"bce target",
     LOSS_CU ":95: operator(): block: [0,0,0], thread: [1,0,0] Assertion `target_val >= zero && "
             "target_val <= one` failed.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_TARGET_RANGE, 1, 1, -1, LG_CAUSE_BCE_RANGE, 0, 0,
     "the target check of binary_cross_entropy", "where: target"},
    {"another kernel alone", INDEXING INDEXING AFTERMATH, LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0,
     "unrelated device assert `srcIndex < srcSelectDimSize`, 2 times", NULL},
    {"another kernel before the loss's", INDEXING REDUCE "[5,0,0]" LABEL, LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "index_select or an embedding",
     "faults:"},
    {"gather",
     "/p/ScatterGatherKernel.cu:144: operator(): block: [0,0,0], thread: [1,0,0] Assertion "
     "`idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"` failed.\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "gather, scatter or one_hot", NULL},
    {"a kernel nobody knows",
     "/u/my.cu:3: k: block: [0,0,0], thread: [1,0,0] Assertion `x < y` failed.\n",
     LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0,
     "a check not known here: whether a loss has it cannot be told", NULL},
    {"a loss nobody knows",
     "/u/my.cu:3: my_cross_entropy: block: [0,0,0], thread: [1,0,0] Assertion `y < k` failed.\n",
     LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0, "a kernel that is a loss by its name", NULL},
    {"a name inside a longer one is no condition of a loss",
     "/u/my.cu:3: k: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n_classes_max` "
     "failed.\n",
     LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0, "my.cu:3, k, block 0 thread 1", NULL},
    {"an unknown check behind a known one of another operation",
     INDEXING "/u/my.cu:3: k: block: [0,0,0], thread: [1,0,0] Assertion `x < y` failed.\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "unknown   device assert `x < y`", NULL},
    {"an unknown check before the loss's",
     "/u/my.cu:3: k: block: [0,0,0], thread: [1,0,0] Assertion `x < y` failed.\n" REDUCE
     "[5,0,0]" LABEL,
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "unknown   device assert `x < y`", "faults:"},
    // A log that ends within a line, wherever that is.
    {"cut in the condition", REDUCE "[5,0,0] Assertion `t >= 0 && t < n_cl", LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "rows 5, 37, 69", "rows: [5]"},
    {"cut behind the condition",
     NO_REDUCE
     "[0,0,0], thread: [17,0,0] Assertion `cur_target >= 0 && cur_target < n_classes` fai",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, 17, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "reduction none", "rows: [17]"},
    {"cut in a condition that two kinds of labels share",
     NO_REDUCE "[0,0,0], thread: [17,0,0] Assertion `cur_tar", LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1,
     1, 17, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "row 17 exactly", "rows: [17]"},
    {"cut behind the thread", NO_REDUCE "[0,0,0], thread: [17,0,0]", LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, 17, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "a loss kernel, by its name",
     "rows: [17]"},
    {"cut in the thread", NO_REDUCE "[0,0,0], thread: [1", LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1,
     -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0, "a loss kernel, by its name", "faults:"},
    {"cut in the block",
     REDUCE "[5,0,0]" LABEL LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 2, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "2 times, first in line 1", "faults:"},
    {"cut in the midst of a log",
     NO_REDUCE "[0,0,0], thread: [17,0,0] Assertion `cur_tar\n" AFTERMATH, LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, 17, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "row 17 exactly", "rows: [17]"},
    {"another kernel, cut",
     "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [542,0,0], "
     "thread: [37,0,0] Assertion `srcIndex < srcSel",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "index_select or an embedding", NULL},
    {"an unknown kernel, cut", "/u/my.cu:3: k: block: [0,0,0], thread: [1,0,0] Asser",
     LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0, "a check not known here", NULL},
    {"cut in the kernel's name", "epoch 1\n" LOSS_CU ":250: nll_loss_forward", LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 2, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "missing: block and thread, the condition", "faults:"},
    {"a kernel's own print",
     "[CUDA_KERNEL_ASSERT] /p/Loss.cu:250: nll_loss_forward_no_reduce_cuda_kernel: block: [0,0,0], "
     "thread: [9,0,0]: Assertion failed: `cur_target >= 0 && cur_target < n_classes`: label\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, 9, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "/p/Loss.cu:250",
     "rows: [9]"},
    {"another kernel's own print",
     "[CUDA_KERNEL_ASSERT] /p/S.cu:144: operator(): block: [0,0,0], thread: [1,0,0]: Assertion "
     "failed: `idx_dim >= 0 && idx_dim < index_size`: index out of bounds\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "gather, scatter or one_hot", NULL},
    {"paddle's kernel of today",
     "Error: /paddle/phi/kernels/gpu/cross_entropy_kernel.cu:76 Assertion `lbl >= 0 && lbl < dim "
     "|| "
     "lbl == ignore_idx` failed. The value of label expected >= 0 and < 10, or == -100, but got "
     "12. Please check label value.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "the head has 10 outputs; ignore_index is -100", "classes: 13"},
    {"only the aftermath",
     "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling "
     "`cublasSgemm`\n" AFTERMATH,
     LG_LOG_ORIGIN_LOST, 0, 0, 0, -1, 0, 0, 0, "shows that the device failed, but not where", NULL},
    {"copy_if", "parallel_for failed: copy_if failed to synchronize: cudaErrorAssert\n",
     LG_LOG_ORIGIN_LOST, 0, 0, 0, -1, 0, 0, 0, "thrust", NULL},
    {"no assert in the build",
     "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7f. Reason: Unknown.\n",
     LG_LOG_ORIGIN_LOST, 0, 0, 0, -1, 0, 0, 0, "compute-sanitizer", NULL},
    {"a status that is none", "call returned CUBLAS_STATUS_SUCCESS\n", LG_LOG_QUIET, 0, 0, 0, -1, 0,
     0, 0, "", NULL},
    {"the advice that does not help", REDUCE "[5,0,0]" LABEL AFTERMATH, LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "changes nothing here", "faults:"},
    {"compute-sanitizer",
     "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n"
     "=========     at nll_loss_forward_no_reduce_cuda_kernel(float *, long)+0x120 in "
     "/w/Loss.cu:252\n=========     by thread (1,0,0) in block (2,0,0)\n"
     "=========     Address 0x7f0000000021 is out of bounds\n"
     "=========     and is 33 bytes after the nearest allocation at 0x7f0000000000 of size 448 "
     "bytes\n=========     Host Frame: main\n========= ERROR SUMMARY: 1 error\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_ACCESS, 1, 2, 2049, LG_CAUSE_LABEL_EQUALS_WIDTH,
     LG_CAUSE_INDEX_OVERFLOW, 0, "33 bytes after the nearest allocation, which has 448 bytes",
     "faults:"},
    {"compute-sanitizer, another kernel",
     "========= Invalid __shared__ write of size 8 bytes\n=========     at gemm(float *)+0x20\n"
     "=========     by thread (1,0,0) in block (0,0,0)\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "another kernel", NULL},
    {"a banner", "=========== training ===========\n========= done\n", LG_LOG_QUIET, 0, 0, 0, -1, 0,
     0, 0, "", NULL},
    {"assertion record",
     "1 CUDA device-side assertion failures were found on GPU #0!\nAssertion failure 0\n"
     "  GPU assertion failure message = t >= 0 && t < n_classes\n"
     "  File containing assertion = /w/Loss.cu:250\n"
     "  Device function containing assertion = nll_loss_forward_no_reduce_cuda_kernel\n"
     "  Thread ID that failed assertion = [7,0,0]\n  Block ID that failed assertion = [1,0,0]\n"
     "  Name of kernel launched that led to failure = k\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 2, 1031, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0,
     "assertion record", "rows: [1031]"},
};

static void test_logs(void) {
    check_logs(rows, sizeof rows / sizeof *rows);
}

int main(void) {
    static const lg_test tests[] = {{"logs", test_logs}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
