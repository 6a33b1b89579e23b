// SPDX-License-Identifier: Apache-2.0
// A mean in three launches: the terms of each row, their sum, the gradient. One of them can be
// wrong. And a pair of kernels, right, whose entries contain one another's names.
#include <cassert>
#include <cstdint>

#define KERNEL extern "C" __global__ void
#define ROW const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x

template <bool GUARDED>
__device__ void terms(float *scratch, const float *input, const int64_t *target, int64_t rows, int64_t classes,
                      int64_t ignore) {
    ROW;
    if (row >= rows) return;
    const int64_t t = target[row];
    if (GUARDED) assert(t == ignore || (t >= 0 && t < classes));
    const bool counts = t != ignore && t >= 0 && t < classes;
    scratch[2 * row] = counts ? -input[row * classes + t] : 0;
    scratch[2 * row + 1] = counts ? 1 : 0;
}
KERNEL terms_guarded(float *scratch, const float *input, const int64_t *target, int64_t rows, int64_t classes,
                     int64_t ignore) {
    terms<true>(scratch, input, target, rows, classes, ignore);
}
KERNEL terms_unguarded(float *scratch, const float *input, const int64_t *target, int64_t rows, int64_t classes,
                       int64_t ignore) {
    terms<false>(scratch, input, target, rows, classes, ignore);
}

__device__ void finish(float *output, float *total_weight, const float *scratch, int64_t rows, float more_loss,
                       float more_weight) {
    float sum = 0, weight = 0;
    for (int64_t row = 0; row < rows; row++) {
        sum += scratch[2 * row];
        weight += scratch[2 * row + 1];
    }
    output[0] = sum / weight + more_loss;
    total_weight[0] = weight + more_weight;
}
KERNEL finish_right(float *output, float *total_weight, const float *scratch, int64_t rows) {
    finish(output, total_weight, scratch, rows, 0, 0);
}
KERNEL finish_wrong_loss(float *output, float *total_weight, const float *scratch, int64_t rows) {
    finish(output, total_weight, scratch, rows, 0.5f, 0);
}
KERNEL finish_wrong_weight(float *output, float *total_weight, const float *scratch, int64_t rows) {
    finish(output, total_weight, scratch, rows, 0, 1);
}

// The gradient counts its rows itself, so that a wrong total weight spoils nothing but itself.
__device__ void gradient(float *grad_input, const float *grad_output, const int64_t *target, int64_t rows,
                         int64_t classes, int64_t ignore, float scale, int64_t beside) {
    ROW;
    if (row >= rows) return;
    const int64_t t = target[row];
    int64_t n = 0;
    for (int64_t r = 0; r < rows; r++) n += target[r] != ignore;
    for (int64_t c = 0; c < classes; c++) grad_input[row * classes + c] = 0;
    if (t == ignore) return;
    assert(t >= 0 && t < classes);
    grad_input[row * classes + (t + beside) % classes] = -grad_output[0] / n * scale;
}
#define GRADIENT_ARGS \
    float *grad_input, const float *grad_output, const float *total_weight, const int64_t *target, int64_t rows, \
        int64_t classes, int64_t ignore
KERNEL gradient_right(GRADIENT_ARGS) {
    gradient(grad_input, grad_output, target, rows, classes, ignore, 1, 0);
}
KERNEL gradient_wrong(GRADIENT_ARGS) {
    gradient(grad_input, grad_output, target, rows, classes, ignore, 1.25f, 0);
}
KERNEL gradient_beside(GRADIENT_ARGS) {
    gradient(grad_input, grad_output, target, rows, classes, ignore, 1, 1);
}
// More than 40 rows are too many for it.
KERNEL gradient_short(GRADIENT_ARGS) {
    gradient(grad_input, grad_output, target, rows, classes, ignore, rows > 40 ? 0.5f : 1, 0);
}

KERNEL pair_fwd_float32(float *output, const float *input, const int64_t *target, int64_t rows, int64_t classes,
                        int64_t ignore) {
    ROW;
    if (row >= rows) return;
    const int64_t t = target[row];
    assert(t == ignore || (t >= 0 && t < classes));
    output[row] = t == ignore ? 0 : -input[row * classes + t];
}
KERNEL pair_float32(float *grad_input, const float *grad_output, const int64_t *target, int64_t rows,
                    int64_t classes, int64_t ignore) {
    ROW;
    if (row >= rows) return;
    const int64_t t = target[row];
    for (int64_t c = 0; c < classes; c++) grad_input[row * classes + c] = 0;
    if (t == ignore) return;
    assert(t >= 0 && t < classes);
    grad_input[row * classes + t] = -grad_output[row];
}
