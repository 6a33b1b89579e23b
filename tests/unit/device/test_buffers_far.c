// SPDX-License-Identifier: Apache-2.0
// Views whose elements lie gigabytes apart on a device: what a kernel may touch of them, what is
// told of one that goes elsewhere, and what a device without such memory makes of the batch.
#include "unit/device/fixture.h"

#include "device/internal.h"

#include <sys/resource.h>

#define FAR INT64_C(3000000000)
enum { ELEMENTS = 3 };

// `ignore_index` says where it goes besides what is right.
static const char source[] =
    "using i64 = long long;\n"
    "extern \"C\" __global__ void far(float *output, float *input, float *target, i64 which,\n"
    "                                 i64 elements, i64 sn, i64 tn) {\n"
    "    for (i64 i = threadIdx.x; i < elements; i += blockDim.x) {\n"
    "        output[i] = input[i * sn] - target[i * tn];\n"
    "    }\n"
    "    if (threadIdx.x != 0) { return; }\n"
    "    switch (which) {\n"
    "    case 1: input[sn] = 7; break;\n"
    "    case 2: target[2 * tn] = 7; input[2 * sn] = 8; break;\n"
    "    case 3: input[sn + 1] = 7; break;\n"
    "    case 4: target[2 * tn + 1] = 7; break;\n"
    "    case 5: output[0] = input[sn + 1]; break;\n"
    "    case 6: output[0] = input[sn - 1]; break;\n"
    "    case 7: output[0] = input[-1]; break;\n"
    "    case 8: output[0] = input[static_cast<int>(sn)]; break;\n"
    "    case 9: output[0] = target[static_cast<unsigned>(2 * tn)]; break;\n"
    "    case 10: output[0] = input[2 * sn + 64]; break;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void narrow(float *output, float *input, int sn) {\n"
    "    output[0] = input[sn];\n"
    "}\n";

#define MANIFEST(name, args)                                                                       \
    "family: binary_cross_entropy_with_logits\nsource: far.cu\nkernels:\n"                         \
    "  - name: far/" name "\n    policy: none\n    dtypes: [float32]\n    targets: [float32]\n"    \
    "    reductions: [none]\n    strided: true\n    stages:\n      - entry: " name "\n"            \
    "        grid: [1]\n        block_x: [32, 64]\n        args: [" args "]\n"

static void open_fixture(fixture *f, const lg_driver *driver) {
    set_up_with(f, driver);
    write_text(f->tree, "far.cu", source);
    read_manifest(f, "far.yaml",
                  MANIFEST("far", "output, input, target, ignore_index, elements, input_stride_n, "
                                  "target_stride_n"));
    read_manifest(f, "narrow.yaml", MANIFEST("narrow", "output, input, input_stride_n"));
}

// Inputs 10, 11, 12 and targets 0, 1/4, 1/2.
static lg_batch far_batch(int64_t which) {
    lg_batch batch = {.loss = {.kind = LG_BCE_WITH_LOGITS,
                               .reduction = LG_REDUCTION_NONE,
                               .ignore_index = which,
                               .direction = LG_FORWARD},
                      .target_is_probability = true};
    const int64_t shape[] = {ELEMENTS}, stride[] = {FAR};
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_far(&batch.input, LG_FLOAT32, 1, shape, stride));
    CU_ASSERT_TRUE_FATAL(lg_tensor_init_far(&batch.target, LG_FLOAT32, 1, shape, stride));
    for (int64_t i = 0; i < ELEMENTS; i++) {
        lg_tensor_set_f64(&batch.input, i, 10 + (double)i);
        lg_tensor_set_f64(&batch.target, i, 0.25 * (double)i);
    }
    return batch;
}

static void check_right(const char *name, const lg_observation *seen) {
    const lg_output *out = lg_observation_output(seen, LG_ARG_OUTPUT);
    LG_CHECK_ROW(name, seen->status == LG_STATUS_OK);
    for (int64_t i = 0; out && out->values && i < ELEMENTS; i++) {
        LG_CHECK_ROW(name, out->values[i] == 10 + 0.75 * (double)i);
    }
}

static bool is_text(const char *got, const char *want) {
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    if (!same) {
        fprintf(stderr, "\n    got %s\n", got ? got : "nothing");
    }
    return same;
}

#define WROTE(what) "the kernel wrote to `" what "`, which is read only: element "

// In every mode: the right elements, and those that were written to or beside.
static void test_inside(void) {
    static const struct {
        const char *name;
        int which;
        const char *written;
        const char *beside; // the buffer
        int64_t offset;     // bytes from its first element
    } rows[] = {
        {"nothing else", 0, NULL, NULL, 0},
        {"an element", 1, WROTE("input") "[1] was 11, is 7", NULL, 0},
        {"the last ones", 2, WROTE("input") "[2] was 12, is 8", NULL, 0},
        {"beside an element", 3, NULL, "input", (FAR + 1) * 4},
        {"behind the last", 4, NULL, "target", (2 * FAR + 1) * 4},
    };
    static const lg_mode modes[] = {LG_MODE_BLOCKING, LG_MODE_ASYNC, LG_MODE_BLOCK_SIZES};
    fixture f;
    open_fixture(&f, lg_driver_sim());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            lg_batch batch = far_batch(rows[i].which);
            lg_observation seen;
            CU_ASSERT_TRUE_FATAL(run(&f, "far/far", &batch, modes[m], &seen));
            check_right(rows[i].name, &seen);
            LG_CHECK_ROW(rows[i].name, is_text(seen.input_written, rows[i].written));
            LG_CHECK_ROW(rows[i].name, seen.memory.present == (rows[i].beside != NULL));
            if (rows[i].beside) {
                LG_CHECK_ROW(rows[i].name,
                             is_text(lg_device_fault_name(seen.memory.kind, seen.memory.write),
                                     "write out of bounds"));
                LG_CHECK_ROW(rows[i].name, is_text(seen.memory.buffer, rows[i].beside));
                LG_CHECK_ROW(rows[i].name, seen.memory.offset == rows[i].offset);
            }
            lg_observation_free(&seen);
            lg_batch_free(&batch);
        }
    }
    tear_down(&f);
}

static void test_outside(void) {
    static const struct {
        const char *name;
        int which;
        const char *buffer;
        int64_t offset, distance;
    } rows[] = {
        {"before an element", 6, "input", (FAR - 1) * 4, 0},
        {"before the first", 7, "input", -4, -4},
        {"an int", 8, "input", (FAR - (INT64_C(1) << 32)) * 4, (FAR - (INT64_C(1) << 32)) * 4},
        {"an unsigned int", 9, "target", (2 * FAR - (INT64_C(1) << 32)) * 4, 0},
        {"behind the last", 10, "input", (2 * FAR + 64) * 4, 1},
    };
    fixture f;
    open_fixture(&f, lg_driver_sim());
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_batch batch = far_batch(rows[i].which);
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "far/far", &batch, LG_MODE_BLOCKING, &seen));
        LG_CHECK_ROW(rows[i].name, seen.status == LG_STATUS_ILLEGAL_ADDRESS);
        LG_CHECK_ROW(rows[i].name,
                     is_text(lg_device_fault_name(seen.memory.kind, seen.memory.write),
                             "read out of bounds"));
        LG_CHECK_ROW(rows[i].name, is_text(seen.memory.buffer, rows[i].buffer));
        LG_CHECK_ROW(rows[i].name, seen.memory.offset == rows[i].offset);
        LG_CHECK_ROW(rows[i].name, seen.memory.distance == rows[i].distance);
        lg_observation_free(&seen);
        lg_batch_free(&batch);
    }
    // Beside an element, in its granule, lies a number that nobody takes for a loss.
    lg_batch batch = far_batch(5);
    lg_observation seen;
    CU_ASSERT_TRUE_FATAL(run(&f, "far/far", &batch, LG_MODE_BLOCKING, &seen));
    CU_ASSERT_EQUAL(seen.status, LG_STATUS_OK);
    CU_ASSERT_TRUE(lg_observation_output(&seen, LG_ARG_OUTPUT)->values[0] < -1e37);
    lg_observation_free(&seen);
    lg_batch_free(&batch);
    tear_down(&f);
}

// Two ranges of 40 GB, a hundred times over, in a process that holds less than 200 MB.
static void test_memory(void) {
    struct rusage before, after;
    fixture f;
    open_fixture(&f, lg_driver_sim());
    lg_batch batch = far_batch(0);
    for (int i = 0; i < 100; i++) {
        lg_observation seen;
        CU_ASSERT_TRUE_FATAL(run(&f, "far/far", &batch, LG_MODE_BLOCKING, &seen));
        check_right("again", &seen);
        lg_observation_free(&seen);
        getrusage(RUSAGE_SELF, i == 0 ? &before : &after);
    }
#ifdef __SANITIZE_ADDRESS__ // keeps what is freed
    enum { LIMIT = 64 * 1024 };
#else
    enum { LIMIT = 16 * 1024 };
#endif
    CU_ASSERT_TRUE(after.ru_maxrss - before.ru_maxrss < LIMIT);
    lg_batch_free(&batch);
    tear_down(&f);
}

static CUresult no_memory(CUmemGenericAllocationHandle *handle, size_t bytes,
                          const CUmemAllocationProp *prop, unsigned long long flags) {
    (void)handle, (void)bytes, (void)prop, (void)flags;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult no_ranges(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr fixed,
                          unsigned long long flags) {
    (void)address, (void)bytes, (void)alignment, (void)fixed, (void)flags;
    return CUDA_ERROR_NOT_SUPPORTED;
}

// What a device cannot give, or a kernel cannot be told, is no fault of the kernel.
static void test_not_run(void) {
    lg_driver small = *lg_driver_sim(), old = small;
    small.cuMemCreate = no_memory;
    old.cuMemAddressReserve = no_ranges;
    const struct {
        const char *name;
        const lg_driver *driver;
        const char *kernel, *text;
    } rows[] = {
        {"no memory", &small, "far/far",
         "the device has no room for `input`, which spans 38.4 GiB: cuMemCreate (2)"},
        {"no ranges", &old, "far/far",
         "the device has no room for `input`, which spans 38.4 GiB: cuMemAddressReserve (801)"},
        {"an int parameter", lg_driver_sim(), "far/narrow",
         "it takes 'input_stride_n' in 32 bits, and 3000000000 does not fit"},
    };
    static const lg_mode modes[] = {LG_MODE_BLOCKING, LG_MODE_ASYNC, LG_MODE_BLOCK_SIZES};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fixture f;
        open_fixture(&f, rows[i].driver);
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            lg_batch batch = far_batch(0);
            lg_observation seen;
            CU_ASSERT_TRUE_FATAL(run(&f, rows[i].kernel, &batch, modes[m], &seen));
            LG_CHECK_ROW(rows[i].name, is_text(seen.not_run, rows[i].text));
            LG_CHECK_ROW(rows[i].name, f.diags.n == 0);
            lg_observation_free(&seen);
            lg_batch_free(&batch);
        }
        tear_down(&f);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"elements and what lies beside them", test_inside},
        {"where no element is", test_outside},
        {"memory", test_memory},
        {"what is not run", test_not_run},
    };
    return run_devrun_tests("far buffers", tests, sizeof tests / sizeof *tests);
}
