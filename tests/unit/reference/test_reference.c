// SPDX-License-Identifier: Apache-2.0
// The reference against the recorded PyTorch results of tests/golden (see the README there): every
// case, in three storage layouts that must not change a bit.
#include "reference/reference.h"

#include "unit/testing.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_CASES = 519 };

// Cases where PyTorch's answer is not the contract; each says what lossgate answers instead.
typedef struct departure {
    const char *name;
    const char *reason;
    int64_t begin, end; // these elements of grad_input …
    double ours;        // … are this
} departure;

#define IGNORED_NAN                                                                                \
    "an ignored row contributes exactly nothing; PyTorch multiplies the softmax of its NaN "       \
    "logits "                                                                                      \
    "by a gradient of 0"
static const departure departures[] = {
    {"edge-nan_in_ignored_row-none-ls0.0", IGNORED_NAN, 0, 3, 0},
    {"edge-nan_in_ignored_row-none-ls0.1", IGNORED_NAN, 0, 3, 0},
    {"edge-nan_in_ignored_row-mean-ls0.0", IGNORED_NAN, 0, 3, 0},
    {"edge-nan_in_ignored_row-mean-ls0.1", IGNORED_NAN, 0, 3, 0},
    {"edge-nan_in_ignored_row-sum-ls0.0", IGNORED_NAN, 0, 3, 0},
    {"edge-nan_in_ignored_row-sum-ls0.1", IGNORED_NAN, 0, 3, 0},
};
enum { N_DEPARTURES = sizeof departures / sizeof departures[0] };

typedef enum layout { CONTIGUOUS, PADDED, REVERSED, N_LAYOUTS } layout;

static double number(const json_t *value) {
    if (json_is_string(value)) {
        return strtod(json_string_value(value), NULL);
    }
    return json_number_value(value);
}

// The same logical values with other strides: a gap behind each innermost run and between elements,
// or the axes stored in the opposite order.
static bool init_layout(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                        layout how) {
    int64_t stride[LG_MAX_RANK] = {0};
    int64_t step = how == PADDED ? 3 : 1;
    if (how == CONTIGUOUS) {
        return lg_tensor_init(tensor, dtype, rank, shape);
    }
    for (int k = 0; k < rank; k++) {
        int i = how == REVERSED ? k : rank - 1 - k;
        stride[i] = step;
        step = step * (shape[i] > 0 ? shape[i] : 1) + (how == PADDED ? 2 : 0);
    }
    return lg_tensor_init_strided(tensor, dtype, rank, shape, stride);
}

static bool load(lg_tensor *tensor, lg_dtype dtype, int rank, const int64_t *shape,
                 const json_t *data, layout how) {
    if (!init_layout(tensor, dtype, rank, shape, how) ||
        (int64_t)json_array_size(data) != lg_tensor_numel(tensor)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(data); i++) {
        const json_t *item = json_array_get(data, i);
        if (lg_dtype_is_float(dtype)) {
            lg_tensor_set_f64(tensor, (int64_t)i, number(item));
        } else {
            lg_tensor_set_i64(tensor, (int64_t)i, json_integer_value(item));
        }
    }
    return true;
}

static int read_shape(const json_t *value, int64_t *shape) {
    int rank = (int)json_array_size(value);
    for (int i = 0; i < rank && i < LG_MAX_RANK; i++) {
        shape[i] = json_integer_value(json_array_get(value, (size_t)i));
    }
    return rank;
}

static bool load_optional(lg_tensor *tensor, const json_t *data, int rank, const int64_t *shape,
                          layout how) {
    return json_is_null(data) || !data || load(tensor, LG_FLOAT64, rank, shape, data, how);
}

static bool read_reduction(const json_t *item, lg_reduction *reduction) {
    size_t n;
    const char *const *names = lg_reduction_names(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], json_string_value(item)) == 0) {
            *reduction = (lg_reduction)i;
            return true;
        }
    }
    return false;
}

static bool load_batch(const json_t *item, layout how, lg_batch *batch) {
    *batch = (lg_batch){.loss = {.direction = LG_BOTH, .ignore_index = -100}};
    const json_t *input = json_object_get(item, "input");
    const json_t *target = json_object_get(item, "target");
    const json_t *weight = json_object_get(item, "weight");
    const json_t *pos_weight = json_object_get(item, "pos_weight");
    const json_t *upstream = json_object_get(item, "grad_output");
    int64_t shape[LG_MAX_RANK] = {0};
    int64_t target_shape[LG_MAX_RANK] = {0};
    int rank = read_shape(json_object_get(input, "shape"), shape);
    int target_rank = read_shape(json_object_get(target, "shape"), target_shape);
    lg_dtype target_dtype;
    if (!lg_loss_kind_parse(json_string_value(json_object_get(item, "loss")), &batch->loss.kind) ||
        !read_reduction(json_object_get(item, "reduction"), &batch->loss.reduction) ||
        !lg_dtype_parse(json_string_value(json_object_get(target, "dtype")), &target_dtype)) {
        return false;
    }
    if (json_object_get(item, "ignore_index")) {
        batch->loss.ignore_index = json_integer_value(json_object_get(item, "ignore_index"));
        batch->loss.label_smoothing = number(json_object_get(item, "label_smoothing"));
    }
    bool binary = batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
    batch->target_is_probability =
        batch->loss.kind == LG_CROSS_ENTROPY && lg_dtype_is_float(target_dtype);
    int64_t n_upstream = (int64_t)json_array_size(upstream);
    int64_t n_weight = (int64_t)json_array_size(weight);
    int64_t n_pos = (int64_t)json_array_size(pos_weight);
    return load(&batch->input, LG_FLOAT64, rank, shape, json_object_get(input, "data"), how) &&
           load(&batch->target, target_dtype, target_rank, target_shape,
                json_object_get(target, "data"), how) &&
           load_optional(&batch->weight, weight, binary ? rank : 1, binary ? shape : &n_weight,
                         how) &&
           load_optional(&batch->pos_weight, pos_weight, 1, &n_pos, how) &&
           load_optional(&batch->grad_output, upstream, 1, &n_upstream, how);
}

// Finite: 1e-12 relative, absolute near zero. Otherwise the same class.
static bool agrees(double got, double want) {
    if (isfinite(want)) {
        return fabs(got - want) <= 1e-12 * fmax(1, fabs(want));
    }
    return isnan(want) ? isnan(got) : got == want;
}

static const departure *departure_of(const char *name) {
    for (int i = 0; i < N_DEPARTURES; i++) {
        if (strcmp(name, departures[i].name) == 0) {
            return &departures[i];
        }
    }
    return NULL;
}

static void check_values(const char *name, const char *what, const double *got, int64_t n,
                         const json_t *want, const departure *departs) {
    LG_CHECK_ROW(name, (int64_t)json_array_size(want) == n);
    for (int64_t i = 0; i < n && i < (int64_t)json_array_size(want); i++) {
        double expected = number(json_array_get(want, (size_t)i));
        if (departs && i >= departs->begin && i < departs->end) {
            // A departure that PyTorch no longer needs must leave the table.
            LG_CHECK_ROW(name, !agrees(departs->ours, expected));
            expected = departs->ours;
        }
        bool ok = agrees(got[i], expected);
        if (!ok) {
            fprintf(stderr, "\n    %s %s[%lld]: got %.17g, want %.17g\n", name, what, (long long)i,
                    got[i], expected);
        }
        LG_CHECK_ROW(name, ok);
    }
}

static void check_case(const json_t *item) {
    const char *name = json_string_value(json_object_get(item, "name"));
    const json_t *expected = json_object_get(item, "expected");
    const json_t *total = json_object_get(expected, "total_weight");
    lg_reference first = {0};
    for (int how = CONTIGUOUS; how < N_LAYOUTS; how++) {
        lg_batch batch;
        lg_reference reference = {0};
        bool loaded = load_batch(item, (layout)how, &batch);
        LG_CHECK_ROW(name, loaded);
        if (loaded && lg_reference_compute(&batch, true, &reference)) {
            int64_t n = lg_tensor_numel(&batch.input);
            if (how == CONTIGUOUS) {
                check_values(name, "loss", reference.loss, reference.n_loss,
                             json_object_get(expected, "loss"), NULL);
                check_values(name, "grad_input", reference.grad_input, n,
                             json_object_get(expected, "grad_input"), departure_of(name));
                LG_CHECK_ROW(name, reference.n_invalid == 0);
                if (total && !json_is_null(total)) {
                    LG_CHECK_ROW(name, agrees(reference.total_weight, number(total)));
                }
                first = reference;
                reference = (lg_reference){0};
            } else {
                LG_CHECK_ROW(name,
                             first.loss && memcmp(reference.loss, first.loss,
                                                  (size_t)first.n_loss * sizeof(double)) == 0);
                LG_CHECK_ROW(name,
                             first.grad_input && memcmp(reference.grad_input, first.grad_input,
                                                        (size_t)n * sizeof(double)) == 0);
            }
            lg_reference_free(&reference);
        } else {
            LG_CHECK_ROW(name, !"computed");
        }
        lg_batch_free(&batch);
    }
    lg_reference_free(&first);
}

static int n_seen;
static bool seen_departure[N_DEPARTURES];

static void check_file(const char *file) {
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/golden/%s", LG_TEST_DIR, file);
    json_t *cases = json_load_file(path, 0, &error);
    LG_CHECK_ROW(path, json_is_array(cases));
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *item = json_array_get(cases, i);
        const departure *departs = departure_of(json_string_value(json_object_get(item, "name")));
        if (departs) {
            seen_departure[departs - departures] = true;
        }
        check_case(item);
        n_seen++;
    }
    json_decref(cases);
}

static void test_index(void) {
    check_file("index_targets.json");
}

static void test_edge(void) {
    check_file("edge_cases.json");
}

static void test_probability(void) {
    check_file("probability_targets.json");
}

static void test_binary(void) {
    check_file("binary_targets.json");
}

static void test_all_seen(void) {
    CU_ASSERT_EQUAL(n_seen, N_CASES);
    for (int i = 0; i < N_DEPARTURES; i++) {
        LG_CHECK_ROW(departures[i].name, seen_departure[i]);
    }
}

// 0·log 0: NaN by the contract, 0 where a kernel declares that rule. A class that has a share of
// the probability keeps its infinite loss under both.
static void test_zero_log_zero(void) {
    static const struct {
        const char *name;
        bool rule;
        double shares[2];
        double want;
    } rows[] = {
        {"the contract", false, {0, 1}, NAN},
        {"the rule", true, {0, 1}, 0},
        {"a masked class with a share", true, {0.5, 0.5}, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = {.loss = {.kind = LG_CROSS_ENTROPY,
                                   .reduction = LG_REDUCTION_NONE,
                                   .ignore_index = -100,
                                   .direction = LG_BOTH,
                                   .zero_log_zero = rows[i].rule},
                          .classes = 2,
                          .target_is_probability = true};
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.input, LG_FLOAT64, 2, (int64_t[]){1, 2}));
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&batch.target, LG_FLOAT64, 2, (int64_t[]){1, 2}));
        lg_tensor_set_f64(&batch.input, 0, -INFINITY);
        lg_tensor_set_f64(&batch.input, 1, 0);
        for (int c = 0; c < 2; c++) {
            lg_tensor_set_f64(&batch.target, c, rows[i].shares[c]);
        }
        lg_reference reference;
        CU_ASSERT_TRUE_FATAL(lg_reference_compute(&batch, true, &reference));
        double got = reference.loss[0];
        LG_CHECK_ROW(rows[i].name, isnan(rows[i].want) ? isnan(got) : got == rows[i].want);
        LG_CHECK_ROW(rows[i].name, isfinite(reference.grad_input[0]));
        lg_reference_free(&reference);
        lg_batch_free(&batch);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"index targets as recorded", test_index},
        {"edge cases as recorded", test_edge},
        {"probability targets as recorded", test_probability},
        {"binary targets as recorded", test_binary},
        {"every recorded case was run", test_all_seen},
        {"0 log 0", test_zero_log_zero},
    };
    return lg_run_tests("model loss, recorded results", tests, sizeof tests / sizeof tests[0]);
}
