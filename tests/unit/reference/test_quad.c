// SPDX-License-Identifier: Apache-2.0
// The reference against an independent implementation in __float128, over random and extreme
// batches of every loss, option, dtype and layout. Prints the largest error of each quantity in
// units of the last place, and bounds it.
#include "reference/reference.h"

#include "unit/reference/quad_features.h"
#include "unit/reference/quad_loss.h"
#include "unit/testing.h"

#include <string.h>

enum { N_BATCHES = 3000 };

typedef enum quantity { ROW, LOSS, GRADIENT, TOTAL_WEIGHT, N_QUANTITIES } quantity;
static const char *const quantity_names[] = {"row loss", "loss", "gradient", "total weight"};
// In units of the last place of Σ|terms|. A row loss is at most: a rounded difference, a logarithm
// (1 ulp, libm) of a sum within 1, their sum, the weight and the smoothing factor; a gradient adds
// the exponential, the quotient and the upstream factors.
static const double allowed[] = {3, 3, 4, 1};

static uint64_t state;

static uint64_t bits(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int64_t below(int64_t n) {
    return (int64_t)(bits() % (uint64_t)n);
}

static bool one_in(int64_t n) {
    return below(n) == 0;
}

static double uniform(double low, double high) {
    return low + (high - low) * ((double)(bits() >> 11) * 0x1p-53);
}

// Contiguous, with gaps, axes in reverse order, or the first axis expanded (stride 0).
static void init_tensor(lg_tensor *t, lg_dtype dtype, int rank, const int64_t *shape) {
    int64_t stride[LG_MAX_RANK] = {0};
    int how = (int)below(4);
    int64_t step = how == 1 ? 2 : 1;
    for (int k = 0; k < rank; k++) {
        int i = how == 2 ? k : rank - 1 - k;
        stride[i] = how == 3 && i == 0 && rank > 1 ? 0 : step;
        step = step * (shape[i] > 0 ? shape[i] : 1) + (how == 1);
    }
    bool ok = how == 0 ? lg_tensor_init(t, dtype, rank, shape)
                       : lg_tensor_init_strided(t, dtype, rank, shape, stride);
    CU_ASSERT_TRUE_FATAL(ok);
}

static void fill_uniform(lg_tensor *t, double low, double high) {
    for (int64_t i = 0; i < lg_tensor_numel(t); i++) {
        lg_tensor_set_f64(t, i, uniform(low, high));
    }
}

static void fill_input(lg_batch *b, lg_dtype dtype) {
    static const double scales[] = {1e-8, 1, 4, 30, 700, 1e4, 1e30, 1e300};
    double scale = scales[below(dtype == LG_FLOAT64 ? 8 : dtype == LG_FLOAT16 ? 6 : 7)];
    double shift = one_in(4) ? scale * 50 : 0;
    bool special = one_in(5);
    for (int64_t i = 0; i < lg_tensor_numel(&b->input); i++) {
        double value = uniform(-scale, scale) + shift;
        if (b->loss.kind == LG_NLL_LOSS) {
            value = -fabs(value);
        }
        if (b->loss.kind == LG_BCE) {
            static const double ends[] = {0, 1, 1e-30, 1e-7, 0x1.fffffep-1, 0.5};
            value = one_in(4) ? ends[below(6)] : uniform(0, 1);
        }
        if (special && one_in(6)) {
            static const double odd[] = {-INFINITY, INFINITY, NAN, -2, 0};
            value = odd[one_in(2) ? 0 : below(5)];
        }
        lg_tensor_set_f64(&b->input, i, value);
    }
}

static void fill_labels(lg_batch *b, int64_t width) {
    bool faulty = one_in(6);
    for (int64_t i = 0; i < lg_tensor_numel(&b->target); i++) {
        int64_t label = width ? below(width) : 0;
        if (one_in(5)) {
            label = b->loss.ignore_index;
        }
        if (faulty && one_in(5)) {
            static const int64_t wild[] = {-1, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
            label = one_in(3) ? width : wild[below(4)];
        }
        lg_tensor_set_i64(&b->target, i, label);
        if (faulty && lg_dtype_is_float(b->target.dtype) && one_in(4)) {
            int64_t middle = width / 2;
            lg_tensor_set_f64(&b->target, i, one_in(3) ? NAN : 0.5 + (double)middle);
        }
    }
}

static void fill_binary_target(lg_batch *b) {
    bool faulty = one_in(6);
    for (int64_t i = 0; i < lg_tensor_numel(&b->target); i++) {
        double value = one_in(3) ? uniform(0, 1) : (double)below(2);
        if (faulty && one_in(5)) {
            value = one_in(2) ? NAN : uniform(-3, 3);
        }
        lg_tensor_set_f64(&b->target, i, value);
    }
}

static void fill_probabilities(lg_batch *b) {
    bool faulty = one_in(6);
    for (int64_t i = 0; i < lg_tensor_numel(&b->target); i++) {
        double value = one_in(4) ? (double)below(2) : uniform(0, 1);
        if (faulty && one_in(5)) {
            value = one_in(2) ? NAN : uniform(-1, 2);
        }
        lg_tensor_set_f64(&b->target, i, value);
    }
}

// Weights that no checked call takes; the formulas still say what they give. Infinite ones are
// among the recorded cases: infinity times a number below the range of a double is NaN in double
// alone.
static double odd_weight(void) {
    return one_in(2) ? -2 : NAN;
}

static void make_weights(lg_batch *b, bool binary, lg_dtype dtype, int64_t width) {
    bool odd = one_in(10);
    if (one_in(2)) {
        init_tensor(&b->weight, dtype, binary ? b->input.rank : 1,
                    binary ? b->input.shape : &width);
        fill_uniform(&b->weight, 0, 3);
        for (int64_t i = 0; i < lg_tensor_numel(&b->weight); i++) {
            if (one_in(6)) {
                lg_tensor_set_f64(&b->weight, i, odd ? odd_weight() : 0);
            }
        }
    }
    if (b->loss.kind == LG_BCE_WITH_LOGITS && one_in(2)) {
        init_tensor(&b->pos_weight, dtype, 1, &b->input.shape[b->input.rank - 1]);
        fill_uniform(&b->pos_weight, 0, 5);
    }
}

static void make_batch(lg_batch *b) {
    static const lg_dtype floats[] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16};
    static const lg_dtype labels[] = {LG_INT64, LG_INT64,   LG_INT32,
                                      LG_UINT8, LG_FLOAT64, LG_FLOAT32};
    static const double smoothings[] = {0, 0, 0, 0.1, 1, 0.37};
    *b = (lg_batch){.loss = {.kind = (lg_loss_kind)(LG_NLL_LOSS + below(4)),
                             .reduction = (lg_reduction)below(3),
                             .ignore_index = one_in(2) ? -100 : below(12),
                             .direction = LG_BOTH}};
    const bool binary = b->loss.kind == LG_BCE || b->loss.kind == LG_BCE_WITH_LOGITS;
    const bool probability = b->loss.kind == LG_CROSS_ENTROPY && one_in(3);
    const lg_dtype dtype = floats[below(4)];
    int rank = 1 + (int)below(4);
    int64_t shape[LG_MAX_RANK] = {1 + below(7), 1 + below(one_in(3) ? 40 : 9), 1 + below(4),
                                  1 + below(3)};
    shape[0] = rank > 1 && one_in(20) ? 0 : shape[0];
    shape[1] = one_in(30) && !binary ? 0 : shape[1];
    const int64_t width = binary ? 1 : shape[rank == 1 ? 0 : 1];
    if (b->loss.kind == LG_CROSS_ENTROPY) {
        b->loss.label_smoothing = smoothings[below(6)];
    }
    b->target_is_probability = probability;
    init_tensor(&b->input, dtype, rank, shape);
    fill_input(b, dtype);
    make_weights(b, binary, dtype, width);
    if (binary || probability) {
        init_tensor(&b->target, dtype, rank, shape);
    } else {
        int64_t rows[LG_MAX_RANK] = {shape[0], shape[2], shape[3]};
        init_tensor(&b->target, labels[below(6)], rank - 1, rows);
        fill_labels(b, width);
    }
    if (probability) {
        fill_probabilities(b);
    } else if (binary) {
        fill_binary_target(b);
    }
    if (one_in(2)) {
        int64_t n = b->loss.reduction == LG_REDUCTION_NONE ? lg_batch_rows(b) : 1;
        init_tensor(&b->grad_output, dtype, 1, &n);
        fill_uniform(&b->grad_output, -2, 2);
    }
}

static double worst[N_QUANTITIES];

static void compare(const lg_batch *b, quantity what, double got, quad_value want, int64_t where) {
    double ulps = quad_ulps(got, want.value, want.scale);
    bool ok = ulps <= allowed[what];
    worst[what] = fmax(worst[what], ulps);
    if (!ok) {
        fprintf(stderr, "\n    %s %s %s, smoothing %g: %s %lld: got %.17g, want %.17g, %g ulp",
                lg_loss_kind_name(b->loss.kind), lg_reduction_name(b->loss.reduction),
                lg_dtype_name(b->input.dtype), b->loss.label_smoothing, quantity_names[what],
                (long long)where, got, (double)want.value, ulps);
    }
    CU_ASSERT_TRUE(ok);
}

static void check_rows(const lg_batch *b, const lg_reference *r, const quad_result *q) {
    int64_t n_ignored = 0;
    int64_t n_invalid = 0;
    for (int64_t row = 0; row < q->n_rows; row++) {
        compare(b, ROW, r->row_loss[row], q->row[row], row);
        n_ignored += q->state[row] == 0;
        if (q->state[row] == 2) {
            CU_ASSERT_TRUE(n_invalid < r->n_invalid && r->invalid_rows[n_invalid] == row);
            n_invalid++;
        }
        for (int64_t c = 0; c < q->width; c++) {
            int64_t cell = quad_cell(q, row, c);
            compare(b, GRADIENT, r->grad_input[cell], q->gradient[row * q->width + c], cell);
        }
    }
    CU_ASSERT_EQUAL(r->n_invalid, n_invalid);
    CU_ASSERT_EQUAL(r->n_ignored, n_ignored);
}

// Any range of rows must give the very numbers of the whole gradient.
static void check_range(const lg_batch *b, const lg_reference *r, const quad_result *q) {
    if (q->n_rows == 0) {
        return;
    }
    int64_t begin = below(q->n_rows);
    int64_t end = begin + 1 + below(q->n_rows - begin);
    double *out = malloc((size_t)((end - begin) * q->width + 1) * sizeof *out);
    lg_reference_gradient_rows(b, r, begin, end, out);
    for (int64_t row = begin; row < end; row++) {
        for (int64_t c = 0; c < q->width; c++) {
            double one = out[(row - begin) * q->width + c];
            CU_ASSERT_TRUE(lg_same_bits(one, r->grad_input[quad_cell(q, row, c)]));
        }
    }
    free(out);
}

static void check_batch(const lg_batch *b) {
    lg_reference r;
    quad_result q = {0};
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(b, true, &r));
    quad_compute(b, &q);
    CU_ASSERT_EQUAL_FATAL(r.n_rows, q.n_rows);
    quad_count_features(b, &r);
    check_rows(b, &r, &q);
    check_range(b, &r, &q);
    const bool indices = b->loss.kind <= LG_CROSS_ENTROPY && !b->target_is_probability;
    if (r.scalar) {
        bool empty = !indices && b->loss.kind == LG_CROSS_ENTROPY &&
                     b->loss.reduction == LG_REDUCTION_MEAN && q.n_rows * q.width == 0;
        q.loss.value = empty ? QUAD_NAN : q.loss.value;
        compare(b, LOSS, r.loss[0], q.loss, 0);
    }
    CU_ASSERT_EQUAL(r.n_loss, r.scalar ? 1 : q.n_rows);
    if (indices && (r.scalar || b->input.rank == 1)) {
        compare(b, TOTAL_WEIGHT, r.total_weight, q.total_weight, 0);
    } else {
        CU_ASSERT_EQUAL(r.total_weight, r.scalar ? (double)q.n_rows : 0);
    }
    lg_reference_free(&r);
    quad_free(&q);
}

static void test_random(void) {
    state = 20240607;
    for (int i = 0; i < N_BATCHES; i++) {
        lg_batch batch;
        make_batch(&batch);
        check_batch(&batch);
        lg_batch_free(&batch);
    }
    for (int what = 0; what < N_QUANTITIES; what++) {
        printf("\n    largest error of the %s: %.3f ulp (allowed %g)", quantity_names[what],
               worst[what], allowed[what]);
        CU_ASSERT_TRUE(worst[what] > 0); // something was measured
    }
    quad_check_features();
    printf(" ... ");
}

// Long sums: 200,000 rows whose terms span 12 orders of magnitude, and one row of 300,000 classes.
static void test_long(void) {
    state = 3;
    for (int turn = 0; turn < 2; turn++) {
        const int64_t shape[] = {turn ? 1 : 200000, turn ? 300000 : 2};
        lg_batch b = {.loss = {.kind = LG_CROSS_ENTROPY,
                               .reduction = LG_REDUCTION_MEAN,
                               .ignore_index = -100,
                               .label_smoothing = turn ? 0.1 : 0}};
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&b.input, LG_FLOAT32, 2, shape));
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&b.target, LG_INT64, 1, shape));
        for (int64_t i = 0; i < lg_tensor_numel(&b.input); i++) {
            lg_tensor_set_f64(&b.input, i, uniform(-14, 14));
        }
        for (int64_t i = 0; i < shape[0]; i++) {
            lg_tensor_set_i64(&b.target, i, below(shape[1]));
        }
        lg_reference r;
        CU_ASSERT_TRUE_FATAL(lg_reference_compute(&b, false, &r));
        quad total = 0;
        for (int64_t row = 0; row < shape[0]; row++) {
            quad z = 0;
            quad sum = 0;
            for (int64_t c = 0; c < shape[1]; c++) {
                z += quad_exp(quad_at(&b.input, row * shape[1] + c));
                sum += quad_at(&b.input, row * shape[1] + c);
            }
            quad lse = quad_log(z);
            quad x = quad_at(&b.input, row * shape[1] + lg_tensor_get_i64(&b.target, row));
            quad e = (quad)b.loss.label_smoothing;
            total += (1 - e) * (lse - x) + e * (lse - sum / shape[1]);
        }
        quad want = total / shape[0];
        double ulps = quad_ulps(r.loss[0], want, want);
        printf("\n    %lld x %lld: %.3f ulp ... ", (long long)shape[0], (long long)shape[1], ulps);
        CU_ASSERT_TRUE(ulps <= 4);
        lg_reference_free(&r);
        lg_batch_free(&b);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"random and extreme batches", test_random},
        {"long sums", test_long},
    };
    return lg_run_tests("model loss, in __float128", tests, sizeof tests / sizeof tests[0]);
}
