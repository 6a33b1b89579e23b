// SPDX-License-Identifier: Apache-2.0
//
// Broken binary cross-entropies, reduction none.
//
// The story. The quotient (p - t) / ((1 - p)·p) of the gradient is kept from 0/0 by a least
// divisor, which in float16 is itself 0: 10^-12 has no place there. The logarithm of a rounded 1 -
// p is off by more than a small p is; log1p(-p) is not. On logits, log(1 + exp(-x)) overflows where
// x is far below 0 and max(-x, 0) + log1p(exp(-|x|)) does not. `fixed` comes from the same lines.
#include "../lossgate_reduce.cuh"

template <typename T, bool NARROW>
__device__ void backward(T *grad_input, const T *grad_output, const T *input, const T *target,
                         int64_t n) {
    using A = acc_t<T>;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const A p = widen(input[i]);
    const A t = widen(target[i]);
    assert(p >= A(0) && p <= A(1));
    assert(t >= A(0) && t <= A(1));
    const A least = NARROW ? widen(narrow<T>(A(1e-12f))) : A(1e-12f);
    const A spread = (A(1) - p) * p;
    grad_input[i] = narrow<T>(widen(grad_output[i]) * (p - t) / (spread > least ? spread : least));
}

template <bool ROUNDED>
__device__ void forward(float *output, const float *input, const float *target, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float p = input[i];
    const float t = target[i];
    assert(p >= 0 && p <= 1);
    assert(t >= 0 && t <= 1);
    const float log_not = ROUNDED ? logf(1 - p) : log1pf(-p);
    output[i] = (t - 1) * fmaxf(log_not, -100) - t * fmaxf(logf(p), -100);
}

template <bool NAIVE>
__device__ void on_logits(float *output, const float *input, const float *target, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float x = input[i];
    const float t = target[i];
    assert(t >= 0 && t <= 1);
    const float log_sum = NAIVE ? logf(1 + expf(-x)) : log1pf(expf(-fabsf(x))) + (x < 0 ? -x : 0);
    output[i] = (1 - t) * x + log_sum;
}

#define FORWARD_ENTRY(name, function)                                                              \
    extern "C" __global__ void bce_forward_##name(float *output, const float *input,               \
                                                  const float *target, int64_t elements) {         \
        function(output, input, target, elements);                                                 \
    }

#define BACKWARD_ENTRY(name, NARROW, d, T)                                                         \
    extern "C" __global__ void bce_backward_##name##_##d(                                          \
        T *grad_input, const T *grad_output, const T *input, const T *target, int64_t elements) {  \
        backward<T, NARROW>(grad_input, grad_output, input, target, elements);                     \
    }

FORWARD_ENTRY(rounded_log, forward<true>)
FORWARD_ENTRY(fixed, forward<false>)
FORWARD_ENTRY(naive_exp, on_logits<true>)
FORWARD_ENTRY(logits_fixed, on_logits<false>)
BACKWARD_ENTRY(least_in_input_type, true, float32, float)
BACKWARD_ENTRY(least_in_input_type, true, float16, __half)
BACKWARD_ENTRY(fixed, false, float32, float)
BACKWARD_ENTRY(fixed, false, float16, __half)
