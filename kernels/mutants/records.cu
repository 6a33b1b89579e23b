// SPDX-License-Identifier: Apache-2.0
//
// Broken reporters: negative log-likelihoods that are right in every number, and whose fault records
// are wrong in one field each.
//
// The story. Whoever reads a fault record acts on it: a wrong row, launch or thread sends them to the
// wrong place. Flaw `none` is the reporter as it must be, from the same lines.
//
// The shapes. Input N×C, float32; int64 labels; no class weights; reduction none. One row a thread.
#include "../lossgate_kernel.cuh"

enum class flaw {
    none,
    row_in_block,     // the row is counted within its block
    value_clamped,    // the value is the label after it was moved into range
    upper_is_last,    // the upper bound is the last class, not the number of classes
    code_of_input,    // the label is called an input
    block_and_thread, // block and thread are exchanged
    launch_zero,      // every launch is called the first
    twice,            // two records a row
    once_a_warp,      // only the first bad lane of a warp writes
    forward_only,     // backward answers NaN and records nothing
};

template <flaw F>
__device__ void record(lossgate_record_ring *ring, uint32_t launch, int64_t row, int64_t t,
                       int64_t n_classes, bool backward) {
    if (F == flaw::forward_only && backward) {
        return;
    }
    if (F == flaw::once_a_warp && threadIdx.x % 32 != __ffs(__activemask()) - 1) {
        return;
    }
    const int64_t told_row = F == flaw::row_in_block ? threadIdx.x : row;
    const int64_t value = F == flaw::value_clamped ? (t < 0 ? 0 : n_classes - 1) : t;
    const uint32_t code = F == flaw::code_of_input ? 2 : 1;
    const uint32_t told_launch = F == flaw::launch_zero ? 0 : launch;
    const int64_t upper = F == flaw::upper_is_last ? n_classes - 1 : n_classes;
    if constexpr (F == flaw::block_and_thread) {
        const uint32_t slot = atomicAdd(&ring->count, 1u);
        if (slot < ring->capacity) {
            reinterpret_cast<lossgate_record *>(ring + 1)[slot] = {
                row,  t,    0, upper, {static_cast<int32_t>(threadIdx.x), 0, 0},
                {static_cast<int32_t>(blockIdx.x), 0, 0}, launch, code};
        }
    } else {
        for (int i = 0; i < (F == flaw::twice ? 2 : 1); i++) {
            lossgate_write_record(ring, told_launch, code, told_row, value, 0, upper);
        }
    }
}

template <flaw F>
__device__ void forward(float *output, const float *input, const int64_t *target, int64_t samples,
                        int64_t n_classes, int64_t ignore_index, lossgate_record_ring *ring,
                        uint32_t launch) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int64_t t = target[row];
    if (t == ignore_index) {
        output[row] = 0;
    } else if (t >= 0 && t < n_classes) {
        output[row] = -input[row * n_classes + t];
    } else {
        record<F>(ring, launch, row, t, n_classes, false);
        output[row] = quiet_nan<float>();
    }
}

template <flaw F>
__device__ void backward(float *grad_input, const float *grad_output, const int64_t *target,
                         int64_t samples, int64_t n_classes, int64_t ignore_index,
                         lossgate_record_ring *ring, uint32_t launch) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int64_t t = target[row];
    const bool good = t >= 0 && t < n_classes;
    const bool bad = t != ignore_index && !good;
    if (bad) {
        record<F>(ring, launch, row, t, n_classes, true);
    }
    for (int64_t c = 0; c < n_classes; c++) {
        grad_input[row * n_classes + c] = bad ? quiet_nan<float>() : 0;
    }
    if (t != ignore_index && good) {
        grad_input[row * n_classes + t] = -grad_output[row];
    }
}

#define RECORD_ENTRIES(F)                                                                          \
    extern "C" __global__ void record_forward_##F(                                                 \
        float *output, const float *input, const int64_t *target, int64_t samples,                 \
        int64_t n_classes, int64_t ignore_index, lossgate_record_ring *ring, uint32_t launch) {    \
        forward<flaw::F>(output, input, target, samples, n_classes, ignore_index, ring, launch);   \
    }                                                                                              \
    extern "C" __global__ void record_backward_##F(                                                \
        float *grad_input, const float *grad_output, const int64_t *target, int64_t samples,       \
        int64_t n_classes, int64_t ignore_index, lossgate_record_ring *ring, uint32_t launch) {    \
        backward<flaw::F>(grad_input, grad_output, target, samples, n_classes, ignore_index, ring, \
                          launch);                                                                 \
    }

RECORD_ENTRIES(none)
RECORD_ENTRIES(row_in_block)
RECORD_ENTRIES(value_clamped)
RECORD_ENTRIES(upper_is_last)
RECORD_ENTRIES(code_of_input)
RECORD_ENTRIES(block_and_thread)
RECORD_ENTRIES(launch_zero)
RECORD_ENTRIES(twice)
RECORD_ENTRIES(once_a_warp)
RECORD_ENTRIES(forward_only)
