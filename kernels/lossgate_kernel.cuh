// SPDX-License-Identifier: Apache-2.0
// What every kernel file shares: the guard policies, the accumulator types, loads and stores of the
// narrow floats, and the expansion of one source into an entry a policy and type.
#pragma once
#include "lossgate_record.cuh"

#include <cassert>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// What a kernel promises for an invalid row; the words are those of the manifests.
enum class policy { assert_, report, nan, none };

// The halves are summed in float, as float is; double in double.
template <typename T> struct accumulator {
    using type = float;
};
template <> struct accumulator<double> {
    using type = double;
};
template <typename T> using acc_t = typename accumulator<T>::type;

__device__ inline double widen(double x) { return x; }
__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __device__ inline T narrow(acc_t<T> x);
template <> __device__ inline double narrow<double>(double x) { return x; }
template <> __device__ inline float narrow<float>(float x) { return x; }
template <> __device__ inline __half narrow<__half>(float x) { return __float2half_rn(x); }
template <> __device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}

template <typename A> __device__ inline A lowest();
template <> __device__ inline float lowest<float>() { return __int_as_float(0xff7fffff); }
template <> __device__ inline double lowest<double>() {
    return __longlong_as_double(0xffefffffffffffff);
}

template <typename A> __device__ inline A quiet_nan();
template <> __device__ inline float quiet_nan<float>() { return __int_as_float(0x7fffffff); }
template <> __device__ inline double quiet_nan<double>() {
    return __longlong_as_double(0x7fffffffffffffffLL);
}

// Where the `report` policy writes to, and as whom.
struct reporter {
    lossgate_record_ring *ring;
    uint32_t launch;
};

// LOSSGATE_GUARD(P, valid, condition, to, code, row, value, lower, upper) declares `bool valid`: may the
// row be used? A macro, so that `assert` shows the condition as written at the guard and its line.
//   assert  the device assert ends the launch
//   report  a record, and not valid
//   nan     not valid
//   none    always valid: unchecked
#define LOSSGATE_GUARD(P, valid, condition, to, code, row, value, lower, upper)                    \
    bool valid = true;                                                                             \
    if constexpr ((P) == policy::assert_) {                                                        \
        assert(condition);                                                                         \
    } else if constexpr ((P) != policy::none) {                                                    \
        valid = (condition);                                                                       \
        if ((P) == policy::report && !valid) {                                                     \
            lossgate_write_record((to).ring, (to).launch, (code), (row), (value), (lower),         \
                                  (upper));                                                        \
        }                                                                                          \
    }

// The combinations, one step a list: STEP(policy suffix, policy), then (…, dtype suffix, type), then
// (…, target suffix, type).
#define LOSSGATE_EACH_POLICY(STEP)                                                                 \
    STEP(assert, policy::assert_)                                                                  \
    STEP(report, policy::report)                                                                   \
    STEP(nan, policy::nan)                                                                         \
    STEP(none, policy::none)

#define LOSSGATE_EACH_INPUT(STEP, p, P)                                                            \
    STEP(p, P, float64, double)                                                                    \
    STEP(p, P, float32, float)                                                                     \
    STEP(p, P, float16, __half)                                                                    \
    STEP(p, P, bfloat16, __nv_bfloat16)

#define LOSSGATE_EACH_TARGET(ENTRY, p, P, d, T)                                                    \
    ENTRY(p, P, d, T, int64, int64_t)                                                              \
    ENTRY(p, P, d, T, int32, int32_t)                                                              \
    ENTRY(p, P, d, T, uint8, uint8_t)
