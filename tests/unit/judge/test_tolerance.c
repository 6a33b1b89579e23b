// SPDX-License-Identifier: Apache-2.0
// The tolerances: kernels computed honestly in their own precision pass, whatever the loss,
// options, type and size; the same kernels with one defect fail; and so does anything twice the
// bound away.
#include "judge/judge.h"

#include "unit/machine.h"
#include "unit/testing.h"

#include <float.h>
#include <string.h>

enum { N_BATCHES = 600 };

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

static double uniform(double low, double high) {
    return low + (high - low) * ((double)(bits() >> 11) * 0x1p-53);
}

static void fill(lg_tensor *t, double low, double high) {
    for (int64_t i = 0; i < lg_tensor_numel(t); i++) {
        lg_tensor_set_f64(t, i, uniform(low, high));
    }
}

typedef struct plan {
    lg_loss_kind kind;
    lg_reduction reduction;
    lg_dtype dtype;
    int64_t n, c, s;
    double smoothing, scale, shift;
    bool probability, weighted, upstream;
} plan;

static void make_batch(const plan *p, lg_batch *b) {
    const bool binary = p->kind == LG_BCE || p->kind == LG_BCE_WITH_LOGITS;
    const int64_t shape[] = {p->n, p->c, p->s};
    const int64_t rows[] = {p->n, p->s};
    *b = (lg_batch){.loss = {.kind = p->kind,
                             .reduction = p->reduction,
                             .ignore_index = -100,
                             .label_smoothing = p->smoothing,
                             .direction = LG_BOTH},
                    .target_is_probability = p->probability};
    bool dense = binary || p->probability;
    bool ok = lg_tensor_init(&b->input, p->dtype, 3, shape) &&
              lg_tensor_init(&b->target, dense ? p->dtype : LG_INT64, dense ? 3 : 2,
                             dense ? shape : rows) &&
              (!p->weighted ||
               lg_tensor_init(&b->weight, p->dtype, binary ? 3 : 1, binary ? shape : &p->c));
    CU_ASSERT_TRUE_FATAL(ok);
    fill(&b->input, -p->scale + p->shift, p->scale + p->shift);
    if (p->kind == LG_NLL_LOSS) {
        fill(&b->input, -p->scale, 0);
    } else if (p->kind == LG_BCE) {
        fill(&b->input, 0.001, 0.999);
    }
    if (dense) {
        fill(&b->target, 0, 1);
    } else {
        for (int64_t i = 0; i < p->n * p->s; i++) {
            lg_tensor_set_i64(&b->target, i, below(7) ? below(p->c) : -100);
        }
        lg_tensor_set_i64(&b->target, 0, 0);
    }
    if (p->weighted) {
        fill(&b->weight, 0.25, 3);
    }
    if (p->upstream) {
        int64_t n = p->reduction == LG_REDUCTION_NONE ? lg_batch_rows(b) : 1;
        CU_ASSERT_TRUE_FATAL(lg_tensor_init(&b->grad_output, p->dtype, 1, &n));
        fill(&b->grad_output, -2, 2);
    }
}

typedef struct shares {
    double loss, row, gradient, total_weight;
} shares;

// Runs the machine with a defect over the batch; the largest shares of the bounds.
static shares measure(const lg_batch *b, int lanes, bool keeps_lse, defect flaw) {
    lg_reference r;
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(b, true, &r));
    CU_ASSERT_EQUAL(r.n_invalid, 0);
    int64_t n = lg_tensor_numel(&b->input);
    machine m = {.batch = b, .lanes = lanes, .keeps_lse = keeps_lse, .defect = flaw, .state = 1};
    m.loss = calloc((size_t)r.n_rows + 1, sizeof *m.loss);
    m.grad = calloc((size_t)n + 1, sizeof *m.grad);
    m_run(&m);
    shares s = {0, 0, 0, 0};
    lg_quantity what = r.scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < r.n_loss; i++) {
        double bound = lg_tolerance(b, &r, what, i, r.loss[i]);
        double share = lg_compare(m.loss[i], r.loss[i], bound, b->input.dtype);
        double *worst = r.scalar ? &s.loss : &s.row;
        *worst = fmax(*worst, share);
    }
    for (int64_t i = 0; i < n; i++) {
        double bound = lg_tolerance(b, &r, LG_Q_GRADIENT, i, r.grad_input[i]);
        double share = lg_compare(m.grad[i], r.grad_input[i], bound, b->input.dtype);
        s.gradient = fmax(s.gradient, share);
        CU_ASSERT_TRUE(bound >= 0 && bound <= DBL_MAX);
        double twice = r.grad_input[i] + 2 * bound * (1 + 0x1p-40);
        CU_ASSERT_TRUE(bound == 0 || lg_compare(twice, r.grad_input[i], bound, b->input.dtype) > 1);
    }
    if (r.scalar) {
        double bound = lg_tolerance(b, &r, LG_Q_TOTAL_WEIGHT, 0, r.total_weight);
        lg_dtype wide = b->input.dtype == LG_FLOAT64 ? LG_FLOAT64 : LG_FLOAT32;
        s.total_weight = lg_compare(m.total_weight, r.total_weight, bound, wide);
    }
    free(m.loss);
    free(m.grad);
    lg_reference_free(&r);
    return s;
}

static void random_plan(plan *p) {
    static const lg_dtype dtypes[] = {LG_FLOAT64, LG_FLOAT32, LG_FLOAT16, LG_BFLOAT16};
    static const double scales[] = {0.01, 1, 4, 12, 60};
    *p = (plan){.kind = (lg_loss_kind)(LG_NLL_LOSS + below(4)),
                .reduction = (lg_reduction)below(3),
                .dtype = dtypes[below(4)],
                .n = 1 + below(40),
                .c = 2 + below(below(4) ? 20 : 300),
                .s = 1 + below(3),
                .scale = scales[below(5)],
                .shift = below(4) ? 0 : uniform(-200, 200),
                .weighted = below(2),
                .upstream = below(2)};
    if (p->kind == LG_CROSS_ENTROPY) {
        p->probability = !below(3);
        p->smoothing = below(2) ? 0 : uniform(0, 1);
    }
}

static void test_honest(void) {
    state = 77;
    shares worst[LG_N_DTYPES] = {0};
    for (int i = 0; i < N_BATCHES; i++) {
        static const int lanes[] = {1, 32, 128, 256};
        plan p;
        lg_batch batch;
        random_plan(&p);
        make_batch(&p, &batch);
        shares s =
            measure(&batch, p.c > 64 ? lanes[1 + below(3)] : lanes[below(2)], below(2), SOUND);
        bool ok = s.loss <= 1 && s.row <= 1 && s.gradient <= 1 && s.total_weight <= 1;
        if (!ok) {
            fprintf(stderr, "\n    %s %s %s %lldx%lldx%lld scale %g shift %g: %g %g %g %g",
                    lg_loss_kind_name(p.kind), lg_reduction_name(p.reduction),
                    lg_dtype_name(p.dtype), (long long)p.n, (long long)p.c, (long long)p.s, p.scale,
                    p.shift, s.loss, s.row, s.gradient, s.total_weight);
        }
        CU_ASSERT_TRUE(ok);
        shares *w = &worst[p.dtype];
        *w = (shares){fmax(w->loss, s.loss), fmax(w->row, s.row), fmax(w->gradient, s.gradient),
                      fmax(w->total_weight, s.total_weight)};
        lg_batch_free(&batch);
    }
    for (int d = LG_FLOAT64; d <= LG_BFLOAT16; d++) {
        printf("\n    %-8s largest share of the bound: loss %.3f, row loss %.3f, gradient %.3f",
               lg_dtype_name((lg_dtype)d), worst[d].loss, worst[d].row, worst[d].gradient);
        // A bound that nothing ever comes near would prove little.
        CU_ASSERT_TRUE(worst[d].row > 0.1);
        CU_ASSERT_TRUE(worst[d].gradient > 0.1);
    }
    printf(" ... ");
}

// Many rows and many classes in float: the sums that are long on a real device.
static void test_large(void) {
    static const plan rows[] = {
        {LG_NLL_LOSS, LG_REDUCTION_MEAN, LG_FLOAT32, 100000, 4, 1, 0, 9, 0, false, true, false},
        {LG_NLL_LOSS, LG_REDUCTION_SUM, LG_BFLOAT16, 100000, 2, 1, 0, 9, 0, false, false, false},
        {LG_BCE, LG_REDUCTION_MEAN, LG_FLOAT32, 200000, 1, 1, 0, 1, 0, false, true, false},
        {LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, LG_FLOAT32, 4, 50257, 1, 0, 6, 0, false, false, true},
        {LG_CROSS_ENTROPY, LG_REDUCTION_NONE, LG_FLOAT16, 2, 50257, 1, 0.1, 6, 0, false, true,
         true},
    };
    state = 8;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lg_batch batch;
        make_batch(&rows[i], &batch);
        shares s = measure(&batch, 256, i % 2, SOUND);
        printf("\n    %lldx%lld: loss %.4f, row loss %.4f, gradient %.4f", (long long)rows[i].n,
               (long long)rows[i].c, s.loss, s.row, s.gradient);
        CU_ASSERT_TRUE(s.loss <= 1 && s.row <= 1 && s.gradient <= 1 && s.total_weight <= 1);
        lg_batch_free(&batch);
    }
    printf(" ... ");
}

// Where a defect must show: l the loss, g the gradient, t the total weight.
typedef struct defect_row {
    const char *name, *shows_in;
    defect defect;
    plan plan;
} defect_row;

static void test_defects(void) {
    static const defect_row rows[] = {
        {"mean by count",
         "lgt",
         MEAN_BY_COUNT,
         {LG_NLL_LOSS, LG_REDUCTION_MEAN, LG_BFLOAT16, 64, 8, 1, 0, 4, 0, false, true, true}},
        {"ignored rows counted",
         "lgt",
         IGNORED_COUNTED,
         {LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, LG_FLOAT32, 500, 8, 1, 0, 4, 0, false, false, true}},
        {"smoothing without the true class",
         "lg",
         SMOOTHING_WITHOUT_TRUE,
         {LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, LG_FLOAT32, 16, 100, 1, 0.1, 4, 0, false, false,
          true}},
        {"a padded lane, 1000 classes",
         "lg",
         PADDED_LANE,
         {LG_CROSS_ENTROPY, LG_REDUCTION_NONE, LG_FLOAT32, 4, 1000, 1, 0, 0.01, 0, false, false,
          true}},
        {"a padded lane, double",
         "lg",
         PADDED_LANE,
         {LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, LG_FLOAT64, 4, 1000, 1, 0, 4, 0, false, false,
          true}},
        {"the next label",
         "l",
         NEXT_LABEL,
         {LG_NLL_LOSS, LG_REDUCTION_SUM, LG_FLOAT16, 8, 4, 1, 0, 4, 0, false, false, true}},
        {"rows added in bfloat16",
         "lgt",
         NARROW_SUM,
         {LG_CROSS_ENTROPY, LG_REDUCTION_MEAN, LG_BFLOAT16, 20000, 8, 1, 0, 4, 0, false, false,
          true}},
        {"total weight in float16",
         "t",
         NARROW_TOTAL_WEIGHT,
         {LG_NLL_LOSS, LG_REDUCTION_MEAN, LG_FLOAT16, 8000, 2, 1, 0, 4, 0, false, true, true}},
        {"it overflows in float16",
         "gt",
         NARROW_TOTAL_WEIGHT,
         {LG_NLL_LOSS, LG_REDUCTION_MEAN, LG_FLOAT16, 90000, 2, 1, 0, 4, 0, false, false, true}},
        {"total weight in bfloat16",
         "t",
         NARROW_TOTAL_WEIGHT,
         {LG_NLL_LOSS, LG_REDUCTION_MEAN, LG_BFLOAT16, 307, 2, 1, 0, 4, 0, false, true, true}},
        {"a dropped row in 100",
         "l",
         DROPPED_ROW,
         {LG_BCE, LG_REDUCTION_MEAN, LG_FLOAT32, 100, 1, 1, 0, 1, 0, false, false, true}},
        {"a dropped row in 10000",
         "l",
         DROPPED_ROW,
         {LG_BCE_WITH_LOGITS, LG_REDUCTION_SUM, LG_FLOAT32, 10000, 1, 1, 0, 2, 0, false, false,
          true}},
        {"log(1 - x) for log1p(-x)",
         "l",
         LOG_OF_ROUNDED,
         {LG_BCE, LG_REDUCTION_NONE, LG_FLOAT32, 100000, 1, 1, 0, 1, 0, false, false, true}},
        {"no upstream gradient",
         "g",
         NO_UPSTREAM,
         {LG_CROSS_ENTROPY, LG_REDUCTION_NONE, LG_BFLOAT16, 8, 8, 2, 0, 2, 0, true, true, true}},
        {"gradient without smoothing",
         "g",
         SMOOTHED_GRADIENT_PLAIN,
         {LG_CROSS_ENTROPY, LG_REDUCTION_SUM, LG_FLOAT16, 8, 8, 1, 0.1, 2, 0, false, false, true}},
    };
    state = 99;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *in = rows[i].shows_in;
        lg_batch batch;
        make_batch(&rows[i].plan, &batch);
        shares sound = measure(&batch, 32, false, SOUND);
        shares s = measure(&batch, 32, false, rows[i].defect);
        LG_CHECK_ROW(rows[i].name, fmax(sound.loss, sound.row) <= 1 && sound.gradient <= 1 &&
                                       sound.total_weight <= 1);
        LG_CHECK_ROW(rows[i].name, !strchr(in, 'l') || fmax(s.loss, s.row) > 2);
        LG_CHECK_ROW(rows[i].name, !strchr(in, 'g') || s.gradient > 2);
        LG_CHECK_ROW(rows[i].name, !strchr(in, 't') || s.total_weight > 2);
        lg_batch_free(&batch);
    }
}

// What must be exact has the bound 0.
static void test_exact(void) {
    plan p = {LG_NLL_LOSS, LG_REDUCTION_NONE, LG_FLOAT16, 3, 4, 1, 0, 4, 0, false, false, true};
    lg_batch b;
    lg_reference r;
    state = 4;
    make_batch(&p, &b);
    lg_tensor_set_i64(&b.target, 0, 2);
    lg_tensor_set_i64(&b.target, 1, -100);
    CU_ASSERT_TRUE_FATAL(lg_reference_compute(&b, true, &r));
    CU_ASSERT_EQUAL(lg_tolerance(&b, &r, LG_Q_ROW_LOSS, 1, 0), 0);
    CU_ASSERT_TRUE(lg_tolerance(&b, &r, LG_Q_ROW_LOSS, 0, r.loss[0]) > 0);
    CU_ASSERT_TRUE(lg_tolerance(&b, &r, LG_Q_GRADIENT, 2, r.grad_input[2]) > 0);
    CU_ASSERT_EQUAL(lg_tolerance(&b, &r, LG_Q_GRADIENT, 1, 0), 0);
    for (int64_t i = 4; i < 8; i++) {
        CU_ASSERT_EQUAL(lg_tolerance(&b, &r, LG_Q_GRADIENT, i, 0), 0);
    }
    CU_ASSERT_EQUAL(lg_tolerance(&b, &r, LG_Q_TOTAL_WEIGHT, 0, 2), 0);
    lg_reference_free(&r);
    lg_batch_free(&b);
}

static void test_compare(void) {
    static const struct {
        const char *name;
        double got, want, bound;
        lg_dtype dtype;
        double share;
    } rows[] = {
        {"equal", 1, 1, 0, LG_FLOAT32, 0},
        {"zeros of both signs", -0.0, 0.0, 0, LG_FLOAT32, 0},
        {"half of the bound", 1.5, 1, 1, LG_FLOAT32, 0.5},
        {"at the bound", 2, 1, 1, LG_FLOAT32, 1},
        {"twice the bound", 3, 1, 1, LG_FLOAT32, 2},
        {"not exact where exact is asked", 0x1p-1074, 0, 0, LG_FLOAT64, INFINITY},
        {"both NaN", NAN, NAN, 0, LG_FLOAT32, 0},
        {"NaN for a number", NAN, 1, 1, LG_FLOAT32, INFINITY},
        {"a number for NaN", 1, NAN, 1, LG_FLOAT32, INFINITY},
        {"infinity for NaN", INFINITY, NAN, 1, LG_FLOAT32, INFINITY},
        {"NaN for infinity", NAN, INFINITY, 1, LG_FLOAT32, INFINITY},
        {"same infinity", -INFINITY, -INFINITY, 0, LG_FLOAT32, 0},
        {"other infinity", -INFINITY, INFINITY, 1, LG_FLOAT32, INFINITY},
        {"a number for infinity", FLT_MAX, INFINITY, 1, LG_FLOAT32, INFINITY},
        {"infinity for a number", INFINITY, 3, 1, LG_FLOAT32, INFINITY},
        {"overflow of float", INFINITY, 6e38, 1, LG_FLOAT32, 0},
        {"overflow of float, wrong sign", -INFINITY, 6e38, 1, LG_FLOAT32, INFINITY},
        {"no overflow of double", INFINITY, 6e38, 1, LG_FLOAT64, INFINITY},
        {"overflow of float16", -INFINITY, -65520, 1, LG_FLOAT16, 0},
        {"largest float16", INFINITY, 65504, 1, LG_FLOAT16, INFINITY},
        {"overflow of float16 within the bound", INFINITY, 65504, 16, LG_FLOAT16, 0},
        {"NaN bound", 1.5, 1, NAN, LG_FLOAT32, INFINITY},
        {"negative bound", 1.5, 1, -1, LG_FLOAT32, INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double share = lg_compare(rows[i].got, rows[i].want, rows[i].bound, rows[i].dtype);
        LG_CHECK_ROW(rows[i].name, share == rows[i].share);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"honest kernels pass", test_honest},
        {"honest kernels with long sums pass", test_large},
        {"kernels with a defect fail", test_defects},
        {"what must be exact", test_exact},
        {"comparison by class, then by bound", test_compare},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof tests[0]);
}
