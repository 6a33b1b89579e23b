// SPDX-License-Identifier: Apache-2.0
//
// A broken gradient of binary cross-entropy. The quotient (p - t) / ((1 - p)·p) is kept from 0/0 by
// a least divisor, which in float16 is itself 0: 10^-12 has no place there.
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

#define BACKWARD_ENTRY(name, NARROW, d, T)                                                         \
    extern "C" __global__ void bce_backward_##name##_##d(                                          \
        T *grad_input, const T *grad_output, const T *input, const T *target, int64_t elements) {  \
        backward<T, NARROW>(grad_input, grad_output, input, target, elements);                     \
    }

BACKWARD_ENTRY(least_in_input_type, true, float32, float)
BACKWARD_ENTRY(least_in_input_type, true, float16, __half)
BACKWARD_ENTRY(fixed, false, float32, float)
BACKWARD_ENTRY(fixed, false, float16, __half)
