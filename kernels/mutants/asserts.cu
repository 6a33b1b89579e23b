// SPDX-License-Identifier: Apache-2.0
//
// One kernel for two builds: with device asserts, and with NDEBUG, which removes them.
#include <cassert>
#include <cstdint>

extern "C" __global__ void nll_forward(float *output, const float *input, const int64_t *target,
                                       int64_t samples, int64_t n_classes, int64_t ignore_index) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int64_t t = target[row];
    if (t == ignore_index) {
        output[row] = 0;
        return;
    }
    assert(t >= 0 && t < n_classes);
    output[row] = -input[row * n_classes + t];
}
