// SPDX-License-Identifier: Apache-2.0
// Nanoseconds per element of the reference, forward and backward, on one core, beside a copy of the
// same bytes in the same run. Arguments: [rows [classes]], by default 4096 50257. The gradient is
// taken in ranges of rows, as a comparison takes it, so the run needs the batch and little more.
#include "reference/reference.h"
#include "support/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_AT_ONCE = 16 };

// Processor time: what a core spends, also while others use the machine.
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static bool fill(lg_batch *batch, int64_t rows, int64_t classes, lg_dtype dtype, bool binary,
                 bool probability) {
    const int64_t shape[] = {rows, classes};
    if (!lg_tensor_init(&batch->input, dtype, 2, shape) ||
        !lg_tensor_init(&batch->target, binary || probability ? dtype : LG_INT64,
                        binary || probability ? 2 : 1, shape)) {
        return false;
    }
    uint64_t state = 1;
    for (int64_t i = 0; i < rows * classes; i++) {
        double unit = next(&state) * 0x1p-31;
        double value = batch->loss.kind == LG_BCE ? unit : unit * 12 - 6;
        lg_dtype_set_f64(dtype, batch->input.data, i, value);
    }
    for (int64_t i = 0; i < lg_tensor_numel(&batch->target); i++) {
        if (binary || probability) {
            lg_dtype_set_f64(dtype, batch->target.data, i, binary ? next(&state) & 1 : 1.0 / 3);
        } else {
            ((int64_t *)batch->target.data)[i] = next(&state) % classes;
        }
    }
    return true;
}

// Copies as many bytes as the input has, through a buffer of one row range.
static double copy_seconds(const lg_tensor *input, int64_t rows) {
    size_t chunk = lg_tensor_bytes(input) / (size_t)rows * ROWS_AT_ONCE;
    char *out = lg_xmalloc(chunk);
    double begin = seconds();
    for (size_t at = 0; at + chunk <= lg_tensor_bytes(input); at += chunk) {
        memcpy(out, (const char *)input->data + at, chunk);
        __asm__ volatile("" : : "r"(out) : "memory");
    }
    double end = seconds();
    free(out);
    return end - begin;
}

static int measure(const char *name, lg_loss_options loss, lg_dtype dtype, bool probability,
                   int64_t rows, int64_t classes) {
    bool binary = loss.kind == LG_BCE || loss.kind == LG_BCE_WITH_LOGITS;
    lg_batch batch = {.loss = loss, .target_is_probability = probability};
    lg_reference reference = {0};
    if (!fill(&batch, rows, classes, dtype, binary, probability)) {
        fprintf(stderr, "bench_reference: out of memory for %s\n", name);
        return 1;
    }
    double n = (double)(rows * classes);
    double copy = copy_seconds(&batch.input, rows);
    double start = seconds();
    bool ok = lg_reference_compute(&batch, false, &reference);
    double forward = seconds() - start;
    int64_t total = reference.n_rows;
    int64_t step = binary ? ROWS_AT_ONCE * classes : ROWS_AT_ONCE;
    double *gradient = lg_xmalloc((size_t)(ROWS_AT_ONCE * classes) * sizeof *gradient);
    double checksum = 0;
    start = seconds();
    for (int64_t row = 0; ok && row < total; row += step) {
        int64_t end = row + step < total ? row + step : total;
        lg_reference_gradient_rows(&batch, &reference, row, end, gradient);
        checksum += gradient[0];
    }
    double backward = seconds() - start;
    ok = ok && isfinite(reference.loss[0]) && isfinite(checksum);
    printf("%-34s %-9s %6.2f %6.2f %6.2f %8.2f\n", name, lg_dtype_name(dtype), 1e9 * forward / n,
           1e9 * backward / n, 1e9 * (forward + backward) / n, 1e9 * copy / n);
    free(gradient);
    lg_reference_free(&reference);
    lg_batch_free(&batch);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 4096;
    int64_t classes = argc > 2 ? strtoll(argv[2], NULL, 10) : 50257;
    if (rows < ROWS_AT_ONCE || classes < 1 || rows > INT32_MAX || classes > INT32_MAX) {
        fprintf(stderr, "usage: bench_reference [rows >= %d [classes >= 1]]\n", ROWS_AT_ONCE);
        return 2;
    }
    const lg_loss_options plain = {
        .kind = LG_CROSS_ENTROPY, .reduction = LG_REDUCTION_MEAN, .ignore_index = -100};
    lg_loss_options smooth = plain;
    smooth.label_smoothing = 0.1;
    lg_loss_options nll = plain;
    nll.kind = LG_NLL_LOSS;
    lg_loss_options bce = plain;
    bce.kind = LG_BCE;
    lg_loss_options logits = plain;
    logits.kind = LG_BCE_WITH_LOGITS;
    int64_t few = rows / 8 > ROWS_AT_ONCE ? rows / 8 : ROWS_AT_ONCE;
    printf(
        "reference, one core, %lld x %lld (the lines after the first: %lld rows), ns per element\n"
        "%-34s %-9s %6s %6s %6s %8s\n",
        (long long)rows, (long long)classes, (long long)few, "loss", "dtype", "fwd", "bwd", "both",
        "memcpy");
    int failed = measure("cross_entropy", plain, LG_FLOAT32, false, rows, classes);
    failed |= measure("cross_entropy", plain, LG_FLOAT64, false, few, classes);
    failed |= measure("cross_entropy", plain, LG_FLOAT16, false, few, classes);
    failed |= measure("cross_entropy", plain, LG_BFLOAT16, false, few, classes);
    failed |= measure("cross_entropy, smoothing", smooth, LG_FLOAT32, false, few, classes);
    failed |= measure("cross_entropy, probabilities", plain, LG_FLOAT32, true, few, classes);
    failed |= measure("nll_loss", nll, LG_FLOAT32, false, few, classes);
    failed |= measure("binary_cross_entropy", bce, LG_FLOAT32, false, few, classes);
    failed |= measure("binary_cross_entropy_with_logits", logits, LG_FLOAT32, false, few, classes);
    return failed;
}
