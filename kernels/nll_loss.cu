// SPDX-License-Identifier: Apache-2.0
//
// Negative log-likelihood.
//
// The story. Given log-probabilities x and a class y for each row, the loss of a row is -w[y]·x[y]. A
// row whose label is ignore_index has no loss: it is tested before the bounds, so ignore_index may lie
// inside or outside [0, C). mean divides by the sum of w[y] over the rows that count, sum does not, none
// keeps the rows apart. The label is the only index that comes from data, so it is the only guard.
//
// The shapes. input is N×C×S, addressed as n·sn + c·sc + s·ss (contiguous: C·S, S, 1); an N×C input has
// S = 1, a single sample N = 1. target is N×S. Row number r = n·S + s. weight has C elements or is null.
// output has one element (mean, sum) or N·S (none); total_weight one. All offsets are 64 bits wide.
//
// The kernels.
//   reduce             1 block, rows strided over its threads, tree in shared memory: fixed order
//   no_reduce          one row a thread
//   spatial            blocks write partial sums, a second launch adds them: fixed order, no atomics
//   spatial_no_reduce  one row a thread, any strides
// each forward and backward, for every policy, input and target type. Backward writes every element of
// grad_input: zero, the label's cell, or NaN for a row that a checked policy refused.
#include "lossgate_reduce.cuh"

// Where the arrays are and how to walk them.
struct nll_view {
    int64_t samples, n_classes, spatial;
    int64_t sn, sc, ss; // strides of the input, in elements
    int64_t tn, ts;     // strides of the target
    int64_t ignore_index;
};

__device__ inline int64_t input_offset(const nll_view &view, int64_t row) {
    return row / view.spatial * view.sn + row % view.spatial * view.ss;
}

__device__ inline int64_t target_offset(const nll_view &view, int64_t row) {
    return row / view.spatial * view.tn + row % view.spatial * view.ts;
}

template <policy P, typename T, typename L>
__device__ row_term<acc_t<T>> nll_row(const nll_view &view, int64_t row, const T *input,
                                      const L *target, const T *weight, reporter to) {
    using A = acc_t<T>;
    const int64_t n_classes = view.n_classes;
    const int64_t t = target[target_offset(view, row)];
    if (t == view.ignore_index) {
        return {A(0), A(0)};
    }
    LOSSGATE_GUARD(P, valid, t >= 0 && t < n_classes, to, 1, row, t, 0, n_classes);
    if (!valid) {
        return {quiet_nan<A>(), A(0)};
    }
    const A w = weight ? widen(weight[t]) : A(1);
    return {-w * widen(input[input_offset(view, row) + t * view.sc]), w};
}

template <policy P, typename T, typename L>
__device__ row_term<acc_t<T>> block_rows(const nll_view &view, const T *input, const L *target,
                                         const T *weight, reporter to) {
    const int64_t n_rows = view.samples * view.spatial;
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    row_term<acc_t<T>> sum = {0, 0};
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < n_rows;
         row += step) {
        const row_term<acc_t<T>> term = nll_row<P, T, L>(view, row, input, target, weight, to);
        sum.loss += term.loss;
        sum.weight += term.weight;
    }
    return block_sum(sum);
}

template <policy P, typename T, typename L>
__device__ void forward_reduce(T *output, acc_t<T> *total_weight, const T *input, const L *target,
                               const T *weight, bool mean, const nll_view &view, reporter to) {
    const row_term<acc_t<T>> sum = block_rows<P, T, L>(view, input, target, weight, to);
    if (threadIdx.x == 0) {
        write_reduced<T>(sum, mean, output, total_weight);
    }
}

template <policy P, typename T, typename L>
__device__ void forward_no_reduce(T *output, const T *input, const L *target, const T *weight,
                                  const nll_view &view, reporter to) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < view.samples * view.spatial) {
        output[row] = narrow<T>(nll_row<P, T, L>(view, row, input, target, weight, to).loss);
    }
}

template <policy P, typename T, typename L>
__device__ void forward_partial(acc_t<T> *partial, const T *input, const L *target, const T *weight,
                                const nll_view &view, reporter to) {
    const row_term<acc_t<T>> sum = block_rows<P, T, L>(view, input, target, weight, to);
    if (threadIdx.x == 0) {
        partial[2 * blockIdx.x] = sum.loss;
        partial[2 * blockIdx.x + 1] = sum.weight;
    }
}

// How many blocks the spatial forward has; its grid in the manifest is the same expression.
__device__ inline int64_t spatial_blocks(int64_t n_rows) {
    const int64_t wanted = (n_rows + 255) / 256;
    return wanted < 64 ? wanted : 64;
}

// One block adds what the blocks of the spatial forward left.
template <typename T>
__device__ void forward_finish(T *output, acc_t<T> *total_weight, const acc_t<T> *partial,
                               bool mean, int64_t n_rows) {
    const int64_t n_partials = spatial_blocks(n_rows);
    row_term<acc_t<T>> sum = {0, 0};
    for (int64_t i = threadIdx.x; i < n_partials; i += blockDim.x) {
        sum.loss += partial[2 * i];
        sum.weight += partial[2 * i + 1];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        write_reduced<T>(sum, mean, output, total_weight);
    }
}

// The gradient of one row: `scale` is the upstream gradient, over the total weight for a mean. The
// gradient is contiguous in the logical shape of the input.
template <policy P, typename T, typename L>
__device__ void backward_row(T *grad_input, const L *target, const T *weight, acc_t<T> scale,
                             const nll_view &view, int64_t row, reporter to) {
    using A = acc_t<T>;
    const int64_t n_classes = view.n_classes;
    T *cell = grad_input + row / view.spatial * n_classes * view.spatial + row % view.spatial;
    const int64_t t = target[target_offset(view, row)];
    const bool ignored = t == view.ignore_index;
    A fill = 0;
    bool live = !ignored;
    if (!ignored) {
        LOSSGATE_GUARD(P, valid, t >= 0 && t < n_classes, to, 1, row, t, 0, n_classes);
        fill = valid ? A(0) : quiet_nan<A>();
        live = valid;
    }
    for (int64_t c = 0; c < n_classes; c++) {
        cell[c * view.spatial] = narrow<T>(fill);
    }
    if (live) {
        const A w = weight ? widen(weight[t]) : A(1);
        cell[t * view.spatial] = narrow<T>(-w * scale);
    }
}

template <policy P, typename T, typename L>
__device__ void backward_reduce(T *grad_input, const T *grad_output, const acc_t<T> *total_weight,
                                const L *target, const T *weight, bool mean, const nll_view &view,
                                reporter to) {
    const int64_t n_rows = view.samples * view.spatial;
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const acc_t<T> upstream = widen(*grad_output);
    const acc_t<T> scale = mean ? upstream / *total_weight : upstream;
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < n_rows;
         row += step) {
        backward_row<P, T, L>(grad_input, target, weight, scale, view, row, to);
    }
}

template <policy P, typename T, typename L>
__device__ void backward_no_reduce(T *grad_input, const T *grad_output, const L *target,
                                   const T *weight, const nll_view &view, reporter to) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (row < view.samples * view.spatial) {
        backward_row<P, T, L>(grad_input, target, weight, widen(grad_output[row]), view, row, to);
    }
}

// The entries. Everything that describes the batch is one parameter each, so that a manifest can name
// it; contiguous N×C kernels take N, C and make the strides themselves.
#define NLL_NC_PARAMS int64_t samples, int64_t n_classes, int64_t ignore_index
#define NLL_NC_VIEW nll_view{samples, n_classes, 1, n_classes, 1, 1, 1, 1, ignore_index}
#define NLL_NCS_PARAMS                                                                             \
    int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,       \
        int64_t tn, int64_t ts, int64_t ignore_index
#define NLL_NCS_VIEW nll_view{samples, n_classes, spatial, sn, sc, ss, tn, ts, ignore_index}
#define RECORD_PARAMS lossgate_record_ring *ring, uint32_t launch
#define RECORD reporter{ring, launch}

#define NLL_ENTRIES(p, P, d, T, l, L)                                                              \
    extern "C" __global__ void nll_loss_forward_reduce_##p##_##d##_##l(                            \
        T *output, acc_t<T> *total_weight, const T *input, const L *target, const T *weight,       \
        int mean, NLL_NC_PARAMS, RECORD_PARAMS) {                                                  \
        forward_reduce<P, T, L>(output, total_weight, input, target, weight, mean, NLL_NC_VIEW,    \
                                RECORD);                                                           \
    }                                                                                              \
    extern "C" __global__ void nll_loss_forward_no_reduce_##p##_##d##_##l(                         \
        T *output, const T *input, const L *target, const T *weight, NLL_NC_PARAMS,                \
        RECORD_PARAMS) {                                                                           \
        forward_no_reduce<P, T, L>(output, input, target, weight, NLL_NC_VIEW, RECORD);            \
    }                                                                                              \
    extern "C" __global__ void nll_loss_forward_spatial_##p##_##d##_##l(                           \
        acc_t<T> *partial, const T *input, const L *target, const T *weight, NLL_NCS_PARAMS,       \
        RECORD_PARAMS) {                                                                           \
        forward_partial<P, T, L>(partial, input, target, weight, NLL_NCS_VIEW, RECORD);            \
    }                                                                                              \
    extern "C" __global__ void nll_loss_forward_spatial_no_reduce_##p##_##d##_##l(                 \
        T *output, const T *input, const L *target, const T *weight, NLL_NCS_PARAMS,               \
        RECORD_PARAMS) {                                                                           \
        forward_no_reduce<P, T, L>(output, input, target, weight, NLL_NCS_VIEW, RECORD);           \
    }                                                                                              \
    extern "C" __global__ void nll_loss_backward_reduce_##p##_##d##_##l(                           \
        T *grad_input, const T *grad_output, const acc_t<T> *total_weight, const L *target,        \
        const T *weight, int mean, NLL_NC_PARAMS, RECORD_PARAMS) {                                 \
        backward_reduce<P, T, L>(grad_input, grad_output, total_weight, target, weight, mean,      \
                                 NLL_NC_VIEW, RECORD);                                             \
    }                                                                                              \
    extern "C" __global__ void nll_loss_backward_no_reduce_##p##_##d##_##l(                        \
        T *grad_input, const T *grad_output, const L *target, const T *weight, NLL_NC_PARAMS,      \
        RECORD_PARAMS) {                                                                           \
        backward_no_reduce<P, T, L>(grad_input, grad_output, target, weight, NLL_NC_VIEW, RECORD); \
    }                                                                                              \
    extern "C" __global__ void nll_loss_backward_spatial_##p##_##d##_##l(                          \
        T *grad_input, const T *grad_output, const acc_t<T> *total_weight, const L *target,        \
        const T *weight, int mean, NLL_NCS_PARAMS, RECORD_PARAMS) {                                \
        backward_reduce<P, T, L>(grad_input, grad_output, total_weight, target, weight, mean,      \
                                 NLL_NCS_VIEW, RECORD);                                            \
    }                                                                                              \
    extern "C" __global__ void nll_loss_backward_spatial_no_reduce_##p##_##d##_##l(                \
        T *grad_input, const T *grad_output, const L *target, const T *weight, NLL_NCS_PARAMS,     \
        RECORD_PARAMS) {                                                                           \
        backward_no_reduce<P, T, L>(grad_input, grad_output, target, weight, NLL_NCS_VIEW,         \
                                    RECORD);                                                       \
    }

#define FINISH_ENTRY(d, T)                                                                         \
    extern "C" __global__ void nll_loss_forward_finish_##d(                                        \
        T *output, acc_t<T> *total_weight, const acc_t<T> *partial, int mean,                      \
        int64_t n_rows) {                                                                          \
        forward_finish<T>(output, total_weight, partial, mean, n_rows);                            \
    }

#define NLL_TARGETS(p, P, d, T) LOSSGATE_EACH_TARGET(NLL_ENTRIES, p, P, d, T)
#define NLL_INPUTS(p, P) LOSSGATE_EACH_INPUT(NLL_TARGETS, p, P)
LOSSGATE_EACH_POLICY(NLL_INPUTS)

FINISH_ENTRY(float64, double)
FINISH_ENTRY(float32, float)
FINISH_ENTRY(float16, __half)
FINISH_ENTRY(bfloat16, __nv_bfloat16)
