// SPDX-License-Identifier: Apache-2.0
//
// Broken binary cross-entropies, reduction none.
//
// The story. The quotient (p - t) / ((1 - p)·p) of the gradient is kept from 0/0 by a least
// divisor, which in float16 is itself 0: 10^-12 has no place there. The logarithm of a rounded 1 -
// p is off by more than a small p is; log1p(-p) is not. log 0 is held at -100: elsewhere, or not at
// all, it is another loss. On logits, log(1 + exp(-x)) overflows where x is far below 0 and
// max(-x, 0) + log1p(exp(-|x|)) does not; the positive weight belongs to the term of t.
// `fixed` comes from the same lines.
#include "../lossgate_reduce.cuh"

// The least divisor of the gradient: that of the contract, the same in the input's type, none.
enum class least { right, narrow, none };

template <typename T, least LEAST>
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
    const A bound = LEAST == least::none     ? A(0)
                    : LEAST == least::narrow ? widen(narrow<T>(A(1e-12f)))
                                             : A(1e-12f);
    const A spread = (A(1) - p) * p;
    grad_input[i] = narrow<T>(widen(grad_output[i]) * (p - t) / (spread > bound ? spread : bound));
}

// HELD_AT: the least logarithm; 0: there is none.
template <bool ROUNDED, int HELD_AT>
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
    const float bound = HELD_AT == 0 ? -INFINITY : HELD_AT;
    output[i] = (t - 1) * fmaxf(log_not, bound) - t * fmaxf(logf(p), bound);
}

template <bool NAIVE, bool OTHER_TERM = false>
__device__ void on_logits(float *output, const float *input, const float *target, int64_t n,
                          const float *pos_weight = nullptr) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float x = input[i];
    const float t = target[i];
    assert(t >= 0 && t <= 1);
    const float log_sum = NAIVE ? logf(1 + expf(-x)) : log1pf(expf(-fabsf(x))) + (x < 0 ? -x : 0);
    const float v = pos_weight ? pos_weight[i] : 1;
    if constexpr (OTHER_TERM) {
        output[i] = t * log_sum + v * (1 - t) * (x + log_sum);
    } else {
        output[i] = (1 - t) * x + (1 + (v - 1) * t) * log_sum;
    }
}

#define FORWARD_ENTRY(name, function)                                                              \
    extern "C" __global__ void bce_forward_##name(float *output, const float *input,               \
                                                  const float *target, int64_t elements) {         \
        function(output, input, target, elements);                                                 \
    }

#define POSITIVE_ENTRY(name, function)                                                             \
    extern "C" __global__ void bce_forward_##name(float *output, const float *input,               \
                                                  const float *target, const float *pos_weight,    \
                                                  int64_t elements) {                              \
        function(output, input, target, elements, pos_weight);                                     \
    }

#define BACKWARD_ENTRY(name, LEAST, d, T)                                                          \
    extern "C" __global__ void bce_backward_##name##_##d(                                          \
        T *grad_input, const T *grad_output, const T *input, const T *target, int64_t elements) {  \
        backward<T, least::LEAST>(grad_input, grad_output, input, target, elements);               \
    }

#define ROUNDED_LOG forward<true, -100>
#define LOG_OF_0 forward<false, 0>
#define LOG_AT_50 forward<false, -50>
#define RIGHT forward<false, -100>
#define OTHER_TERM on_logits<false, true>

FORWARD_ENTRY(rounded_log, ROUNDED_LOG)
FORWARD_ENTRY(log_of_zero, LOG_OF_0)
FORWARD_ENTRY(log_held_at_50, LOG_AT_50)
FORWARD_ENTRY(fixed, RIGHT)
FORWARD_ENTRY(naive_exp, on_logits<true>)
POSITIVE_ENTRY(other_term, OTHER_TERM)
POSITIVE_ENTRY(logits_fixed, on_logits<false>)
BACKWARD_ENTRY(least_in_input_type, narrow, float32, float)
BACKWARD_ENTRY(least_in_input_type, narrow, float16, __half)
BACKWARD_ENTRY(no_least, none, float32, float)
BACKWARD_ENTRY(fixed, right, float32, float)
BACKWARD_ENTRY(fixed, right, float16, __half)
