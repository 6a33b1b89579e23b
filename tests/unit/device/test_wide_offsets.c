// SPDX-License-Identifier: Apache-2.0
// Offsets beyond 2^32 elements into gradients, which are contiguous, so that no scenario reaches
// them with few elements (scenarios/wide has the strided inputs): 26 GB of address space of which a
// few pages are touched. And the same kernels with one offset narrowed to 32 bits, which must be
// noticed.
#include "unit/engine/sim/rig.h"

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
    uint64_t input_at, target_at, grad_at, labels_at, ones_at;
} world;

// One sample of 3 classes and 2^31 + 64 rows, of which the first 32 are run.
static int64_t offset(int64_t row, int64_t c) {
    return c * FAR + row;
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

static void open_world(world *w, rig *r) {
    w->input = reserve();
    w->target = reserve();
    w->grad = reserve();
    for (int64_t row = 0; row < THREADS; row++) {
        w->labels[row] = (row * 2 + 2) % CLASSES;
        for (int64_t c = 0; c < CLASSES; c++) {
            w->input[offset(row, c)] = (float)input_value(row, c);
            w->target[offset(row, c)] = (float)target_value(row, c);
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
}

static void close_world(world *w) {
    munmap(w->input, REGION);
    munmap(w->target, REGION);
    munmap(w->grad, REGION);
}

typedef enum family { NLL, CE, CE_PROBABILITY } family;

typedef struct wide_row {
    const char *name;
    const char *entry;
    family kind;
} wide_row;

static const wide_row rows[] = {
    {"nll", "nll_loss_backward_spatial_no_reduce_none_float32_int64", NLL},
    {"cross-entropy", "cross_entropy_backward_spatial_none_float32_int64", CE},
    {"probabilities", "cross_entropy_backward_probability_none_float32", CE_PROBABILITY},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static void add_views(params *p, const wide_row *row) {
    const int64_t sizes[] = {1, CLASSES, FAR};
    const int64_t strides[] = {CLASSES * FAR, FAR, 1};
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
    add_i64(&p, (int64_t)w->grad_at);
    add_i64(&p, (int64_t)w->ones_at);
    if (row->kind == CE) {
        add_i64(&p, (int64_t)w->ones_at); // total_weight
    }
    if (row->kind != NLL) {
        add_i64(&p, (int64_t)w->input_at);
    }
    add_i64(&p, (int64_t)(row->kind == CE_PROBABILITY ? w->target_at : w->labels_at));
    add_i64(&p, 0); // weight
    add_views(&p, row);
    if (row->kind != NLL) {
        double smoothing = 0;
        add(&p, &smoothing, sizeof smoothing);
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

// The gradient of a row's class c.
static double expected(const wide_row *row, const world *w, int64_t r, int64_t c) {
    const int64_t label = w->labels[r];
    switch (row->kind) {
    case NLL:
        return c == label ? -1 : 0;
    case CE:
        return probability(r, c) - (c == label);
    case CE_PROBABILITY:
        return probability(r, c) - target_value(r, c);
    }
    return NAN;
}

// Whether every number that the launch was to write is there.
static bool is_right(const wide_row *row, const world *w) {
    bool right = true;
    for (int64_t i = 0; i < THREADS; i++) {
        for (int64_t c = 0; c < CLASSES; c++) {
            right = right && fabs(w->grad[offset(i, c)] - expected(row, w, i, c)) <= 1e-5;
        }
    }
    return right;
}

static bool run(const wide_row *row, rig *r, lg_sim_status *status) {
    world w;
    open_world(&w, r);
    params p = arguments(row, &w);
    lg_sim_launch launch = rig_launch(1, THREADS, p.bytes, p.n);
    lg_sim_result result = rig_run(r, row->entry, &launch);
    *status = result.status;
    bool right = result.status == LG_SIM_OK && is_right(row, &w);
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
    return kind == NLL ? "nll_loss.cu" : "cross_entropy.cu";
}

static void test_wide(void) {
    static const char *const files[] = {"nll_loss.cu", "cross_entropy.cu"};
    for (int f = 0; f < 2; f++) {
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
    {0, "cell[t * view.spatial]", "cell[static_cast<int>(t * view.spatial)]"},
    {1, "cell[c * view.spatial] = narrow<T>(d)",
     "cell[static_cast<unsigned>(c * view.spatial)] = narrow<T>(d)"},
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
