// SPDX-License-Identifier: Apache-2.0
// A loss that is not lossgate's, for the manifest in kernels/README.md: the mean of class-weighted
// negative log-likelihoods, one block, labels checked by an assert.
#include <cassert>
#include <cstdint>

extern "C" __global__ void my_loss_forward(float *output, const float *input, const int64_t *target,
                                           const float *weight, int64_t samples, int64_t n_classes,
                                           int64_t ignore_index) {
    __shared__ float losses[256];
    __shared__ float weights[256];
    float loss = 0;
    float sum = 0;
    for (int64_t row = threadIdx.x; row < samples; row += blockDim.x) {
        const int64_t label = target[row];
        if (label == ignore_index) {
            continue;
        }
        assert(label >= 0 && label < n_classes);
        const float w = weight ? weight[label] : 1.0f;
        loss -= w * input[row * n_classes + label];
        sum += w;
    }
    losses[threadIdx.x] = loss;
    weights[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            losses[threadIdx.x] += losses[threadIdx.x + half];
            weights[threadIdx.x] += weights[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *output = losses[0] / weights[0];
    }
}
