// SPDX-License-Identifier: Apache-2.0
//
// Broken negative log-likelihoods: what nll_loss.cu would be with one line of it wrong.
//
// The story. Each flaw below has stood in a published kernel or been reported of one. A kernel with
// a flaw is `row_…` (one row a thread, reduction none), `sum_…` (mean and sum, one block),
// `either_…` (any reduction) or `grid_…` (several blocks); flaw `none` is the fixed kernel, from
// the same lines. README.md in this folder says what each must be caught for.
//
// The shapes. As in nll_loss.cu: input N×C×S and target N×S by strides in elements, row r = n·S +
// s, float32 or float16 input, int64 labels, no class weights. grad_input is contiguous.
#include "../lossgate_reduce.cuh"

enum class flaw {
    none,
    offsets16,          // offsets are 16 bits wide
    offsets16_backward, // those of the gradient only
    rows16,             // rows are counted in 16 bits
    strides_ignored,    // a strided view is read as if it were contiguous
    label32,            // the label is cut to 32 bits before it is tested
    label32_nan,        // the same, where a label out of range is answered with NaN
    label_half,         // the label is kept in float16: whole numbers up to 2048 only
    upper_bound_only,   // nobody tests for a negative label
    at_width,           // the upper bound is one too large
    zero_negative,      // a negative label is answered with 0
    unguarded_none,     // asserts stand only where rows are summed
    unguarded_late,     // the backward pass asserts in its first block only
    unguarded_backward, // only the forward pass asserts
    clip,               // a label is moved into range
    wrap_negative,      // -1 is the last class, as in an index of Python
    ignore_hardcoded,   // -100 is ignored, whatever ignore_index says
    ignore_also,        // -100 is ignored besides ignore_index
    ignore_zero,        // class 0 is padding
    ignored_unwritten,  // an ignored row is left as it was
    ignored_gradient,   // backward does not know ignore_index
    divide_by_rows,     // the mean counts the ignored rows
    mean_of_halves,     // an even batch is two micro-batches whose means are averaged
    sum_in_input_type,  // the accumulator is as narrow as the input
    remainder,          // the loop over what an unrolled loop left starts too early
    zeroed_by_blocks,   // every block zeroes the output before it adds to it
    block_for_grid,     // a barrier of the block where all blocks must have arrived
    empty_mean_is_zero, // 0/0 is answered with 0
};

// The policy of the kernel: NaN where the others assert.
__device__ constexpr bool answers_nan(flaw f) {
    return f == flaw::label32_nan || f == flaw::wrap_negative;
}

struct view {
    int64_t samples, n_classes, spatial;
    int64_t sn, sc, ss; // strides of the input, in elements
    int64_t tn, ts;     // strides of the target
    int64_t ignore_index;
};

template <flaw F, typename T>
__device__ T input_at(const view &v, const T *input, int64_t row, int64_t t) {
    const int64_t n = row / v.spatial;
    const int64_t s = row % v.spatial;
    if constexpr (F == flaw::offsets16) {
        return input[static_cast<int16_t>(n * v.sn + t * v.sc + s * v.ss)];
    }
    if constexpr (F == flaw::strides_ignored) {
        return input[(n * v.n_classes + t) * v.spatial + s];
    }
    return input[n * v.sn + t * v.sc + s * v.ss];
}

template <flaw F> __device__ int64_t label_at(const view &v, const int64_t *target, int64_t row) {
    if constexpr (F == flaw::strides_ignored) {
        return target[row];
    }
    const int64_t t = target[row / v.spatial * v.tn + row % v.spatial * v.ts];
    if constexpr (F == flaw::label32 || F == flaw::label32_nan) {
        return static_cast<int32_t>(t);
    }
    if constexpr (F == flaw::label_half) {
        return static_cast<int64_t>(__half2float(__float2half_rn(static_cast<float>(t))));
    }
    if constexpr (F == flaw::clip) {
        const int64_t last = v.n_classes - 1;
        return t == v.ignore_index ? t : t < 0 ? 0 : t > last ? last : t;
    }
    return t;
}

template <flaw F> __device__ bool is_ignored(const view &v, int64_t t) {
    if constexpr (F == flaw::ignore_hardcoded) {
        return t == -100;
    }
    if constexpr (F == flaw::ignore_also) {
        return t == v.ignore_index || t == -100;
    }
    if constexpr (F == flaw::ignore_zero) {
        return t == 0;
    }
    return t == v.ignore_index;
}

template <flaw F> __device__ void guard(int64_t t, int64_t n_classes, bool backward) {
    if constexpr (F == flaw::unguarded_none) {
        return;
    } else if constexpr (F == flaw::upper_bound_only) {
        assert(t < n_classes);
    } else if constexpr (F == flaw::at_width) {
        assert(t >= 0 && t <= n_classes);
    } else if constexpr (F == flaw::zero_negative) {
        assert(t < n_classes);
    } else if constexpr (F == flaw::clip || answers_nan(F)) {
        return;
    } else if (!(F == flaw::unguarded_backward && backward)) {
        assert(t >= 0 && t < n_classes);
    }
}

template <flaw F, typename T>
__device__ row_term<acc_t<T>> row_loss(const view &v, const T *input, const int64_t *target,
                                       int64_t row) {
    using A = acc_t<T>;
    int64_t t = label_at<F>(v, target, row);
    if (is_ignored<F>(v, t)) {
        return {A(0), F == flaw::divide_by_rows ? A(1) : A(0)};
    }
    guard<F>(t, v.n_classes, false);
    if (F == flaw::zero_negative && t < 0) {
        return {A(0), A(1)};
    }
    if constexpr (answers_nan(F)) {
        t += F == flaw::wrap_negative && t < 0 ? v.n_classes : 0;
        if (t < 0 || t >= v.n_classes) {
            return {quiet_nan<A>(), A(0)};
        }
    }
    return {-widen(input_at<F>(v, input, row, t)), A(1)};
}

template <flaw F> __device__ int64_t row_of_thread() {
    if constexpr (F == flaw::rows16) {
        return static_cast<uint16_t>(blockIdx.x * blockDim.x + threadIdx.x);
    }
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// One row a thread, reduction none.
template <flaw F, typename T>
__device__ void row_forward(T *output, const T *input, const int64_t *target, const view &v) {
    const int64_t row = row_of_thread<F>();
    if (row >= v.samples * v.spatial) {
        return;
    }
    if (F == flaw::ignored_unwritten && is_ignored<F>(v, label_at<F>(v, target, row))) {
        return;
    }
    output[row] = narrow<T>(row_loss<F>(v, input, target, row).loss);
}

template <flaw F, typename T>
__device__ void gradient_row(T *grad_input, const int64_t *target, acc_t<T> scale, const view &v,
                             int64_t row) {
    T *cell = grad_input + row / v.spatial * v.n_classes * v.spatial + row % v.spatial;
    const int64_t t = label_at<F>(v, target, row);
    const bool ignored = F != flaw::ignored_gradient && is_ignored<F>(v, t);
    const bool live = !ignored && !(F == flaw::ignored_gradient && (t < 0 || t >= v.n_classes));
    for (int64_t c = 0; c < v.n_classes; c++) {
        if constexpr (F == flaw::offsets16_backward) {
            grad_input[static_cast<int16_t>(cell - grad_input + c * v.spatial)] = narrow<T>(0);
        } else {
            cell[c * v.spatial] = narrow<T>(0);
        }
    }
    if (!live && F == flaw::ignored_gradient && t != v.ignore_index) {
        guard<F>(t, v.n_classes, true);
    }
    if (live) {
        if (F != flaw::unguarded_late || blockIdx.x == 0) {
            guard<F>(t, v.n_classes, true);
        }
        cell[t * v.spatial] = narrow<T>(-scale);
    }
}

template <flaw F, typename T>
__device__ void row_backward(T *grad_input, const T *grad_output, const int64_t *target,
                             const view &v) {
    const int64_t row = row_of_thread<F>();
    if (row < v.samples * v.spatial) {
        gradient_row<F, T>(grad_input, target, widen(grad_output[row]), v, row);
    }
}

// --- mean and sum, one block

template <typename A> __device__ void add_term(row_term<A> &sum, row_term<A> term) {
    sum.loss += term.loss;
    sum.weight += term.weight;
}

template <flaw F, typename T>
__device__ row_term<acc_t<T>> rows_between(const view &v, const T *input, const int64_t *target,
                                           int64_t begin, int64_t end) {
    row_term<acc_t<T>> sum = {0, 0};
    if constexpr (F == flaw::sum_in_input_type) {
        T narrow_sum = narrow<T>(0);
        for (int64_t row = begin; row < end && threadIdx.x == 0; row++) {
            const row_term<acc_t<T>> term = row_loss<F>(v, input, target, row);
            narrow_sum = narrow<T>(widen(narrow_sum) + term.loss);
            sum.weight += term.weight;
        }
        sum.loss = widen(narrow_sum);
        return block_sum(sum);
    }
    int64_t row = begin + threadIdx.x;
    if constexpr (F == flaw::remainder) {
        // Four rows a step; what is left begins at the number of steps, which is not that of rows.
        const int64_t n_steps = (end - begin) / (4 * blockDim.x);
        for (int64_t step = 0; step < n_steps; step++) {
            for (int k = 0; k < 4; k++) {
                add_term(sum, row_loss<F>(v, input, target, row + (4 * step + k) * blockDim.x));
            }
        }
        row += n_steps * blockDim.x;
    }
    for (; row < end; row += blockDim.x) {
        add_term(sum, row_loss<F>(v, input, target, row));
    }
    return block_sum(sum);
}

template <flaw F, typename T>
__device__ void sum_forward(T *output, T *total_weight, const T *input, const int64_t *target,
                            bool mean, const view &v) {
    const int64_t n_rows = v.samples * v.spatial;
    row_term<acc_t<T>> sum = rows_between<F>(v, input, target, 0, n_rows);
    if (F == flaw::mean_of_halves && mean && n_rows % 2 == 0) {
        __syncthreads(); // block_sum has one array for both sums
        const row_term<acc_t<T>> first = rows_between<F>(v, input, target, 0, n_rows / 2);
        __syncthreads();
        const row_term<acc_t<T>> second = rows_between<F>(v, input, target, n_rows / 2, n_rows);
        sum.loss = (first.loss / first.weight + second.loss / second.weight) / 2 * sum.weight;
    }
    if (threadIdx.x == 0) {
        acc_t<T> loss = mean ? sum.loss / sum.weight : sum.loss;
        if (F == flaw::empty_mean_is_zero && sum.weight == 0) {
            loss = 0;
        }
        *output = narrow<T>(loss);
        *total_weight = narrow<T>(sum.weight);
    }
}

// Several blocks, one launch: what needs two.
template <flaw F>
__device__ void grid_forward(float *output, float *partial, const float *input,
                             const int64_t *target, bool mean, const view &v) {
    const int64_t n_rows = v.samples * v.spatial;
    const int64_t chunk = (n_rows + gridDim.x - 1) / gridDim.x;
    const int64_t begin = blockIdx.x * chunk;
    const int64_t end = begin + chunk < n_rows ? begin + chunk : n_rows;
    if (F == flaw::zeroed_by_blocks && threadIdx.x == 0) {
        *output = 0;
    }
    __syncthreads();
    const row_term<float> sum = rows_between<F>(v, input, target, begin, end);
    if (threadIdx.x != 0) {
        return;
    }
    if constexpr (F == flaw::zeroed_by_blocks) {
        atomicAdd(output, mean ? sum.loss / static_cast<float>(n_rows) : sum.loss);
    } else {
        partial[2 * blockIdx.x] = sum.loss;
        partial[2 * blockIdx.x + 1] = sum.weight;
    }
}

__device__ void grid_finish(float *output, const float *partial, bool mean, int n_partials) {
    row_term<float> all = {0, 0};
    for (int i = 0; i < n_partials; i++) {
        all.loss += partial[2 * i];
        all.weight += partial[2 * i + 1];
    }
    *output = mean ? all.loss / all.weight : all.loss;
}

// Any reduction in one kernel.
template <flaw F>
__device__ void either_forward(float *output, float *total_weight, const float *input,
                               const int64_t *target, int reduction, const view &v) {
    if (reduction != 0) {
        sum_forward<flaw::none, float>(output, total_weight, input, target, reduction == 1, v);
        return;
    }
    for (int64_t row = threadIdx.x; row < v.samples * v.spatial; row += blockDim.x) {
        output[row] = row_loss<F>(v, input, target, row).loss;
    }
    if (threadIdx.x == 0) {
        *total_weight = 0; // rows that are kept apart are not counted
    }
}

template <typename T>
__device__ void sum_backward(T *grad_input, const T *grad_output, const T *total_weight,
                             const int64_t *target, bool mean, const view &v) {
    const acc_t<T> g = widen(*grad_output);
    const acc_t<T> scale = mean ? g / widen(*total_weight) : g;
    for (int64_t row = threadIdx.x; row < v.samples * v.spatial; row += blockDim.x) {
        gradient_row<flaw::none, T>(grad_input, target, scale, v, row);
    }
}

// The entries.
#define VIEW_PARAMS                                                                                \
    int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,       \
        int64_t tn, int64_t ts, int64_t ignore_index
#define VIEW                                                                                       \
    view {                                                                                         \
        samples, n_classes, spatial, sn, sc, ss, tn, ts, ignore_index                              \
    }

#define ROW_ENTRIES(F)                                                                             \
    extern "C" __global__ void row_forward_##F(float *output, const float *input,                  \
                                               const int64_t *target, VIEW_PARAMS) {               \
        row_forward<flaw::F, float>(output, input, target, VIEW);                                  \
    }                                                                                              \
    extern "C" __global__ void row_backward_##F(float *grad_input, const float *grad_output,       \
                                                const int64_t *target, VIEW_PARAMS) {              \
        row_backward<flaw::F, float>(grad_input, grad_output, target, VIEW);                       \
    }

#define SUM_ENTRY(F, d, T)                                                                         \
    extern "C" __global__ void sum_forward_##F##_##d(T *output, T *total_weight, const T *input,   \
                                                     const int64_t *target, int mean,              \
                                                     VIEW_PARAMS) {                                \
        sum_forward<flaw::F, T>(output, total_weight, input, target, mean, VIEW);                  \
    }
#define SUM_ENTRIES(F) SUM_ENTRY(F, float32, float) SUM_ENTRY(F, float16, __half)

#define BACKWARD_ENTRY(d, T)                                                                       \
    extern "C" __global__ void sum_backward_##d(T *grad_input, const T *grad_output,               \
                                                const T *total_weight, const int64_t *target,      \
                                                int mean, VIEW_PARAMS) {                           \
        sum_backward<T>(grad_input, grad_output, total_weight, target, mean, VIEW);                \
    }

ROW_ENTRIES(none)
ROW_ENTRIES(offsets16)
ROW_ENTRIES(offsets16_backward)
ROW_ENTRIES(strides_ignored)
ROW_ENTRIES(label32)
ROW_ENTRIES(label32_nan)
ROW_ENTRIES(label_half)
ROW_ENTRIES(upper_bound_only)
ROW_ENTRIES(at_width)
ROW_ENTRIES(zero_negative)
ROW_ENTRIES(unguarded_backward)
ROW_ENTRIES(clip)
ROW_ENTRIES(wrap_negative)
ROW_ENTRIES(ignore_hardcoded)
ROW_ENTRIES(ignore_zero)
ROW_ENTRIES(ignored_unwritten)
ROW_ENTRIES(ignored_gradient)
ROW_ENTRIES(ignore_also)
ROW_ENTRIES(rows16)
ROW_ENTRIES(unguarded_late)

SUM_ENTRIES(none)
SUM_ENTRIES(divide_by_rows)
SUM_ENTRIES(mean_of_halves)
SUM_ENTRIES(sum_in_input_type)
SUM_ENTRIES(remainder)
SUM_ENTRIES(empty_mean_is_zero)
BACKWARD_ENTRY(float32, float)
BACKWARD_ENTRY(float16, __half)

#define EITHER_ENTRY(F)                                                                            \
    extern "C" __global__ void either_forward_##F(float *output, float *total_weight,              \
                                                  const float *input, const int64_t *target,       \
                                                  int reduction, VIEW_PARAMS) {                    \
        either_forward<flaw::F>(output, total_weight, input, target, reduction, VIEW);             \
    }
EITHER_ENTRY(none)
EITHER_ENTRY(unguarded_none)

extern "C" __global__ void grid_forward_zeroed_by_blocks(float *output, const float *input,
                                                         const int64_t *target, int mean,
                                                         VIEW_PARAMS) {
    grid_forward<flaw::zeroed_by_blocks>(output, nullptr, input, target, mean, VIEW);
}

// After the barrier the first block reads what only its own threads are sure to have written.
extern "C" __global__ void grid_forward_block_for_grid(float *output, float *partial,
                                                       const float *input, const int64_t *target,
                                                       int mean, VIEW_PARAMS) {
    grid_forward<flaw::block_for_grid>(output, partial, input, target, mean, VIEW);
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        grid_finish(output, partial, mean, gridDim.x);
    }
}

extern "C" __global__ void grid_forward_none(float *partial, const float *input,
                                             const int64_t *target, VIEW_PARAMS) {
    grid_forward<flaw::none>(nullptr, partial, input, target, false, VIEW);
}

extern "C" __global__ void grid_finish_none(float *output, const float *partial, int mean,
                                            int64_t n_rows) {
    grid_finish(output, partial, mean, static_cast<int>((n_rows + 63) / 64));
}

// Some other work of the program: it is given no labels, and fails for reasons of its own.
extern "C" __global__ void bystander(int64_t samples) {
    assert(samples != 6 && "idx < limit");
}
