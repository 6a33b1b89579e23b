// SPDX-License-Identifier: Apache-2.0
//
// Guards that are nearly right: every number of a clean batch is, and so is every assert but one.
//
// The story. A scenario shows only the bad values it holds, and an assert of the forward pass ends
// the context before a guard of the backward one is ever asked. So each build proves its guards by
// itself, forward and backward apart, with several bad values; these are what that must catch. Flaw
// `none` comes from the same lines.
//
// The shapes. nll_…: input N×C, float32, int64 labels, mean, one block; backward reads the total
// weight that forward wrote. bce_…: n elements, float32, reduction none.
#include "../lossgate_reduce.cuh"

enum class flaw {
    none,
    backward_from_minus_one, // backward takes -1 for a class
    backward_at_width,       // backward takes C for a class
    backward_unguarded,      // only forward asserts
    forward_unguarded,       // only backward asserts: too late for whoever read the loss
    by_negation,             // -t <= 0 for t >= 0: the least integer is its own negative
    trap,                    // the launch is stopped, and nothing says by what
    upper_only,              // a probability below 0 passes
    lower_only,              // a probability above 1 passes
    nan_passes,              // the test is made of comparisons that are false for NaN
    target_unguarded,        // only the input is tested
    slack,                   // a probability a little outside passes
};

template <flaw F> __device__ void guard_label(int64_t t, int64_t n_classes, bool backward) {
    if constexpr (F == flaw::backward_unguarded || F == flaw::forward_unguarded) {
        if (backward == (F == flaw::backward_unguarded)) {
            return;
        }
    }
    if constexpr (F == flaw::backward_from_minus_one) {
        if (backward) {
            assert(t >= -1 && t < n_classes);
            return;
        }
    }
    if constexpr (F == flaw::backward_at_width) {
        if (backward) {
            assert(t >= 0 && t <= n_classes);
            return;
        }
    }
    if constexpr (F == flaw::by_negation) {
        const int64_t negative = static_cast<int64_t>(0 - static_cast<uint64_t>(t));
        assert(negative <= 0 && t < n_classes);
        return;
    }
    if constexpr (F == flaw::trap) {
        if (t < 0 || t >= n_classes) {
            __trap();
        }
        return;
    }
    assert(t >= 0 && t < n_classes);
}

template <flaw F>
__device__ void nll_forward(float *output, float *total_weight, const float *input,
                            const int64_t *target, int64_t samples, int64_t n_classes,
                            int64_t ignore_index) {
    row_term<float> sum = {0, 0};
    for (int64_t row = threadIdx.x; row < samples; row += blockDim.x) {
        const int64_t t = target[row];
        if (t != ignore_index) {
            guard_label<F>(t, n_classes, false);
            sum.loss -= input[row * n_classes + t];
            sum.weight += 1;
        }
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *total_weight = sum.weight;
        *output = sum.loss / sum.weight;
    }
}

template <flaw F>
__device__ void nll_backward(float *grad_input, const float *grad_output,
                             const float *total_weight, const int64_t *target, int64_t samples,
                             int64_t n_classes, int64_t ignore_index) {
    const float scale = *grad_output / *total_weight;
    for (int64_t row = threadIdx.x; row < samples; row += blockDim.x) {
        const int64_t t = target[row];
        if (t != ignore_index) {
            guard_label<F>(t, n_classes, true);
        }
        for (int64_t c = 0; c < n_classes; c++) {
            grad_input[row * n_classes + c] = t != ignore_index && c == t ? -scale : 0;
        }
    }
}

template <flaw F> __device__ void guard_number(float x) {
    if constexpr (F == flaw::upper_only) {
        assert(x <= 1);
    } else if constexpr (F == flaw::lower_only) {
        assert(x >= 0);
    } else if constexpr (F == flaw::nan_passes) {
        assert(!(x < 0 || x > 1));
    } else if constexpr (F == flaw::slack) {
        assert(x >= -1e-5f && x <= 1 + 1e-5f);
    } else {
        assert(x >= 0 && x <= 1);
    }
}

template <flaw F>
__device__ void bce_element(float *output, float *grad_input, const float *grad_output,
                            const float *input, const float *target, int64_t n) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float p = input[i];
    const float t = target[i];
    guard_number<F>(p);
    if (F != flaw::target_unguarded) {
        guard_number<F>(t);
    }
    if (output) {
        output[i] = (t - 1) * fmaxf(log1pf(-p), -100) - t * fmaxf(logf(p), -100);
    } else {
        grad_input[i] = grad_output[i] * (p - t) / fmaxf((1 - p) * p, 1e-12f);
    }
}

#define NLL_ENTRIES(F)                                                                             \
    extern "C" __global__ void guarded_nll_forward_##F(                                            \
        float *output, float *total_weight, const float *input, const int64_t *target,             \
        int64_t samples, int64_t n_classes, int64_t ignore_index) {                                \
        nll_forward<flaw::F>(output, total_weight, input, target, samples, n_classes,              \
                             ignore_index);                                                        \
    }                                                                                              \
    extern "C" __global__ void guarded_nll_backward_##F(                                           \
        float *grad_input, const float *grad_output, const float *total_weight,                    \
        const int64_t *target, int64_t samples, int64_t n_classes, int64_t ignore_index) {         \
        nll_backward<flaw::F>(grad_input, grad_output, total_weight, target, samples, n_classes,   \
                              ignore_index);                                                       \
    }

#define BCE_ENTRIES(F)                                                                             \
    extern "C" __global__ void guarded_bce_forward_##F(float *output, const float *input,          \
                                                       const float *target, int64_t n) {           \
        bce_element<flaw::F>(output, nullptr, nullptr, input, target, n);                          \
    }                                                                                              \
    extern "C" __global__ void guarded_bce_backward_##F(                                           \
        float *grad_input, const float *grad_output, const float *input, const float *target,      \
        int64_t n) {                                                                               \
        bce_element<flaw::F>(nullptr, grad_input, grad_output, input, target, n);                  \
    }

NLL_ENTRIES(none)
NLL_ENTRIES(backward_from_minus_one)
NLL_ENTRIES(backward_at_width)
NLL_ENTRIES(backward_unguarded)
NLL_ENTRIES(forward_unguarded)
NLL_ENTRIES(by_negation)
NLL_ENTRIES(trap)

BCE_ENTRIES(none)
BCE_ENTRIES(upper_only)
BCE_ENTRIES(lower_only)
BCE_ENTRIES(nan_passes)
BCE_ENTRIES(target_unguarded)
BCE_ENTRIES(slack)
