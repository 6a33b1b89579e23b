// SPDX-License-Identifier: Apache-2.0
// A cross-entropy of somebody's own: half logits, 32-bit labels, a block a row and one thread for
// the mean. Tests break it one character at a time.
#include <cassert>
#include <cuda_fp16.h>

static __device__ float reduce(float *shared, float value, bool largest) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = shared[threadIdx.x + half];
            shared[threadIdx.x] =
                largest ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
        }
        __syncthreads();
    }
    float total = shared[0];
    __syncthreads();
    return total;
}

extern "C" __global__ void half_rows(const __half *logits, const int *labels, float *losses,
                                     float *counts, int n_classes, int ignore) {
    __shared__ float shared[64];
    const __half *row = logits + (size_t)blockIdx.x * n_classes;
    int label = labels[blockIdx.x];
    if (label == ignore) {
        losses[blockIdx.x] = 0;
        counts[blockIdx.x] = 0;
        return;
    }
    assert(label >= 0 && label < n_classes);
    float top = -INFINITY;
    for (int k = threadIdx.x; k < n_classes; k += blockDim.x) {
        top = fmaxf(top, __half2float(row[k]));
    }
    top = reduce(shared, top, true);
    float sum = 0;
    for (int k = threadIdx.x; k < n_classes; k += blockDim.x) {
        sum += expf(__half2float(row[k]) - top);
    }
    sum = reduce(shared, sum, false);
    losses[blockIdx.x] = logf(sum) + top - __half2float(row[label]);
    counts[blockIdx.x] = 1;
}

extern "C" __global__ void half_mean(const float *losses, const float *counts, __half *output,
                                     int n_rows) {
    float loss = 0;
    float count = 0;
    for (int n = 0; n < n_rows; n++) {
        loss += losses[n];
        count += counts[n];
    }
    *output = __float2half(loss / count);
}
