// SPDX-License-Identifier: Apache-2.0
//
// Broken cross-entropies: what cross_entropy.cu would be with one line of it wrong.
//
// The story. Each flaw below has stood in a published kernel or been reported of one; flaw `none`
// is the fixed kernel, from the same lines. README.md in this folder says what each must be caught
// for. Formulas are those of cross_entropy.cu; here one thread does a row, and the lanes, tiles and
// shards of the kernels that the flaws come from are loops. Only `block_…` has the threads of a
// block share a row.
//
// The shapes. Contiguous N×C input in float32, int64 labels, class weights or null. With reduction
// none the row's loss goes to `output`, else to row_loss and row_weight, which finish_rows adds.
#include "../lossgate_reduce.cuh"

enum class flaw {
    none,
    smooth_ignored,      // an ignored row keeps its smoothing part
    weight_of_ignored,   // weight[label] is read before the label is known to be a class
    smooth_complement,   // the smoothing mass is (1-e)/C a class instead of e/C
    count_invalid,       // a label out of range adds 0 to the sum and 1 to the count
    upstream_of_first,   // every row's gradient is scaled with the first row's upstream gradient
    softmax_of_ignored,  // an ignored row gets the softmax as its gradient
    masked_tile,         // exp(-inf - -inf) where a whole tile is masked
    filled_lanes,        // lanes beyond C hold -50 instead of -inf
    zero_lanes,          // lanes beyond C hold 0 in rows of more than one tile
    shard_smoothing,     // smoothing knows the classes of the label's shard only
    shard_all,           // each of two shards is given all classes
    no_max,              // exponentials of the logits as they are
    max_from_zero,       // the running maximum starts at 0, not at -inf
    smoothing_half,      // the smoothing share is kept in float16
    shared_without_wait, // one shared array for maximum and sum, and a barrier missing between
};

enum { TILE = 8, LANES = 128 };

struct view {
    int64_t samples, n_classes, ignore_index;
    double smoothing;
    int reduction; // 0 none, 1 mean, 2 sum
};

struct softmax_state {
    float max;
    float sum;
};

// exp(from - to), and exactly 1 where both are the same infinity: nothing was scaled there.
__device__ inline float rescale(float from, float to) {
    return from == to ? 1.0f : expf(from - to);
}

template <flaw F> __device__ softmax_state merge(softmax_state a, softmax_state b) {
    const float max = a.max > b.max ? a.max : b.max;
    if constexpr (F == flaw::masked_tile) {
        return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
    }
    return {max, a.sum * rescale(a.max, max) + b.sum * rescale(b.max, max)};
}

// The state over classes [begin, end) and `n_more` lanes that hold `fill`.
__device__ softmax_state state_of(const float *x, int64_t begin, int64_t end, int64_t n_more,
                                  float fill) {
    softmax_state s = {-INFINITY, 0};
    for (int64_t c = begin; c < end + n_more; c++) {
        const float value = c < end ? x[c] : fill;
        s.max = value > s.max ? value : s.max;
    }
    for (int64_t c = begin; c < end + n_more; c++) {
        const float value = c < end ? x[c] : fill;
        s.sum += value == -INFINITY ? 0.0f : expf(value - s.max);
    }
    return s;
}

template <flaw F> __device__ softmax_state tiles(const float *x, int64_t n_classes) {
    softmax_state s = {-INFINITY, 0};
    for (int64_t begin = 0; begin < n_classes; begin += TILE) {
        const int64_t end = begin + TILE < n_classes ? begin + TILE : n_classes;
        s = merge<F>(s, state_of(x, begin, end, 0, 0));
    }
    return s;
}

template <flaw F> __device__ softmax_state row_softmax(const float *x, int64_t n_classes) {
    if constexpr (F == flaw::masked_tile) {
        return tiles<F>(x, n_classes);
    }
    if constexpr (F == flaw::no_max || F == flaw::max_from_zero) {
        softmax_state s = {0, 0};
        for (int64_t c = 0; c < n_classes; c++) {
            const float max = F == flaw::no_max ? 0 : fmaxf(s.max, x[c]);
            s = {max, s.sum * expf(s.max - max) + expf(x[c] - max)};
        }
        return s;
    }
    const int64_t n_more = (LANES - n_classes % LANES) % LANES;
    if constexpr (F == flaw::filled_lanes) {
        return state_of(x, 0, n_classes, n_more, -50);
    }
    if (F == flaw::zero_lanes && n_classes > LANES) {
        return state_of(x, 0, n_classes, n_more, 0);
    }
    if (F == flaw::shard_all && n_classes >= 2 * TILE) {
        const softmax_state whole = state_of(x, 0, n_classes, 0, 0);
        return merge<F>(whole, whole);
    }
    const int64_t half = n_classes / 2;
    return merge<F>(state_of(x, 0, half, 0, 0), state_of(x, half, n_classes, 0, 0));
}

__device__ inline float log_probability(softmax_state s, float x) {
    return (x - s.max) - logf(s.sum);
}

__device__ inline float class_weight(const float *weight, int64_t c) {
    return weight ? weight[c] : 1.0f;
}

// -sum_c w[c] log p[c] over [begin, end).
__device__ float smooth_sum(const float *x, const float *weight, softmax_state s, int64_t begin,
                            int64_t end) {
    float sum = 0;
    for (int64_t c = begin; c < end; c++) {
        sum -= class_weight(weight, c) * log_probability(s, x[c]);
    }
    return sum;
}

template <flaw F>
__device__ float smoothing_part(const float *x, const float *weight, softmax_state s, int64_t t,
                                const view &v) {
    const float share = static_cast<float>(v.smoothing);
    const float e = F == flaw::smoothing_half ? __half2float(__float2half_rn(share)) : share;
    const float classes = static_cast<float>(v.n_classes);
    if constexpr (F == flaw::shard_smoothing) {
        const int64_t half = v.n_classes / 2;
        const int64_t begin = t < half ? 0 : half;
        return e / static_cast<float>(half) * smooth_sum(x, weight, s, begin, begin + half);
    }
    const float mass = F == flaw::smooth_complement ? 1 - e : e;
    return mass / classes * smooth_sum(x, weight, s, 0, v.n_classes);
}

template <flaw F>
__device__ row_term<float> row_loss(const float *input, const int64_t *target, const float *weight,
                                    const view &v, int64_t row) {
    const float *x = input + row * v.n_classes;
    const int64_t t = target[row];
    const bool ignored = t == v.ignore_index;
    float w = 1;
    if constexpr (F == flaw::weight_of_ignored) {
        w = class_weight(weight, t);
    }
    if (ignored && !(F == flaw::smooth_ignored && v.smoothing > 0)) {
        return {0 * w, 0};
    }
    const softmax_state s = row_softmax<F>(x, v.n_classes);
    if (ignored) {
        return {smoothing_part<F>(x, weight, s, 0, v), 0};
    }
    if constexpr (F == flaw::count_invalid) {
        if (t < 0 || t >= v.n_classes) {
            return {0, 1};
        }
    } else {
        assert(t >= 0 && t < v.n_classes);
    }
    w = class_weight(weight, t);
    float loss = -w * log_probability(s, x[t]);
    if (v.smoothing > 0) {
        loss = (1 - static_cast<float>(v.smoothing)) * loss + smoothing_part<F>(x, weight, s, t, v);
    }
    return {loss, w};
}

__device__ void write_row(float *output, float *row_losses, float *row_weights, int reduction,
                          int64_t row, row_term<float> term) {
    if (reduction == 0) {
        output[row] = term.loss;
    } else {
        row_losses[row] = term.loss;
        row_weights[row] = term.weight;
    }
}

// The gradient of a row for reduction none, without weights and smoothing.
template <flaw F>
__device__ void row_gradient(float *grad_input, const float *grad_output, const float *input,
                             const int64_t *target, const view &v, int64_t row) {
    const float *x = input + row * v.n_classes;
    const int64_t t = target[row];
    const bool ignored = t == v.ignore_index;
    const softmax_state s = row_softmax<flaw::none>(x, v.n_classes);
    const float g = grad_output[F == flaw::upstream_of_first ? 0 : row];
    if (!ignored) {
        assert(t >= 0 && t < v.n_classes);
    }
    for (int64_t c = 0; c < v.n_classes; c++) {
        const float p = expf(x[c] - s.max) / s.sum;
        const bool live = !ignored || F == flaw::softmax_of_ignored;
        grad_input[row * v.n_classes + c] = live ? g * (p - (c == t ? 1.0f : 0.0f)) : 0.0f;
    }
}

// --- a block a row

// The sum or maximum over the block, in shared memory that the caller owns.
template <bool MAX> __device__ float block_reduce(float *shared, float mine) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            const float other = shared[threadIdx.x + half];
            const float own = shared[threadIdx.x];
            shared[threadIdx.x] = MAX ? (own > other ? own : other) : own + other;
        }
        __syncthreads();
    }
    return shared[0];
}

// Rows no wider than a warp are done by one thread, so that only wide ones show the missing
// barrier.
template <flaw F>
__device__ row_term<float> block_row(const float *input, const int64_t *target, const view &v) {
    __shared__ float shared[LANES];
    const int64_t row = blockIdx.x;
    const float *x = input + row * v.n_classes;
    const int64_t t = target[row];
    if (t == v.ignore_index) {
        return {0, 0};
    }
    if (threadIdx.x == 0) {
        assert(t >= 0 && t < v.n_classes);
    }
    if (v.n_classes <= 32) {
        return {-log_probability(state_of(x, 0, v.n_classes, 0, 0), x[t]), 1};
    }
    float max = -INFINITY;
    for (int64_t c = threadIdx.x; c < v.n_classes; c += blockDim.x) {
        max = x[c] > max ? x[c] : max;
    }
    max = block_reduce<true>(shared, max);
    if constexpr (F != flaw::shared_without_wait) {
        __syncthreads(); // every thread has read the maximum before anybody writes a sum over it
    }
    float sum = 0;
    for (int64_t c = threadIdx.x; c < v.n_classes; c += blockDim.x) {
        sum += expf(x[c] - max);
    }
    sum = block_reduce<false>(shared, sum);
    return {-log_probability({max, sum}, x[t]), 1};
}

// --- class probabilities

// 0·log 0 is 0 here, where IEEE arithmetic and cross_entropy.cu have NaN.
__device__ float probability_row(const float *input, const float *target, int64_t n_classes,
                                 int64_t row, bool zero_rule) {
    const float *x = input + row * n_classes;
    const softmax_state s = state_of(x, 0, n_classes, 0, 0);
    float loss = 0;
    for (int64_t c = 0; c < n_classes; c++) {
        const float t = target[row * n_classes + c];
        loss -= zero_rule && t == 0 ? 0.0f : t * log_probability(s, x[c]);
    }
    return loss;
}

// The entries.
#define PARAMS                                                                                     \
    int64_t samples, int64_t n_classes, int64_t ignore_index, double smoothing, int reduction
#define VIEW                                                                                       \
    view {                                                                                         \
        samples, n_classes, ignore_index, smoothing, reduction                                     \
    }

#define FORWARD_ENTRY(F)                                                                           \
    extern "C" __global__ void row_forward_##F(                                                    \
        float *output, float *row_losses, float *row_weights, const float *input,                  \
        const int64_t *target, const float *weight, PARAMS) {                                      \
        const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;           \
        if (row < samples) {                                                                       \
            write_row(output, row_losses, row_weights, reduction, row,                             \
                      row_loss<flaw::F>(input, target, weight, VIEW, row));                        \
        }                                                                                          \
    }

#define BACKWARD_ENTRY(F)                                                                          \
    extern "C" __global__ void row_backward_##F(float *grad_input, const float *grad_output,       \
                                                const float *input, const int64_t *target,         \
                                                PARAMS) {                                          \
        const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;           \
        if (row < samples) {                                                                       \
            row_gradient<flaw::F>(grad_input, grad_output, input, target, VIEW, row);              \
        }                                                                                          \
    }

#define BLOCK_ENTRY(F)                                                                             \
    extern "C" __global__ void block_forward_##F(float *output, float *row_losses,                 \
                                                 float *row_weights, const float *input,           \
                                                 const int64_t *target, PARAMS) {                  \
        const row_term<float> term = block_row<flaw::F>(input, target, VIEW);                      \
        if (threadIdx.x == 0) {                                                                    \
            write_row(output, row_losses, row_weights, reduction, blockIdx.x, term);               \
        }                                                                                          \
    }

#define PROBABILITY_ENTRY(name, zero_rule)                                                         \
    extern "C" __global__ void probability_forward_##name(float *output, const float *input,       \
                                                          const float *target, int64_t samples,    \
                                                          int64_t n_classes) {                     \
        const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;           \
        if (row < samples) {                                                                       \
            output[row] = probability_row(input, target, n_classes, row, zero_rule);               \
        }                                                                                          \
    }

FORWARD_ENTRY(none)
FORWARD_ENTRY(smooth_ignored)
FORWARD_ENTRY(weight_of_ignored)
FORWARD_ENTRY(smooth_complement)
FORWARD_ENTRY(count_invalid)
FORWARD_ENTRY(masked_tile)
FORWARD_ENTRY(filled_lanes)
FORWARD_ENTRY(zero_lanes)
FORWARD_ENTRY(shard_smoothing)
FORWARD_ENTRY(shard_all)
FORWARD_ENTRY(no_max)
FORWARD_ENTRY(max_from_zero)
FORWARD_ENTRY(smoothing_half)
BACKWARD_ENTRY(none)
BACKWARD_ENTRY(upstream_of_first)
BACKWARD_ENTRY(softmax_of_ignored)
BLOCK_ENTRY(none)
BLOCK_ENTRY(shared_without_wait)
PROBABILITY_ENTRY(plain, false)
PROBABILITY_ENTRY(zero_rule, true)

extern "C" __global__ void finish(float *output, float *total_weight, const float *row_losses,
                                  const float *row_weights, int mean, int64_t n_rows) {
    finish_rows<float>(output, total_weight, row_losses, row_weights, mean, n_rows);
}
