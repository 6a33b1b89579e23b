// SPDX-License-Identifier: Apache-2.0
// What is made of logs in every form, with decoys among them, and of hostile ones.
#include "pipeline/explain.h"

#include "model/scenario_read.h"
#include "support/alloc.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

#define LOSS_CU "/pytorch/aten/src/ATen/native/cuda/Loss.cu"
#define REDUCE LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: "
#define NO_REDUCE LOSS_CU ":186: nll_loss_forward_no_reduce_cuda_kernel: block: "
#define LABEL " Assertion `t >= 0 && t < n_classes` failed.\n"
#define CUR_LABEL " Assertion `cur_target >= 0 && cur_target < n_classes` failed.\n"
#define AFTERMATH                                                                                  \
    "RuntimeError: CUDA error: device-side assert triggered\n"                                     \
    "CUDA kernel errors might be asynchronously reported at some other API call, so the "          \
    "stacktrace below might be incorrect.\nFor debugging consider passing "                        \
    "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side "             \
    "assertions.\n"
#define FRAME                                                                                      \
    "  File \"/v/torch/nn/functional.py\", line 3053, in cross_entropy\n"                          \
    "    return torch._C._nn.cross_entropy_loss(input, target)\n"
#define INDEXING                                                                                   \
    "../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [542,0,0], "     \
    "thread: [37,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
#define PADDLE                                                                                     \
    "Error: /paddle/softmax_with_cross_entropy_op.cu:536 Assertion `labels_[idx_lbl] >= 0 && "     \
    "labels_[idx_lbl] < d_ || labels_[idx_lbl] == ignore_idx_` failed. "

typedef struct log_row {
    const char *name;
    const char *log;
    lg_log_conclusion conclusion;
    lg_log_what what; // of the primary group, 0: there is none
    int64_t count, first_line;
    int64_t row;          // exact; -1: none
    lg_cause cause;       // the most probable
    lg_cause second;      // also listed; NONE: not looked at
    lg_cause never;       // not listed; NONE: not looked at
    const char *text;     // in the finding's text
    const char *scenario; // in the scenario's text; NULL: there is none
} log_row;

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
    {"torch.compile",
     "/tmp/t/cab.py:29: unknown: block: [0,0,0], thread: [3,0,0] Assertion `index out of bounds: 0 "
     "<= tmp9 < 10` failed.\n",
     LG_LOG_UNKNOWN_CHECK, 0, 0, 0, -1, 0, 0, 0, "a kernel that torch.compile made", NULL},
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
    {"paddle on the CPU, negative",
     "OutOfRangeError: label value should >= 0 when label value(-1) not equal to "
     "ignore_index(-100)\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_NEGATIVE_LABELS, 0, 0,
     "Paddle's cross_entropy on the CPU", "negative_labels"},
    {"no class axis", "RuntimeError: Expected 1 or more dimensions (got 0)\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "the input has no class axis",
     "shape_layout"},
    {"cpu, a label of a missing class", "IndexError: Target 3 is out of bounds.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH,
     LG_CAUSE_ONE_BASED_LABELS, LG_CAUSE_NEGATIVE_LABELS, "label 3 needs 4 outputs at least",
     "head_width: 3"},
    {"cpu, -1", "IndexError: Target -1 is out of bounds.\n", LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1,
     -1, LG_CAUSE_NEGATIVE_LABELS, LG_CAUSE_OVER_SHIFTED_LABELS, LG_CAUSE_WRONG_HEAD_WIDTH,
     "values    -1", "values: [-1]"},
    {"cpu, -100", "IndexError: Target -100 is out of bounds.\n", LG_LOG_LOSS_FAULT, LG_WHAT_LABEL,
     1, 1, -1, LG_CAUSE_SENTINEL_MISMATCH, 0, LG_CAUSE_OVER_SHIFTED_LABELS,
     "set ignore_index to it", "ignore_index: -1"},
    {"cpu, 255 is most often a void class", "IndexError: Target 255 is out of bounds.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_SENTINEL_MISMATCH, 0, 0,
     " 1.  sentinel_mismatch", "values: [255]"},
    {"cpu, a NaN that was cast", "IndexError: Target -9223372036854775808 is out of bounds.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_CORRUPT_LABELS, 0,
     LG_CAUSE_WRONG_HEAD_WIDTH, "a NaN that was cast", "corrupt_labels"},
    {"cpu, the bits of 1.0f twice", "IndexError: Target 4575657222473777152 is out of bounds.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_FLOAT_TARGETS, 0, 0,
     "the bits of a floating-point label", "form: bits"},
    {"cpu, two int32 in one", "IndexError: Target 12884901890 is out of bounds.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_TARGET_DTYPE, 0, 0,
     "two int32 labels read as one int64", "int32_as_int64"},
    {"cpu, beyond int64 is no number",
     "IndexError: Target 92233720368547758080 is out of bounds.\n", LG_LOG_QUIET, 0, 0, 0, -1, 0, 0,
     0, "", NULL},
    {"cpu, uint8 as a character", "IndexError: Target A is out of bounds.\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL_UINT8, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, LG_CAUSE_NEGATIVE_LABELS,
     "values    65", "faults:"},
    {"prose about targets", "Warning: the target range is out of bounds in 3 plots.\n",
     LG_LOG_QUIET, 0, 0, 0, -1, 0, 0, 0, "", NULL},
    {"a fused kernel's host check", "AssertionError: Target 12 is out of bounds. Expected < 10\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "the head has 10 outputs", "head_width: 10"},
    {"old cpu assert",
     "RuntimeError: Assertion `cur_target >= 0 && cur_target < n_classes' failed.  at "
     "/q/ClassNLLCriterion.c:97\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, 0,
     "the text names neither", "faults:"},
    {"tensorflow, its whole batch",
     "InvalidArgumentError: Received a label value of 5 which is outside the valid range of [0, "
     "5).  Label values: 1 2 5 3 4 1 1 2 3 4 4 3 5 5 1 2 3 4 5 1 2 3 4 5\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_ONE_BASED_LABELS, 0, 0,
     "weighed over the labels that the text lists", "one_based_labels"},
    {"tensorflow without the list",
     "Received a label value of 9 which is outside the valid range of [0, 5).\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH, 0, LG_CAUSE_ONE_BASED_LABELS,
     "label 9 needs 10 outputs, the head has 5", "head_width: 5"},
    {"paddle, values and row",
     PADDLE "The value of label[26] expected >= 0 and < 10, or == -100,but got 30. Please check "
            "input value.\n" PADDLE "The value of label[27] expected >= 0 and < 10, or == "
            "-100,but got 72. Please check input value.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 2, 1, 26, LG_CAUSE_WRONG_HEAD_WIDTH, 0,
     LG_CAUSE_ONE_BASED_LABELS, "values    30, 72; the head has 10 outputs; ignore_index is -100",
     "classes: 73"},
    {"paddle, newer text",
     "Error: /p/cross_entropy_kernel.cu:40 Assertion `lbl >= 0 && lbl < dim || lbl == ignore_idx` "
     "failed. The value of label expected >= 0 and < 3, or == -100, but got 3. Please check label "
     "value.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH,
     LG_CAUSE_ONE_BASED_LABELS, 0, "values    3; the head has 3 outputs", "faults:"},
    {"paddle, cpu",
     "OutOfRangeError: label value should less than the shape of axis dimension when label "
     "value(7) not equal to ignore_index(-100), But received label value as 7 and shape of axis "
     "dimension is 7.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_WRONG_HEAD_WIDTH,
     LG_CAUSE_ONE_BASED_LABELS, 0, "values    7; the head has 7 outputs", "faults:"},
    {"float labels, cpu", "RuntimeError: expected scalar type Long but found Float\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_DTYPE, 1, 1, -1, LG_CAUSE_FLOAT_TARGETS, 0, 0, "the array is Float",
     "dtype: float32"},
    {"int labels, cpu", "RuntimeError: expected scalar type Long but found Int\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_DTYPE, 1, 1, -1, LG_CAUSE_TARGET_DTYPE, 0, 0, "the array is Int",
     "target_dtype"},
    {"float labels, cuda",
     "RuntimeError: \"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for "
     "'Float'\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_DTYPE, 1, 1, -1, LG_CAUSE_FLOAT_TARGETS, 0, 0, "over class indices",
     "form: refused"},
    {"integer input", "RuntimeError: \"nll_loss_out_frame\" not implemented for 'Long'\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_DTYPE, 1, 1, -1, LG_CAUSE_VALUE_DOMAIN, 0, 0, "floating point",
     NULL},
    {"dispatch of another operation",
     "RuntimeError: \"addmm_impl_cpu_\" not implemented for "
     "'Half'\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "another operation", NULL},
    {"mixed types of a matmul", "RuntimeError: expected scalar type Float but found Double\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "two arrays of different type", NULL},
    {"mixed types under a loss's frame",
     FRAME "RuntimeError: expected scalar type Float but found Double\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_WEIGHT, 1, 3, -1, LG_CAUSE_WEIGHT_VECTOR, 0, 0, "class weights", "dtype: float64"},
    {"samples", "ValueError: Expected input batch_size (4) to match target batch_size (3).\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "batch_size (4)",
     "where: batch"},
    {"multi-target", "RuntimeError: 0D or 1D target tensor expected, multi-target not supported\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "one-hot rows",
     "where: rank"},
    {"old multi-target",
     "multi-target not supported at /p/THCUNN/generic/ClassNLLCriterion.cu:15\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "", "where: rank"},
    {"spatial sizes", "RuntimeError: Expected target size [2, 5], got [2, 4]\n", LG_LOG_LOSS_FAULT,
     LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "extra dimensions", "where: spatial"},
    {"size mismatch without its parenthesis",
     "RuntimeError: size mismatch (got input: [2, 3, 5, 5] , target: [2, 4, 4]\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "", "spatial"},
    {"a mean squared error's warning",
     "UserWarning: Using a target size (torch.Size([64])) that is different to the input size "
     "(torch.Size([64, 1])). This will likely lead to incorrect results due to broadcasting.\n",
     LG_LOG_QUIET, 0, 0, 0, -1, 0, 0, 0, "", NULL},
    {"bce sizes",
     "ValueError: Using a target size (torch.Size([3, 1])) that is different to the input size "
     "(torch.Size([3])) is deprecated. Please ensure they have the same size.\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_SHAPE, 1, 1, -1, LG_CAUSE_SHAPE_LAYOUT, 0, 0, "one shape",
     "kind: binary_cross_entropy"},
    {"weights",
     "RuntimeError: weight tensor should be defined either for all 3 classes or no classes but got "
     "weight tensor of shape: [4]\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_WEIGHT, 1, 1, -1, LG_CAUSE_WEIGHT_VECTOR, 0, 0,
     "one weight a class", "weight_vector, length: 11"},
    {"bce input, cpu", "RuntimeError: all elements of input should be between 0 and 1\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_INPUT_RANGE, 1, 1, -1, LG_CAUSE_BCE_RANGE, 0, 0, "on the CPU",
     "where: input"},
    {"binary targets of another type",
     "  File \"/v/torch/nn/functional.py\", line 3122, in binary_cross_entropy\n"
     "RuntimeError: Found dtype Long but expected Float\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_DTYPE, 1, 2, -1, LG_CAUSE_TARGET_DTYPE, 0, 0,
     "binary_cross_entropy", NULL},
    {"the same without a traceback", "RuntimeError: Found dtype Long but expected Float\n",
     LG_LOG_OTHER_FAULT, 0, 0, 0, -1, 0, 0, 0, "several operations", NULL},
    {"a label check in a kernel with a binary loss's name",
     "k.cu:1: binary_cross_entropy: block: [0,0,0], thread: [1,0,0]" LABEL, LG_LOG_LOSS_FAULT,
     LG_WHAT_LABEL, 1, 1, -1, LG_CAUSE_LABEL_EQUALS_WIDTH, 0, 0, "the launch of this kernel is not",
     "kind: cross_entropy"},
    {"smoothing", "RuntimeError: label_smoothing must be between 0.0 and 1.0. Got: 1.2\n",
     LG_LOG_LOSS_FAULT, LG_WHAT_OPTION, 1, 1, -1, LG_CAUSE_VALUE_DOMAIN, 0, 0, "label_smoothing",
     "label_smoothing: 1.2"},
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

static void feed_in_pieces(const char *log, size_t n, size_t piece, lg_log_finding *out) {
    lg_log_reader *reader = lg_log_open();
    for (size_t at = 0; at < n; at += piece) {
        lg_log_feed(reader, log + at, n - at < piece ? n - at : piece);
    }
    lg_log_finish(reader, out);
    lg_log_free(reader);
}

static bool has_guess(const lg_log_finding *finding, lg_cause cause) {
    for (int i = 0; i < finding->n_guesses; i++) {
        if (finding->guesses[i].cause == cause) {
            return true;
        }
    }
    return false;
}

// The scenario that is written reads back without an error, and has what the row says.
static void check_scenario(const log_row *row, const lg_log_finding *finding) {
    lg_str text = {0};
    bool written = lg_log_scenario(finding, "a \"log\"", &text);
    LG_CHECK_ROW(row->name, written == (row->scenario != NULL));
    if (written) {
        lg_diags diags = {0};
        lg_scenario_set set = {0};
        lg_read_options options = {0};
        bool ok = lg_scenario_read_text("s.yaml", text.text, text.n, &options, &set, &diags);
        LG_CHECK_ROW(row->name, ok && set.n == 1);
        LG_CHECK_ROW(row->name, row->scenario && strstr(text.text, row->scenario));
        if (!ok) {
            lg_diags_print(&diags, stderr);
        }
        lg_diags_free(&diags);
        lg_scenario_set_free(&set);
    }
    lg_str_free(&text);
}

static void check_row(const log_row *row, const lg_log_finding *finding) {
    LG_CHECK_ROW(row->name, finding->conclusion == row->conclusion);
    LG_CHECK_ROW(row->name, (finding->primary >= 0) == (row->what != 0));
    if (finding->primary >= 0 && row->what) {
        const lg_log_group *group = &finding->groups[finding->primary];
        LG_CHECK_ROW(row->name, group->what == row->what);
        LG_CHECK_ROW(row->name, group->count == row->count);
        LG_CHECK_ROW(row->name, group->first_line == row->first_line);
        LG_CHECK_ROW(row->name, finding->has_row == (row->row >= 0));
        LG_CHECK_ROW(row->name, !finding->has_row || finding->row == row->row);
        LG_CHECK_ROW(row->name, finding->n_guesses > 0);
        LG_CHECK_ROW(row->name, finding->guesses[0].cause == row->cause);
        LG_CHECK_ROW(row->name, row->second == LG_CAUSE_NONE || has_guess(finding, row->second));
        LG_CHECK_ROW(row->name, row->never == LG_CAUSE_NONE || !has_guess(finding, row->never));
    }
    lg_str text = {0};
    lg_log_finding_text(finding, "the log", &text);
    LG_CHECK_ROW(row->name, strstr(lg_str_text(&text), row->text) != NULL);
    lg_str_free(&text);
    check_scenario(row, finding);
}

static void test_logs(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_log_finding finding;
        feed_in_pieces(rows[i].log, strlen(rows[i].log), 1 << 20, &finding);
        check_row(&rows[i], &finding);
        lg_log_finding_free(&finding);
    }
}

// Whatever the pieces, the finding is the same.
static void test_pieces(void) {
    static const size_t pieces[] = {1, 7, 64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
            lg_log_finding finding;
            feed_in_pieces(rows[i].log, strlen(rows[i].log), pieces[p], &finding);
            check_row(&rows[i], &finding);
            lg_log_finding_free(&finding);
        }
    }
}

// A guess from a log alone never takes a label's cause for certain.
static void test_doubt(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_log_finding finding;
        feed_in_pieces(rows[i].log, strlen(rows[i].log), 1 << 20, &finding);
        double sum = 0;
        for (int g = 0; g < finding.n_guesses; g++) {
            sum += finding.guesses[g].probability;
            LG_CHECK_ROW(rows[i].name, g == 0 || finding.guesses[g].probability <=
                                                     finding.guesses[g - 1].probability);
        }
        LG_CHECK_ROW(rows[i].name, sum <= 1 + 1e-9);
        LG_CHECK_ROW(rows[i].name, finding.n_guesses == 0 || sum > 0.9);
        lg_log_finding_free(&finding);
    }
}

// --- floods and long lines ----------------------------------------------------------------------

static void add_flood(lg_str *log, int n) {
    for (int i = 0; i < n; i++) {
        lg_str_printf(log,
                      LOSS_CU ":250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], "
                              "thread: [%d,0,0]" LABEL,
                      i % 32);
    }
}

static void test_flood(void) {
    lg_str log = {0};
    lg_str_add(&log, "epoch 1\n");
    add_flood(&log, 20000);
    lg_str_add(&log, INDEXING);
    add_flood(&log, 4000);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 100000, &finding);
    CU_ASSERT_EQUAL(finding.n_groups, 2);
    CU_ASSERT_EQUAL_FATAL(finding.primary, 0);
    CU_ASSERT_EQUAL(finding.groups[0].count, 24000);
    CU_ASSERT_EQUAL(finding.groups[0].first_line, 2);
    CU_ASSERT_EQUAL(finding.groups[0].n_blocks, 0);
    CU_ASSERT_EQUAL(finding.groups[1].first_line, 20002);
    CU_ASSERT_EQUAL(finding.n_lines, 24002);
    // Nearly all threads print: a fault of all rows is likelier than a stray label.
    CU_ASSERT_EQUAL(finding.guesses[0].cause, LG_CAUSE_WRONG_HEAD_WIDTH);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A line that differs from the flood in anything but block and thread is a group of its own.
static void test_flood_is_exact(void) {
    lg_str log = {0};
    add_flood(&log, 100);
    lg_str_add(&log, REDUCE "[1,0,0] Assertion `t >= 0 && t < n_classes` failed!\n");
    lg_str_add(&log, REDUCE "[x,0,0]" LABEL);
    lg_str_add(&log, LOSS_CU ":251: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], "
                             "thread: [3,0,0]" LABEL);
    add_flood(&log, 1);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1 << 20, &finding);
    CU_ASSERT_EQUAL(finding.groups[0].count, 101);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 3);
    CU_ASSERT_EQUAL(finding.groups[1].count, 1); // an assert, but without a thread one can read
    CU_ASSERT_FALSE(finding.groups[1].has_thread);
    CU_ASSERT_EQUAL(finding.groups[2].line, 251);
    CU_ASSERT_EQUAL(finding.groups[2].count, 1);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A logger's prefix changes nothing; a longer path is another file.
static void test_flood_with_prefix(void) {
    lg_str log = {0};
    for (int i = 0; i < 50; i++) {
        lg_str_printf(&log, "[rank%d] 10:00:%02d.5 ", i % 8, i);
        add_flood(&log, 1);
    }
    lg_str_add(&log, "/other" REDUCE "[1,0,0]" LABEL);
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1000, &finding);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 2);
    CU_ASSERT_EQUAL(finding.groups[0].count, 50);
    CU_ASSERT_STRING_EQUAL(finding.groups[0].file, LOSS_CU);
    CU_ASSERT_STRING_EQUAL(finding.groups[1].file, "/other" LOSS_CU);
    CU_ASSERT_EQUAL(finding.groups[1].first_line, 51);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// A line of several buffers with a find in its middle, and lines after it.
static void test_long_line(void) {
    lg_str log = {0};
    char *filler = lg_xmalloc(3000000);
    memset(filler, 'x', 3000000);
    lg_str_add_n(&log, filler, 3000000);
    lg_str_add(&log, " IndexError: Target 7 is out of bounds. ");
    lg_str_add_n(&log, filler, 3000000);
    lg_str_add(&log, "\nIndexError: Target -1 is out of bounds.\n");
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 65536, &finding);
    CU_ASSERT_EQUAL_FATAL(finding.n_groups, 1);
    CU_ASSERT_EQUAL(finding.groups[0].count, 2);
    CU_ASSERT_EQUAL(finding.groups[0].first_line, 1);
    CU_ASSERT_EQUAL(finding.groups[0].n_values, 2);
    CU_ASSERT_EQUAL(finding.n_lines, 2);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
    free(filler);
}

// Many kinds of lines: the groups are bounded, the rest is counted.
static void test_many_groups(void) {
    lg_str log = {0};
    for (int i = 0; i < 200; i++) {
        lg_str_printf(&log, "k.cu:%d: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n",
                      i + 1);
    }
    lg_log_finding finding;
    feed_in_pieces(log.text, log.n, 1 << 20, &finding);
    CU_ASSERT_EQUAL(finding.n_groups, LG_LOG_MAX_GROUPS);
    CU_ASSERT_EQUAL(finding.n_dropped, 200 - LG_LOG_MAX_GROUPS);
    lg_log_finding_free(&finding);
    lg_str_free(&log);
}

// Control characters of a log do not reach the terminal.
static void test_control_characters(void) {
    lg_log_finding finding;
    const char log[] = "\x1b[31mIndexError: Target 3 is out of bounds.\x07\x01\n";
    feed_in_pieces(log, sizeof log - 1, 1 << 20, &finding);
    lg_str text = {0};
    lg_log_finding_text(&finding, "x", &text);
    CU_ASSERT_PTR_NULL(strchr(lg_str_text(&text), '\x1b'));
    CU_ASSERT_PTR_NULL(strchr(lg_str_text(&text), '\x07'));
    lg_str_free(&text);
    lg_log_finding_free(&finding);
}

int main(void) {
    static const lg_test tests[] = {{"logs", test_logs},
                                    {"logs in pieces", test_pieces},
                                    {"never certain", test_doubt},
                                    {"a flood", test_flood},
                                    {"what is no flood", test_flood_is_exact},
                                    {"a flood behind prefixes", test_flood_with_prefix},
                                    {"a long line", test_long_line},
                                    {"many kinds of lines", test_many_groups},
                                    {"control characters", test_control_characters}};
    return lg_run_tests("pipeline/explain", tests, sizeof tests / sizeof *tests);
}
