// SPDX-License-Identifier: Apache-2.0
// Offsets beyond 2^32 elements in every kernel that takes strides, forward and backward: 26 GB of
// address space of which a few pages are touched. And the same kernels with one offset narrowed to
// 32 bits, which must be noticed.
#include "unit/sim/rig.h"

#include <math.h>
#include <sys/mman.h>

// Elements between two neighbours of the far axis: twice of it does not fit 32 bits either.
#define FAR (((int64_t)1 << 31) + 64)
enum { CLASSES = 3, THREADS = 32 };
#define REGION ((size_t)(CLASSES * FAR) * sizeof(float))

typedef struct params {
    _Alignas(8) unsigned char bytes[256];
    size_t n;
} params;

static void add(params *p, const void *from, size_t bytes) {
    p->n = (p->n + bytes - 1) / bytes * bytes;
    memcpy(p->bytes + p->n, from, bytes);
    p->n += bytes;
}

static void add_i64(params *p, int64_t value) {
    add(p, &value, sizeof value);
}

static void add_i32(params *p, int32_t value) {
    add(p, &value, sizeof value);
}

typedef struct world {
    float *input, *target, *grad; // hosts of the regions
    int64_t labels[THREADS];
    uint64_t input_at, target_at, grad_at, labels_at, ones_at, output_at, other_at;
} world;

typedef enum shape {
    CLASSES_FAR, // one sample of 3 classes, 2^31 + 64 rows: the first 32 are run
    SAMPLES_FAR, // 3 samples, each far from the last
} shape;

static int64_t n_rows(shape how) {
    return how == CLASSES_FAR ? THREADS : 3;
}

static int64_t offset(shape how, int64_t row, int64_t c) {
    return how == CLASSES_FAR ? c * FAR + row : row * FAR + c;
}

static double input_value(int64_t row, int64_t c) {
    return -(double)((row * 7 + c * 13) % 29) / 8;
}

static double target_value(int64_t row, int64_t c) {
    return (double)((row + c) % 3 + 1) / 6;
}

static void *reserve(void) {
    void *region = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CU_ASSERT_FATAL(region != MAP_FAILED);
    return region;
}

static void open_world(world *w, rig *r, shape how) {
    w->input = reserve();
    w->target = reserve();
    w->grad = reserve();
    for (int64_t row = 0; row < n_rows(how); row++) {
        w->labels[row] = (row * 2 + 2) % CLASSES;
        for (int64_t c = 0; c < CLASSES; c++) {
            w->input[offset(how, row, c)] = (float)input_value(row, c);
            w->target[offset(how, row, c)] = (float)target_value(row, c);
        }
    }
    float ones[THREADS];
    for (int i = 0; i < THREADS; i++) {
        ones[i] = 1;
    }
    w->input_at = lg_sim_map(r->sim, w->input, REGION);
    w->target_at = lg_sim_map(r->sim, w->target, REGION);
    w->grad_at = lg_sim_map(r->sim, w->grad, REGION);
    w->labels_at = rig_buffer(r, w->labels, sizeof w->labels);
    w->ones_at = rig_buffer(r, ones, sizeof ones);
    w->output_at = rig_buffer(r, NULL, sizeof ones);
    w->other_at = rig_buffer(r, NULL, sizeof ones);
}

static void close_world(world *w) {
    munmap(w->input, REGION);
    munmap(w->target, REGION);
    munmap(w->grad, REGION);
}

typedef enum family { NLL, CE, CE_PROBABILITY, BCE } family;

typedef struct wide_row {
    const char *name;
    const char *entry;
    family kind;
    bool backward;
    shape how;
} wide_row;

static const wide_row rows[] = {
    {"nll, far classes", "nll_loss_forward_spatial_no_reduce_none_float32_int64", NLL, false,
     CLASSES_FAR},
    {"nll, far samples", "nll_loss_forward_spatial_no_reduce_none_float32_int64", NLL, false,
     SAMPLES_FAR},
    {"nll gradient", "nll_loss_backward_spatial_no_reduce_none_float32_int64", NLL, true,
     CLASSES_FAR},
    {"cross-entropy, far classes", "cross_entropy_forward_spatial_none_float32_int64", CE, false,
     CLASSES_FAR},
    {"cross-entropy, far samples", "cross_entropy_forward_spatial_none_float32_int64", CE, false,
     SAMPLES_FAR},
    {"cross-entropy gradient", "cross_entropy_backward_spatial_none_float32_int64", CE, true,
     CLASSES_FAR},
    {"probabilities, far classes", "cross_entropy_forward_probability_none_float32", CE_PROBABILITY,
     false, CLASSES_FAR},
    {"probabilities, gradient", "cross_entropy_backward_probability_none_float32", CE_PROBABILITY,
     true, CLASSES_FAR},
    {"binary, far samples", "bce_with_logits_forward_strided_elementwise_none_float32", BCE, false,
     SAMPLES_FAR},
    {"binary gradient", "bce_with_logits_backward_strided_none_float32", BCE, true, SAMPLES_FAR},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void add_views(params *p, const wide_row *row) {
    const bool far_classes = row->how == CLASSES_FAR;
    if (row->kind == BCE) {
        add_i64(p, 3); // elements
        const int64_t view[] = {1, FAR, 1, FAR, 1};
        for (int i = 0; i < 5; i++) {
            add_i64(p, view[i]);
        }
        return;
    }
    const int64_t sizes[] = {far_classes ? 1 : 3, CLASSES, far_classes ? FAR : 1};
    const int64_t strides[] = {far_classes ? CLASSES * FAR : FAR, far_classes ? FAR : 1, 1};
    for (int i = 0; i < 3; i++) {
        add_i64(p, sizes[i]);
    }
    for (int i = 0; i < 3; i++) {
        add_i64(p, strides[i]);
    }
    if (row->kind == CE_PROBABILITY) {
        for (int i = 0; i < 3; i++) {
            add_i64(p, strides[i]);
        }
        return;
    }
    add_i64(p, 1);
    add_i64(p, 1);
    add_i64(p, -100); // ignore_index
}

static params arguments(const wide_row *row, const world *w) {
    params p = {0};
    const bool labels = row->kind == NLL || row->kind == CE;
    add_i64(&p, (int64_t)(row->backward ? (row->kind == BCE ? w->output_at : w->grad_at)
                                        : w->output_at));
    if (row->backward) {
        add_i64(&p, (int64_t)w->ones_at);
        if (row->kind == CE) {
            add_i64(&p, (int64_t)w->ones_at); // total_weight
        }
    } else if (row->kind == CE || row->kind == CE_PROBABILITY) {
        add_i64(&p, (int64_t)w->other_at);
        add_i64(&p, (int64_t)w->other_at);
    }
    if (!(row->kind == NLL && row->backward)) {
        add_i64(&p, (int64_t)w->input_at);
    }
    add_i64(&p, (int64_t)(labels ? w->labels_at : w->target_at));
    add_i64(&p, 0); // weight
    if (row->kind == BCE) {
        add_i64(&p, 0); // pos_weight
    }
    add_views(&p, row);
    if (row->kind == CE || row->kind == CE_PROBABILITY) {
        double smoothing = 0;
        add(&p, &smoothing, sizeof smoothing);
        add_i32(&p, 0);
    } else if (row->kind == BCE && row->backward) {
        add_i32(&p, 0);
    }
    add_i64(&p, 0); // the ring
    add_i32(&p, 0);
    return p;
}

static double probability(int64_t row, int64_t c) {
    double sum = 0;
    for (int64_t k = 0; k < CLASSES; k++) {
        sum += exp(input_value(row, k));
    }
    return exp(input_value(row, c)) / sum;
}

// The loss of a row, or the gradient of its class c.
static double expected(const wide_row *row, const world *w, int64_t r, int64_t c) {
    const int64_t label = w->labels[r];
    const double x = input_value(r, 0);
    const double t = target_value(r, 0);
    switch (row->kind) {
    case NLL:
        return row->backward ? (c == label ? -1 : 0) : -input_value(r, label);
    case CE:
        return row->backward ? probability(r, c) - (c == label) : -log(probability(r, label));
    case CE_PROBABILITY:
        if (row->backward) {
            return probability(r, c) - target_value(r, c);
        }
        return -target_value(r, 0) * log(probability(r, 0)) -
               target_value(r, 1) * log(probability(r, 1)) -
               target_value(r, 2) * log(probability(r, 2));
    case BCE:
        return row->backward ? 1 / (1 + exp(-x)) - t : x - t * x + log1p(exp(-x));
    }
    return NAN;
}

// Whether every number that the launch was to write is there.
static bool is_right(const wide_row *row, const world *w, rig *r) {
    float out[THREADS];
    rig_read(r, w->output_at, out, sizeof out);
    bool dense = row->backward && row->kind != BCE;
    bool right = true;
    for (int64_t i = 0; i < n_rows(row->how); i++) {
        for (int64_t c = 0; c < (dense ? CLASSES : 1); c++) {
            double got = dense ? w->grad[offset(row->how, i, c)] : out[i];
            right = right && fabs(got - expected(row, w, i, c)) <= 1e-5;
        }
    }
    return right;
}

static bool run(const wide_row *row, rig *r, lg_sim_status *status) {
    world w;
    open_world(&w, r, row->how);
    params p = arguments(row, &w);
    lg_sim_launch launch = rig_launch(1, THREADS, p.bytes, p.n);
    lg_sim_result result = rig_run(r, row->entry, &launch);
    *status = result.status;
    bool right = result.status == LG_SIM_OK && is_right(row, &w, r);
    lg_sim_result_free(&result);
    const uint64_t regions[] = {w.input_at, w.target_at, w.grad_at};
    for (int i = 0; i < 3; i++) {
        lg_sim_free(r->sim, regions[i]);
    }
    close_world(&w);
    return right;
}

// A kernel file with the unchecked float32, int64 entries alone, and `from` replaced by `to`.
static rig compile(const char *file, const char *from, const char *to) {
    char path[512];
    size_t n;
    snprintf(path, sizeof path, "%s/kernels/%s", LG_SOURCE_DIR, file);
    char *text = lg_read_file(path, &n);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    static const char include[] = "#include \"lossgate_reduce.cuh\"\n";
    char *at = strstr(text, include);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    lg_str out = {0};
    lg_str_printf(&out,
                  "#include \"%s/kernels/lossgate_reduce.cuh\"\n"
                  "#undef LOSSGATE_EACH_POLICY\n#undef LOSSGATE_EACH_INPUT\n"
                  "#undef LOSSGATE_EACH_TARGET\n"
                  "#define LOSSGATE_EACH_POLICY(STEP) STEP(none, policy::none)\n"
                  "#define LOSSGATE_EACH_INPUT(STEP, p, P) STEP(p, P, float32, float)\n"
                  "#define LOSSGATE_EACH_TARGET(ENTRY, p, P, d, T) ENTRY(p, P, d, T, int64, "
                  "int64_t)\n",
                  LG_SOURCE_DIR);
    const char *rest = at + strlen(include);
    const char *found = from ? strstr(rest, from) : NULL;
    CU_ASSERT_FATAL(!from || found);
    if (from) {
        lg_str_add_n(&out, rest, (size_t)(found - rest));
        lg_str_add(&out, to);
        rest = found + strlen(from);
    }
    lg_str_add(&out, rest);
    rig r = rig_compile(lg_str_text(&out));
    lg_str_free(&out);
    free(text);
    return r;
}

static const char *file_of(family kind) {
    return kind == NLL ? "nll_loss.cu" : kind == BCE ? "bce.cu" : "cross_entropy.cu";
}

static void test_wide(void) {
    static const char *const files[] = {"nll_loss.cu", "cross_entropy.cu", "bce.cu"};
    for (int f = 0; f < 3; f++) {
        rig r = compile(files[f], NULL, NULL);
        for (int i = 0; i < N_ROWS; i++) {
            lg_sim_status status;
            if (strcmp(file_of(rows[i].kind), files[f]) == 0) {
                LG_CHECK_ROW(rows[i].name, run(&rows[i], &r, &status));
                LG_CHECK_ROW(rows[i].name, status == LG_SIM_OK);
            }
        }
        rig_close(&r);
    }
}

typedef struct narrowed {
    int row; // of the table above: what must notice
    const char *from, *to;
} narrowed;

static const narrowed narrow_rows[] = {
    {0, "+ t * view.sc]", "+ static_cast<int>(t * view.sc)]"},
    {1, "return row / view.spatial * view.sn +",
     "return static_cast<int>(row / view.spatial * view.sn) +"},
    {2, "cell[t * view.spatial]", "cell[static_cast<int>(t * view.spatial)]"},
    {3, "x[(c + i * step) * sc]", "x[static_cast<int>((c + i * step) * sc)]"},
    {5, "cell[c * view.spatial] = narrow<T>(d)",
     "cell[static_cast<unsigned>(c * view.spatial)] = narrow<T>(d)"},
    {6, "smoothed(target, at + c * view.tc, view) *",
     "smoothed(target, at + static_cast<unsigned>(c * view.tc), view) *"},
    {8, "return i / spatial * sn +", "return static_cast<int>(i / spatial * sn) +"},
};

static void test_narrowed(void) {
    for (size_t i = 0; i < sizeof narrow_rows / sizeof *narrow_rows; i++) {
        const narrowed *n = &narrow_rows[i];
        rig r = compile(file_of(rows[n->row].kind), n->from, n->to);
        lg_sim_status status;
        LG_CHECK_ROW(n->to, !run(&rows[n->row], &r, &status));
        LG_CHECK_ROW(n->to, status == LG_SIM_OK || status == LG_SIM_ILLEGAL_ADDRESS);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"offsets beyond 32 bits", test_wide},
        {"an offset of 32 bits is noticed", test_narrowed},
    };
    return lg_run_tests("wide offsets", tests, sizeof tests / sizeof *tests);
}
