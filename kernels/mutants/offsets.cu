// SPDX-License-Identifier: Apache-2.0
//
// Losses that compute an offset in 32 bits somewhere.
//
// The story. An int holds 2^31 elements, and a view of a large tensor reaches beyond with few rows:
// a product of an index and a stride that is made, added up or kept in 32 bits then names another
// place. Kernels of published losses have had each of these. Flaw `none` is the fixed kernel, from
// the same lines.
//
// The shapes. As in nll_loss.cu and bce.cu: input N×C×S (binary: N×S) and target N×S by strides in
// elements, float32, int64 labels. grad_input is contiguous.
#include "../lossgate_reduce.cuh"

enum class flaw {
    none,
    whole,          // the offset of an element of the input is an int
    sample,         // n·sn alone is
    label,          // t·sc alone is
    label_unsigned, // t·sc is an unsigned int
    bytes,          // the offset in bytes is an int
    target,         // the offset into the target is an int
    target_backward // that of the backward pass alone
};

struct view {
    int64_t samples, n_classes, spatial;
    int64_t sn, sc, ss;
    int64_t tn, ts;
    int64_t ignore_index;
};

__device__ inline int64_t cut(int64_t offset) {
    return static_cast<int32_t>(offset);
}

template <flaw F>
__device__ const float *input_at(const view &v, const float *input, int64_t row, int64_t t) {
    const int64_t n = row / v.spatial * v.sn;
    const int64_t c = t * v.sc;
    const int64_t s = row % v.spatial * v.ss;
    switch (F) {
    case flaw::whole:
        return input + cut(n + c + s);
    case flaw::sample:
        return input + (cut(n) + c + s);
    case flaw::label:
        return input + (n + cut(c) + s);
    case flaw::label_unsigned:
        return input + (n + static_cast<uint32_t>(c) + s);
    case flaw::bytes:
        return reinterpret_cast<const float *>(reinterpret_cast<const char *>(input) +
                                               cut((n + c + s) * 4));
    default:
        return input + (n + c + s);
    }
}

template <flaw F, typename T>
__device__ T target_at(const view &v, const T *target, int64_t row, bool backward) {
    const int64_t offset = row / v.spatial * v.tn + row % v.spatial * v.ts;
    const bool narrow = F == flaw::target || (F == flaw::target_backward && backward);
    return target[narrow ? cut(offset) : offset];
}

__device__ inline int64_t first_row() {
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

template <flaw F>
__device__ void nll_forward(float *output, const float *input, const int64_t *target,
                            const view &v) {
    const int64_t row = first_row();
    if (row >= v.samples * v.spatial) {
        return;
    }
    const int64_t t = target_at<F>(v, target, row, false);
    if (t == v.ignore_index) {
        output[row] = 0;
        return;
    }
    assert(t >= 0 && t < v.n_classes);
    output[row] = -*input_at<F>(v, input, row, t);
}

template <flaw F>
__device__ void nll_backward(float *grad_input, const float *grad_output, const int64_t *target,
                             const view &v) {
    const int64_t row = first_row();
    if (row >= v.samples * v.spatial) {
        return;
    }
    const int64_t t = target_at<F>(v, target, row, true);
    const bool live = t != v.ignore_index;
    assert(!live || (t >= 0 && t < v.n_classes));
    float *cell = grad_input + row / v.spatial * v.n_classes * v.spatial + row % v.spatial;
    for (int64_t c = 0; c < v.n_classes; c++) {
        cell[c * v.spatial] = live && c == t ? -grad_output[row] : 0.0f;
    }
}

template <flaw F>
__device__ void bce_forward(float *output, const float *input, const float *target,
                            const view &v) {
    const int64_t row = first_row();
    if (row >= v.samples * v.spatial) {
        return;
    }
    const float x = *input_at<F>(v, input, row, 0);
    const float t = target_at<F>(v, target, row, false);
    assert(t >= 0 && t <= 1);
    output[row] = fmaxf(x, 0.0f) - x * t + log1pf(expf(-fabsf(x)));
}

template <flaw F>
__device__ void bce_backward(float *grad_input, const float *grad_output, const float *input,
                             const float *target, const view &v) {
    const int64_t row = first_row();
    if (row >= v.samples * v.spatial) {
        return;
    }
    const float x = *input_at<F>(v, input, row, 0);
    const float t = target_at<F>(v, target, row, true);
    assert(t >= 0 && t <= 1);
    grad_input[row] = (1.0f / (1.0f + expf(-x)) - t) * grad_output[row];
}

#define NLL_PARAMS                                                                                 \
    int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,       \
        int64_t tn, int64_t ts, int64_t ignore_index
#define NLL_VIEW view{samples, n_classes, spatial, sn, sc, ss, tn, ts, ignore_index}
#define BCE_PARAMS                                                                                 \
    int64_t samples, int64_t spatial, int64_t sn, int64_t ss, int64_t tn, int64_t ts
#define BCE_VIEW view{samples, 1, spatial, sn, 0, ss, tn, ts, 0}

#define NLL_ENTRIES(name)                                                                          \
    extern "C" __global__ void offsets_nll_forward_##name(                                         \
        float *output, const float *input, const int64_t *target, NLL_PARAMS) {                    \
        nll_forward<flaw::name>(output, input, target, NLL_VIEW);                                  \
    }                                                                                              \
    extern "C" __global__ void offsets_nll_backward_##name(                                        \
        float *grad_input, const float *grad_output, const int64_t *target, NLL_PARAMS) {          \
        nll_backward<flaw::name>(grad_input, grad_output, target, NLL_VIEW);                       \
    }

#define BCE_ENTRIES(name)                                                                          \
    extern "C" __global__ void offsets_bce_forward_##name(                                         \
        float *output, const float *input, const float *target, BCE_PARAMS) {                      \
        bce_forward<flaw::name>(output, input, target, BCE_VIEW);                                  \
    }                                                                                              \
    extern "C" __global__ void offsets_bce_backward_##name(                                        \
        float *grad_input, const float *grad_output, const float *input, const float *target,      \
        BCE_PARAMS) {                                                                              \
        bce_backward<flaw::name>(grad_input, grad_output, input, target, BCE_VIEW);                \
    }

NLL_ENTRIES(none)
NLL_ENTRIES(whole)
NLL_ENTRIES(sample)
NLL_ENTRIES(label)
NLL_ENTRIES(label_unsigned)
NLL_ENTRIES(bytes)
NLL_ENTRIES(target)
NLL_ENTRIES(target_backward)
BCE_ENTRIES(none)
BCE_ENTRIES(whole)
BCE_ENTRIES(target)
BCE_ENTRIES(target_backward)
