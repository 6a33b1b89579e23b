// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose every number is right, and which leave something of the caller's changed behind.
//
// The story. An input is read once, so its memory looks free: a kernel keeps a term where the
// logit was, cleans a label in place, scales the upstream gradient where it lies. The loss and the
// gradient come out right; the next operation that reads the same tensor is wrong. Flaw `none` is
// the fixed kernel, from the same lines.
//
// The shapes. Input N×C, target N, weight C or absent, one row a thread, reduction none, float32
// input, int64 labels, all packed.
#include "../lossgate_kernel.cuh"

enum class flaw {
    none,
    input,       // the term of the loss is kept where the log-probability was
    target,      // backward turns an ignored label into 0, after it is told from the others
    weight,      // the weight of a class is rounded to float16 in place, once its row is done
    grad_output, // backward keeps the scaled upstream gradient where the upstream gradient was
};

template <typename T> __device__ T &writable(const T &x) { return const_cast<T &>(x); }

template <flaw F>
__device__ void forward(float *output, const float *input, const int64_t *target,
                        const float *weight, int64_t samples, int64_t n_classes,
                        int64_t ignore_index) {
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
    const float w = weight ? weight[t] : 1.0f;
    const float term = -w * input[row * n_classes + t];
    output[row] = term;
    if constexpr (F == flaw::input) {
        writable(input[row * n_classes + t]) = term;
    }
    if constexpr (F == flaw::weight) {
        if (weight && row == samples - 1) {
            writable(weight[t]) = __half2float(__float2half_rn(w));
        }
    }
}

template <flaw F>
__device__ void backward(float *grad_input, const float *grad_output, const int64_t *target,
                         const float *weight, int64_t samples, int64_t n_classes,
                         int64_t ignore_index) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row >= samples) {
        return;
    }
    const int64_t t = target[row];
    for (int64_t c = 0; c < n_classes; c++) {
        grad_input[row * n_classes + c] = 0;
    }
    if (t == ignore_index) {
        if constexpr (F == flaw::target) {
            writable(target[row]) = 0;
        }
        return;
    }
    assert(t >= 0 && t < n_classes);
    const float scaled = -(weight ? weight[t] : 1.0f) * grad_output[row];
    grad_input[row * n_classes + t] = scaled;
    if constexpr (F == flaw::grad_output) {
        writable(grad_output[row]) = scaled;
    }
}

#define ENTRIES(F)                                                                                 \
    extern "C" __global__ void inputs_forward_##F(                                                 \
        float *output, const float *input, const int64_t *target, const float *weight,             \
        int64_t samples, int64_t n_classes, int64_t ignore_index) {                                \
        forward<flaw::F>(output, input, target, weight, samples, n_classes, ignore_index);         \
    }                                                                                              \
    extern "C" __global__ void inputs_backward_##F(                                                \
        float *grad_input, const float *grad_output, const int64_t *target, const float *weight,   \
        int64_t samples, int64_t n_classes, int64_t ignore_index) {                                \
        backward<flaw::F>(grad_input, grad_output, target, weight, samples, n_classes,             \
                          ignore_index);                                                           \
    }
ENTRIES(none)
ENTRIES(input)
ENTRIES(target)
ENTRIES(weight)
ENTRIES(grad_output)
