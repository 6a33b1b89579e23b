// SPDX-License-Identifier: Apache-2.0
// A cross-entropy that is not lossgate's and knows 32-bit labels only: one thread a row, no options.
// WIDE_CHECK makes its guard take label C.
#include <cassert>

#ifdef WIDE_CHECK
#define LAST(n_classes) (n_classes)
#else
#define LAST(n_classes) ((n_classes)-1)
#endif

__device__ float log_sum_exp(const float *x, int n_classes, float *max) {
    *max = x[0];
    for (int c = 1; c < n_classes; c++) {
        *max = fmaxf(*max, x[c]);
    }
    float sum = 0;
    for (int c = 0; c < n_classes; c++) {
        sum += expf(x[c] - *max);
    }
    return logf(sum);
}

extern "C" __global__ void ce_forward(float *output, const float *input, const int *target,
                                      int samples, int n_classes, int ignore_index) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int label = target[row];
    if (label == ignore_index) {
        output[row] = 0;
        return;
    }
    assert(label >= 0 && label <= LAST(n_classes));
    const float *x = input + static_cast<long long>(row) * n_classes;
    float max;
    const float lse = log_sum_exp(x, n_classes, &max);
    output[row] = lse - (x[label] - max);
}

extern "C" __global__ void ce_backward(float *grad_input, const float *grad_output,
                                       const float *input, const int *target, int samples,
                                       int n_classes, int ignore_index) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int label = target[row];
    const float *x = input + static_cast<long long>(row) * n_classes;
    float *g = grad_input + static_cast<long long>(row) * n_classes;
    if (label != ignore_index) {
        assert(label >= 0 && label <= LAST(n_classes));
    }
    float max;
    const float lse = log_sum_exp(x, n_classes, &max);
    for (int c = 0; c < n_classes; c++) {
        g[c] = label == ignore_index
                   ? 0
                   : grad_output[row] * (expf(x[c] - max - lse) - (c == label ? 1.0f : 0.0f));
    }
}
