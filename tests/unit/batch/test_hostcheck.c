// SPDX-License-Identifier: Apache-2.0
// Each condition the host refuses, with its exact text; and what it must not refuse.
#include "batch/batch.h"

#include "unit/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A call, with shapes as text ("4 3"; "" is a scalar; NULL: none) and defaults where a field is 0:
// nll_loss, mean, float32 input 4 x 3, int64 target of 4, ignore_index -100.
typedef struct call {
    const char *name;
    lg_loss_kind kind;
    lg_reduction reduction; // none is 0
    lg_dtype input_dtype, target_dtype, weight_dtype, pos_weight_dtype, grad_dtype;
    const char *input, *target, *weight, *pos_weight, *grad_output;
    bool probability, no_input, no_target, zero_weight;
    int64_t ignore_index;
    double smoothing;
    double weight_1; // the second weight, unless 0
    double pos_weight_0;
    double labels[4]; // of a floating-point target, when the first is not 0
    lg_cause cause;
    const char *text;
    int64_t n_rows;
    int64_t rows[4];
} call;

static int parse_shape(const char *text, int64_t *shape) {
    int rank = 0;
    char *end;
    for (const char *at = text; *at; at = end) {
        shape[rank++] = strtoll(at, &end, 10);
    }
    return rank;
}

static void make(lg_tensor *t, lg_dtype dtype, const char *text, double value) {
    int64_t shape[LG_MAX_RANK];
    int rank = parse_shape(text, shape);
    CU_ASSERT_TRUE_FATAL(lg_tensor_init(t, dtype, rank, shape));
    for (int64_t i = 0; i < lg_tensor_numel(t); i++) {
        lg_tensor_set_f64(t, i, value);
    }
}

static lg_dtype or (lg_dtype dtype, lg_dtype otherwise) {
    return dtype == LG_DTYPE_NONE ? otherwise : dtype;
}

static void make_batch(const call *c, lg_batch *b) {
    lg_dtype input = or (c->input_dtype, LG_FLOAT32);
    *b = (lg_batch){.loss = {.kind = c->kind ? c->kind : LG_NLL_LOSS,
                             .reduction = c->reduction,
                             .ignore_index = c->ignore_index ? c->ignore_index : -100,
                             .label_smoothing = c->smoothing,
                             .direction = LG_BOTH},
                    .target_is_probability = c->probability};
    bool binary = b->loss.kind == LG_BCE || b->loss.kind == LG_BCE_WITH_LOGITS;
    bool dense = binary || c->probability;
    if (!c->no_input) {
        make(&b->input, input, c->input ? c->input : "4 3", 0.5);
    }
    if (!c->no_target) {
        make(&b->target, or (c->target_dtype, dense ? input : LG_INT64),
             c->target ? c->target
             : dense   ? "4 3"
                       : "4",
             0);
    }
    for (int i = 0; i < 4 && c->labels[0] != 0; i++) {
        lg_tensor_set_f64(&b->target, i, c->labels[i]);
    }
    if (c->weight) {
        make(&b->weight, or (c->weight_dtype, input), c->weight, 1);
        if (c->weight_1 != 0 || c->zero_weight) {
            lg_tensor_set_f64(&b->weight, 1, c->weight_1);
        }
    }
    if (c->pos_weight) {
        make(&b->pos_weight, or (c->pos_weight_dtype, input), c->pos_weight,
             c->pos_weight_0 != 0 ? c->pos_weight_0 : 1);
    }
    if (c->grad_output) {
        make(&b->grad_output, or (c->grad_dtype, input), c->grad_output, 1);
    }
}

static void check_refusal(const char *name, const lg_refusal *got, lg_cause cause, const char *text,
                          int64_t n_rows, const int64_t *rows) {
    LG_CHECK_ROW(name, got->cause == cause);
    bool same = text ? got->text && strcmp(got->text, text) == 0 : got->text == NULL;
    if (!same) {
        fprintf(stderr, "\n    got:  %s\n    want: %s\n", got->text ? got->text : "(none)",
                text ? text : "(none)");
    }
    LG_CHECK_ROW(name, same);
    LG_CHECK_ROW(name, got->n_rows == n_rows);
    for (int64_t i = 0; i < n_rows && i < got->n_rows; i++) {
        LG_CHECK_ROW(name, got->rows[i] == rows[i]);
    }
}

static void run_table(const call *calls, size_t n) {
    for (size_t i = 0; i < n; i++) {
        lg_batch batch;
        lg_arena arena = {0};
        make_batch(&calls[i], &batch);
        lg_refusal refusal = lg_hostcheck(&batch, &arena);
        check_refusal(calls[i].name, &refusal, calls[i].cause, calls[i].text, calls[i].n_rows,
                      calls[i].rows);
        lg_arena_free(&arena);
        lg_batch_free(&batch);
    }
}
#define RUN_TABLE(calls) run_table(calls, sizeof(calls) / sizeof(calls)[0])

#define CE .kind = LG_CROSS_ENTROPY
#define BCE .kind = LG_BCE
#define LOGITS .kind = LG_BCE_WITH_LOGITS
#define SHAPE .cause = LG_CAUSE_SHAPE_LAYOUT
#define DTYPE .cause = LG_CAUSE_TARGET_DTYPE
#define FLOATS .cause = LG_CAUSE_FLOAT_TARGETS
#define WEIGHT .cause = LG_CAUSE_WEIGHT_VECTOR
#define DOMAIN .cause = LG_CAUSE_VALUE_DOMAIN

// One call is one paragraph of the tables.
// clang-format off
static void test_shapes(void) {
    static const call calls[] = {
        {.name = "no input", .no_input = true, SHAPE, .text = "there is no input"},
        {.name = "no target", .no_target = true, SHAPE, .text = "there is no target"},
        {.name = "scalar input", .input = "", .target = "", SHAPE,
         .text = "the input is a single number: nll_loss needs a class axis, [classes] or "
                 "[samples, classes, ...]"},
        {.name = "batch mismatch", .target = "3", SHAPE,
         .text = "the input has 4 samples and the target 3 (shapes [4, 3] and [3])"},
        {.name = "scalar target", .target = "", SHAPE,
         .text = "the input has 4 samples and the target 0 (shapes [4, 3] and [])"},
        {.name = "multi-target", .target = "4 3", SHAPE,
         .text = "class indices have shape [4, 3]: an input of shape [4, 3] needs [4], one index a "
                 "row"},
        {.name = "one sample, several labels", .input = "3", .target = "2", SHAPE,
         .text = "class indices have shape [2]: an input of shape [3] needs [], one index a row"},
        {.name = "one sample, as many labels as classes", .input = "3", .target = "3", SHAPE,
         .text = "class indices have shape [3]: an input of shape [3] needs [], one index a row"},
        {.name = "spatial size, 3-D", CE, .input = "2 3 5", .target = "2 4", SHAPE,
         .text = "the extra dimensions differ: class indices have shape [2, 4], an input of shape "
                 "[2, 3, 5] needs [2, 5]"},
        {.name = "spatial size, 4-D", .input = "2 3 5 5", .target = "2 4 4", SHAPE,
         .text = "the extra dimensions differ: class indices have shape [2, 4, 4], an input of "
                 "shape [2, 3, 5, 5] needs [2, 5, 5]"},
        {.name = "spatial target of too few dimensions", .input = "2 3 5 5", .target = "2 5", SHAPE,
         .text = "class indices have shape [2, 5]: an input of shape [2, 3, 5, 5] needs [2, 5, 5], "
                 "one index a row"},
        {.name = "probabilities of another shape", CE, .probability = true, .target = "4 2", SHAPE,
         .text = "class probabilities have shape [4, 2] and the input [4, 3]: they must be equal"},
        {.name = "probabilities for nll_loss", .probability = true, SHAPE,
         .text = "nll_loss takes class indices, not class probabilities: use cross_entropy"},
        {.name = "binary target of another shape", BCE, .input = "3", .target = "3 1", SHAPE,
         .text = "the target has shape [3, 1] and the input [3]: they must be equal"},
        {.name = "the same with logits", LOGITS, .input = "3", .target = "3 1", SHAPE,
         .text = "the target has shape [3, 1] and the input [3]: they must be equal"},
        {.name = "grad_output for a scalar loss", .reduction = LG_REDUCTION_MEAN,
         .grad_output = "4", SHAPE,
         .text = "grad_output has shape [4]: reduction mean needs 1 element, one for the loss"},
        {.name = "grad_output for rows", .grad_output = "3", SHAPE,
         .text = "grad_output has shape [3]: reduction none needs 4 elements, one a row"},
    };
    RUN_TABLE(calls);
}

static void test_dtypes(void) {
    static const call calls[] = {
        {.name = "integer input", .input_dtype = LG_INT64, DOMAIN,
         .text = "the input is int64: nll_loss needs float64, float32, float16 or bfloat16"},
        {.name = "integer input before the shapes, as log_softmax comes first", CE,
         .input_dtype = LG_INT32, .target = "3", DOMAIN,
         .text = "the input is int32: cross_entropy needs float64, float32, float16 or bfloat16"},
        {.name = "integer input after the shapes", .input_dtype = LG_INT32, .target = "3", SHAPE,
         .text = "the input has 4 samples and the target 3 (shapes [4, 3] and [3])"},
        {.name = "integer input of a binary loss", BCE, .input_dtype = LG_UINT8,
         .target_dtype = LG_FLOAT32, DOMAIN,
         .text = "the input is uint8: binary_cross_entropy needs float64, float32, float16 or "
                 "bfloat16"},
        {.name = "int16 labels", .target_dtype = LG_INT16, DTYPE,
         .text = "class indices are int16: give int64, int32 or uint8"},
        {.name = "int8 labels", CE, .target_dtype = LG_INT8, DTYPE,
         .text = "class indices are int8: give int64, int32 or uint8"},
        {.name = "bool labels", .target_dtype = LG_BOOL, DTYPE,
         .text = "class indices are bool: give int64, int32 or uint8"},
        {.name = "integer probabilities", CE, .probability = true, .target_dtype = LG_INT64, DTYPE,
         .text = "a target of the input's shape is class probabilities, and these are int64: give "
                 "float32, or class indices of shape [samples, ...]"},
        {.name = "probabilities of another type", CE, .probability = true,
         .target_dtype = LG_FLOAT64, DTYPE,
         .text = "the target is float64 and the input float32: cross_entropy reads both as one "
                 "type"},
        {.name = "integer binary target", BCE, .target_dtype = LG_INT64, DTYPE,
         .text = "the target is int64 and the input float32: binary_cross_entropy reads both as "
                 "one type"},
        {.name = "the same with logits", LOGITS, .target_dtype = LG_UINT8, DTYPE,
         .text = "the target is uint8 and the input float32: binary_cross_entropy_with_logits "
                 "reads both as one type"},
        {.name = "grad_output of another type", .grad_output = "4", .grad_dtype = LG_FLOAT64,
         DOMAIN,
         .text = "grad_output is float64 and the input float32: they must be of one type"},
        {.name = "float labels, all integral", .target_dtype = LG_FLOAT32, .labels = {1, 2, 0, 1},
         FLOATS, .text = "class indices are float32: give int64, int32 or uint8"},
        {.name = "float labels with fractions", CE, .target_dtype = LG_FLOAT64,
         .labels = {1, 0.5, 2, NAN}, FLOATS,
         .text = "class indices are float64, and row 1 holds 0.5, which is no class: give int64, "
                 "int32 or uint8",
         .n_rows = 2, .rows = {1, 3}},
        {.name = "half labels with an infinity", .target_dtype = LG_FLOAT16,
         .labels = {1, 0, 2, INFINITY}, FLOATS,
         .text = "class indices are float16, and row 3 holds inf, which is no class: give int64, "
                 "int32 or uint8",
         .n_rows = 1, .rows = {3}},
    };
    RUN_TABLE(calls);
}

static void test_weights(void) {
    static const call calls[] = {
        {.name = "wrong length", .weight = "4", WEIGHT,
         .text = "weight has shape [4] and there are 3 classes: give one weight a class, shape "
                 "[3]"},
        {.name = "two dimensions", CE, .weight = "1 3", WEIGHT,
         .text = "weight has shape [1, 3] and there are 3 classes: give one weight a class, shape "
                 "[3]"},
        {.name = "wrong length, probabilities", CE, .probability = true, .weight = "2", WEIGHT,
         .text = "weight has shape [2] and there are 3 classes: give one weight a class, shape "
                 "[3]"},
        {.name = "another type", .weight = "3", .weight_dtype = LG_FLOAT64, WEIGHT,
         .text = "weight is float64 and the input float32: they must be of one type"},
        {.name = "integer weights", .weight = "3", .weight_dtype = LG_INT64, WEIGHT,
         .text = "weight is int64 and the input float32: they must be of one type"},
        {.name = "length before the target's type", .weight = "4", .target_dtype = LG_INT16, WEIGHT,
         .text = "weight has shape [4] and there are 3 classes: give one weight a class, shape "
                 "[3]"},
        {.name = "negative", .weight = "3", .weight_1 = -0.5, WEIGHT,
         .text = "weight of class 1 is -0.5: a weight must be finite and not negative"},
        {.name = "NaN", CE, .weight = "3", .weight_1 = -NAN, WEIGHT,
         .text = "weight of class 1 is nan: a weight must be finite and not negative"},
        {.name = "infinite", CE, .weight = "3", .weight_1 = INFINITY, .probability = true, WEIGHT,
         .text = "weight of class 1 is inf: a weight must be finite and not negative"},
        {.name = "binary weight that does not broadcast", BCE, .weight = "4", WEIGHT,
         .text = "weight has shape [4], which does not broadcast to the input's [4, 3]"},
        {.name = "binary weight of too many dimensions", LOGITS, .weight = "1 4 3", WEIGHT,
         .text = "weight has shape [1, 4, 3], which does not broadcast to the input's [4, 3]"},
        {.name = "negative binary weight", BCE, .weight = "4 3", .weight_1 = -1, WEIGHT,
         .text = "weight of element 1 is -1: a weight must be finite and not negative"},
        {.name = "pos_weight that does not broadcast", LOGITS, .pos_weight = "2", WEIGHT,
         .text = "pos_weight has shape [2], which does not broadcast to the input's [4, 3]"},
        {.name = "pos_weight of another type", LOGITS, .pos_weight = "3",
         .pos_weight_dtype = LG_FLOAT16, WEIGHT,
         .text = "pos_weight is float16 and the input float32: they must be of one type"},
        {.name = "NaN pos_weight", LOGITS, .pos_weight = "3", .pos_weight_0 = NAN, WEIGHT,
         .text = "pos_weight of element 0 is nan: a weight must be finite and not negative"},
        {.name = "pos_weight without logits", BCE, .pos_weight = "3", WEIGHT,
         .text = "binary_cross_entropy has no pos_weight: only binary_cross_entropy_with_logits "
                 "has"},
        {.name = "pos_weight with class indices", .pos_weight = "3", WEIGHT,
         .text = "nll_loss has no pos_weight: only binary_cross_entropy_with_logits has"},
    };
    RUN_TABLE(calls);
}

static void test_options(void) {
    static const call calls[] = {
        {.name = "smoothing above 1", CE, .smoothing = 1.2, DOMAIN,
         .text = "label_smoothing is 1.2: it must lie between 0 and 1"},
        {.name = "negative smoothing", CE, .smoothing = -0.1, DOMAIN,
         .text = "label_smoothing is -0.1: it must lie between 0 and 1"},
        {.name = "NaN smoothing", CE, .smoothing = NAN, DOMAIN,
         .text = "label_smoothing is nan: it must lie between 0 and 1"},
        {.name = "smoothing before the shapes", CE, .smoothing = 2, .target = "3", DOMAIN,
         .text = "label_smoothing is 2: it must lie between 0 and 1"},
        {.name = "smoothing with nll_loss", .smoothing = 0.1, DOMAIN,
         .text = "label_smoothing is 0.1: nll_loss has none, only cross_entropy has"},
        {.name = "ignore_index with probabilities", CE, .probability = true, .ignore_index = 2,
         DOMAIN,
         .text = "ignore_index is 2: class probabilities have no index to ignore; leave it "
                 "negative"},
    };
    RUN_TABLE(calls);
}

static void test_accepted(void) {
    static const call calls[] = {
        {.name = "plain"},
        {.name = "int32 labels", .target_dtype = LG_INT32},
        {.name = "uint8 labels with extra dimensions", .target_dtype = LG_UINT8, .input = "2 3 5",
         .target = "2 5"},
        {.name = "one sample", .input = "3", .target = ""},
        {.name = "no sample", .input = "0 3", .target = "0"},
        {.name = "no class", .input = "2 0", .target = "2"},
        {.name = "probabilities", CE, .probability = true, .smoothing = 0.1, .weight = "3"},
        {.name = "probabilities of one sample", CE, .probability = true, .input = "3",
         .target = "3"},
        {.name = "smoothing of 1", CE, .smoothing = 1},
        {.name = "a zero weight", CE, .weight = "3", .zero_weight = true},
        {.name = "ignore_index inside the range", .ignore_index = 1},
        {.name = "half precision throughout", CE, .input_dtype = LG_FLOAT16, .weight = "3",
         .grad_output = "4"},
        {.name = "scalar grad_output of one element", .reduction = LG_REDUCTION_SUM,
         .grad_output = "1"},
        {.name = "binary, broadcast weights", LOGITS, .weight = "4 1", .pos_weight = "3"},
        {.name = "binary scalar", BCE, .input = "", .target = ""},
        {.name = "binary, grad_output a row", BCE, .grad_output = "4 3"},
    };
    RUN_TABLE(calls);
}

// clang-format on

typedef struct handover {
    const char *name;
    lg_dtype target, device;
    double labels[3];
    int64_t on_device[3];
    lg_cause cause;
    const char *text;
    int64_t n_rows;
    int64_t rows[3];
} handover;

static int64_t f64_bits(double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// What was meant, and what the device got.
static void test_handovers(void) {
    const int64_t pair = (int64_t)0x3f80000040000000; // 2.0f and 1.0f side by side
    // clang-format off
    const handover rows[] = {
        {"fractions cut off", LG_FLOAT32, LG_INT64, {0.5, 2, 1.75}, {0, 2, 1}, FLOATS,
         .text = "class indices were cut from float32 to int64: row 0 held 0.5 and became 0; give "
                 "integers",
         .n_rows = 2, .rows = {0, 2}},
        {"negative fraction cut towards zero", LG_FLOAT64, LG_INT32, {1, -0.5, 2}, {1, 0, 2},
         FLOATS,
         .text = "class indices were cut from float64 to int32: row 1 held -0.5 and became 0; give "
                 "integers",
         .n_rows = 1, .rows = {1}},
        {"NaN cut to anything", LG_FLOAT64, LG_INT64, {1, NAN, 2}, {1, INT64_MIN, 2}, FLOATS,
         .text = "class indices were cut from float64 to int64: row 1 held nan and became "
                 "-9223372036854775808; give integers",
         .n_rows = 1, .rows = {1}},
        {"integral values converted", LG_FLOAT32, LG_INT64, {0, 2, 1}, {0, 2, 1},
         LG_CAUSE_NONE, .text = NULL},
        {"bits of float64", LG_FLOAT64, LG_INT64, {0, 2, 1}, {0, f64_bits(2), f64_bits(1)},
         LG_CAUSE_NONE, .text = NULL},
        {"bits of fractional float64", LG_FLOAT64, LG_INT64, {0.5, 2, 1},
         {f64_bits(0.5), f64_bits(2), f64_bits(1)}, LG_CAUSE_NONE, .text = NULL},
        {"bits of float32 pairs", LG_FLOAT32, LG_INT64, {2, 2, 2}, {pair, pair, pair},
         LG_CAUSE_NONE, .text = NULL},
        {"narrowed integers", LG_INT64, LG_INT32, {1, 2, 0}, {1, 2, 0}, LG_CAUSE_NONE,
         .text = NULL},
        {"int16 converted on the way", LG_INT16, LG_INT64, {1, 2, 0}, {1, 2, 0}, LG_CAUSE_NONE,
         .text = NULL},
        {"passed as int16", LG_INT64, LG_INT16, {1, 2, 0}, {1, 2, 0}, DTYPE,
         .text = "class indices are int16: give int64, int32 or uint8"},
    };
    // clang-format on
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const handover *h = &rows[i];
        lg_batch batch = {.loss = {.kind = LG_NLL_LOSS, .ignore_index = -100}};
        lg_arena arena = {0};
        make(&batch.input, LG_FLOAT32, "3 3", 0);
        make(&batch.target, h->target, "3", 0);
        make(&batch.device_target, h->device, "3", 0);
        for (int64_t row = 0; row < 3; row++) {
            lg_tensor_set_f64(&batch.target, row, h->labels[row]);
            lg_tensor_set_i64(&batch.device_target, row, h->on_device[row]);
        }
        lg_refusal refusal = lg_hostcheck(&batch, &arena);
        check_refusal(h->name, &refusal, h->cause, h->text, h->n_rows, h->rows);
        lg_arena_free(&arena);
        lg_batch_free(&batch);
    }
}

static void test_device_shape(void) {
    lg_batch batch = {.loss = {.kind = LG_NLL_LOSS, .ignore_index = -100}};
    lg_arena arena = {0};
    make(&batch.input, LG_FLOAT32, "3 3", 0);
    make(&batch.target, LG_INT64, "3", 0);
    make(&batch.device_target, LG_INT64, "2", 0);
    lg_refusal refusal = lg_hostcheck(&batch, &arena);
    check_refusal("device target of another shape", &refusal, LG_CAUSE_SHAPE_LAYOUT,
                  "the target passed to the device has shape [2] instead of [3]", 0, NULL);
    lg_arena_free(&arena);
    lg_batch_free(&batch);
}

int main(void) {
    static const lg_test tests[] = {
        {"shapes", test_shapes},
        {"dtypes", test_dtypes},
        {"weights", test_weights},
        {"options", test_options},
        {"accepted calls", test_accepted},
        {"targets changed on the way to the device", test_handovers},
        {"device target of another shape", test_device_shape},
    };
    return lg_run_tests("pipeline hostcheck", tests, sizeof tests / sizeof tests[0]);
}
