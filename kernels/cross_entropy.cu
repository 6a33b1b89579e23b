// SPDX-License-Identifier: Apache-2.0
//
// Cross-entropy: log-softmax and negative log-likelihood in one.
//
// The story. With p = softmax(x), a label y, class weights w and smoothing e, the loss of a row is
//   (1-e)·w[y]·(-log p[y]) + (e/C)·sum_c w[c]·(-log p[c]),
// 0 for an ignored row; mean divides by the sum of w[y] over the rows that count. Class probabilities t
// instead of a label: -sum_c w[c]·q[c]·log p[c] with q = (1-e)·t + e/C, and mean divides by the number of
// rows. The smoothing mass includes the true class. log p[c] = (x[c] - max) - log(sum exp(x - max)).
// With g the upstream gradient (over the divisor for a mean) the gradient is
//   g·[(1-e)·w[y]·(p[c] - [c == y]) + (e/C)·(W·p[c] - w[c])],  W = sum_c w[c].
//
// The shapes. As in nll_loss.cu; `warp` and `block` want contiguous N×C, `spatial` and `probability` take
// any strides. row_loss and row_weight have one accumulator a row; the finish launch adds them.
//
// The kernels.
//   warp         one warp a row: small C
//   block        one block a row, online softmax: any C in one pass
//   spatial      one thread a row: classes are far apart, rows are neighbours
//   probability  one thread a row, class-probability targets: a probability outside [0, 1] (NaN too) is
//                guarded, what a row adds up to is not looked at
// each forward and backward. With reduction none the row's loss goes to `output`, else to row_loss.
#include "lossgate_reduce.cuh"

struct ce_view {
    int64_t samples, n_classes, spatial;
    int64_t sn, sc, ss; // strides of the input, in elements
    int64_t tn, tc, ts; // strides of the target
    int64_t ignore_index;
    double smoothing;
    int reduction; // 0 none, 1 mean, 2 sum
};

// Running maximum and sum of exp(x - maximum): the state of an online softmax. The maximum of nothing is the
// lowest finite number: a -inf logit is below it and adds exp(-inf) = 0.
template <typename A> struct softmax_state {
    A max;
    A sum;
};

template <typename A> __device__ inline softmax_state<A> softmax_empty() {
    return {lowest<A>(), A(0)};
}

// N logits more. max() passes over a NaN, which stays in the sum, as inf - inf does where one is +inf.
template <int N, typename A>
__device__ inline softmax_state<A> softmax_add(softmax_state<A> s, const A (&x)[N]) {
    A largest = s.max;
    for (int i = 0; i < N; i++) {
        largest = max(largest, x[i]);
    }
    A sum = s.sum * exp(s.max - largest);
    for (int i = 0; i < N; i++) {
        sum += exp(x[i] - largest);
    }
    return {largest, sum};
}

template <typename A>
__device__ inline softmax_state<A> softmax_merge(softmax_state<A> a, softmax_state<A> b) {
    const A largest = max(a.max, b.max);
    return {largest, a.sum * exp(a.max - largest) + b.sum * exp(b.max - largest)};
}

template <typename A> __device__ inline A log_probability(softmax_state<A> s, A x) {
    return (x - s.max) - log(s.sum);
}

// The threads that share a row. Each policy-free kernel shape is one of these three. A thread of a block takes
// several logits of a wide row at once: their exponentials do not wait for each other.
struct lone_thread {
    static constexpr int logits_at_once = 1;
    __device__ static int first() { return 0; }
    __device__ static int step() { return 1; }
    template <typename A> __device__ static softmax_state<A> merge(softmax_state<A> s) { return s; }
    template <typename A> __device__ static A add(A x) { return x; }
    __device__ static bool broadcast(bool x) { return x; }
};

struct whole_warp {
    static constexpr int logits_at_once = 1;
    __device__ static int first() { return threadIdx.x % 32; }
    __device__ static int step() { return 32; }
    template <typename A> __device__ static softmax_state<A> merge(softmax_state<A> s) {
        for (int lane = 16; lane > 0; lane /= 2) {
            const softmax_state<A> other = {__shfl_xor_sync(0xffffffffu, s.max, lane),
                                            __shfl_xor_sync(0xffffffffu, s.sum, lane)};
            s = softmax_merge(s, other);
        }
        return s;
    }
    template <typename A> __device__ static A add(A x) {
        for (int lane = 16; lane > 0; lane /= 2) {
            x += __shfl_xor_sync(0xffffffffu, x, lane);
        }
        return x;
    }
    __device__ static bool broadcast(bool x) { return __shfl_sync(0xffffffffu, x, 0); }
};

struct whole_block {
    static constexpr int logits_at_once = 4;
    __device__ static int first() { return threadIdx.x; }
    __device__ static int step() { return blockDim.x; }
    // Warps first, then warp 0 over what the warps left. Lanes without a warp hold the neutral element.
    template <typename A> __device__ static softmax_state<A> merge(softmax_state<A> s) {
        __shared__ softmax_state<A> warps[32];
        const unsigned warp = threadIdx.x / 32;
        s = whole_warp::merge(s);
        if (threadIdx.x % 32 == 0) {
            warps[warp] = s;
        }
        __syncthreads();
        softmax_state<A> all = softmax_empty<A>();
        for (unsigned i = 0; i < blockDim.x / 32; i++) {
            all = softmax_merge(all, warps[i]);
        }
        __syncthreads();
        return all;
    }
    template <typename A> __device__ static A add(A x) {
        __shared__ A warps[32];
        x = whole_warp::add(x);
        if (threadIdx.x % 32 == 0) {
            warps[threadIdx.x / 32] = x;
        }
        __syncthreads();
        A all = 0;
        for (unsigned i = 0; i < blockDim.x / 32; i++) {
            all += warps[i];
        }
        __syncthreads();
        return all;
    }
    __device__ static bool broadcast(bool x) { return __syncthreads_or(x && threadIdx.x == 0); }
};

template <typename Team, typename T>
__device__ softmax_state<acc_t<T>> row_softmax(const T *x, int64_t n_classes, int64_t sc) {
    constexpr int at_once = Team::logits_at_once;
    const int64_t step = Team::step();
    softmax_state<acc_t<T>> s = softmax_empty<acc_t<T>>();
    int64_t c = Team::first();
    for (; c + (at_once - 1) * step < n_classes; c += at_once * step) {
        acc_t<T> logits[at_once];
        for (int i = 0; i < at_once; i++) {
            logits[i] = widen(x[(c + i * step) * sc]);
        }
        s = softmax_add(s, logits);
    }
    if constexpr (at_once > 1) {
#pragma unroll 1
        for (; c < n_classes; c += step) {
            const acc_t<T> logit[1] = {widen(x[c * sc])};
            s = softmax_add(s, logit);
        }
    }
    return Team::template merge<acc_t<T>>(s);
}

template <typename T> __device__ inline acc_t<T> class_weight(const T *weight, int64_t c) {
    return weight ? widen(weight[c]) : acc_t<T>(1);
}

template <typename T>
__device__ inline void write_row(const ce_view &view, int64_t row, acc_t<T> loss, acc_t<T> weight,
                                 T *output, acc_t<T> *row_loss, acc_t<T> *row_weight) {
    if (view.reduction == 0) {
        output[row] = narrow<T>(loss);
    } else {
        row_loss[row] = loss;
        row_weight[row] = weight;
    }
}

// Is the row's label usable? Only the team's first thread looks, so that each row signals once.
template <policy P, typename Team>
__device__ bool check_label(int64_t t, int64_t n_classes, int64_t row, reporter to) {
    bool usable = true;
    if (Team::first() == 0) {
        LOSSGATE_GUARD(P, valid, t >= 0 && t < n_classes, to, 1, row, t, 0, n_classes);
        usable = valid;
    }
    return Team::broadcast(usable);
}

// The smoothing part of a row before e/C: -sum_c w[c] log p[c].
template <typename Team, typename T>
__device__ acc_t<T> smooth_sum(const T *x, const T *weight, const ce_view &view,
                               softmax_state<acc_t<T>> s) {
    acc_t<T> sum = 0;
    for (int64_t c = Team::first(); c < view.n_classes; c += Team::step()) {
        sum -= class_weight(weight, c) * log_probability(s, widen(x[c * view.sc]));
    }
    return Team::add(sum);
}

template <policy P, typename Team, typename T, typename L>
__device__ void forward_row(T *output, acc_t<T> *row_loss, acc_t<T> *row_weight, const T *input,
                            const L *target, const T *weight, const ce_view &view, int64_t row,
                            reporter to) {
    using A = acc_t<T>;
    const int64_t n = row / view.spatial;
    const int64_t p = row % view.spatial;
    const T *x = input + n * view.sn + p * view.ss;
    const int64_t t = target[n * view.tn + p * view.ts];
    A loss = 0;
    A w = 0;
    if (t != view.ignore_index) {
        if (check_label<P, Team>(t, view.n_classes, row, to)) {
            const softmax_state<A> s = row_softmax<Team>(x, view.n_classes, view.sc);
            const A e = static_cast<A>(view.smoothing);
            w = class_weight(weight, t);
            loss = -w * log_probability(s, widen(x[t * view.sc]));
            if (e > A(0)) {
                loss = (A(1) - e) * loss +
                       e / static_cast<A>(view.n_classes) * smooth_sum<Team>(x, weight, view, s);
            }
        } else {
            loss = quiet_nan<A>();
        }
    }
    if (Team::first() == 0) {
        write_row<T>(view, row, loss, w, output, row_loss, row_weight);
    }
}

template <typename T>
__device__ inline acc_t<T> upstream_scale(const ce_view &view, int64_t row, const T *grad_output,
                                          acc_t<T> divisor) {
    const acc_t<T> g = widen(grad_output[view.reduction == 0 ? row : 0]);
    return view.reduction == 1 ? g / divisor : g;
}

template <policy P, typename Team, typename T, typename L>
__device__ void backward_row(T *grad_input, const T *grad_output, const acc_t<T> *total_weight,
                             const T *input, const L *target, const T *weight, const ce_view &view,
                             int64_t row, reporter to) {
    using A = acc_t<T>;
    const int64_t n = row / view.spatial;
    const int64_t p = row % view.spatial;
    const int64_t n_classes = view.n_classes;
    const T *x = input + n * view.sn + p * view.ss;
    T *cell = grad_input + n * n_classes * view.spatial + p;
    const int64_t t = target[n * view.tn + p * view.ts];
    const bool ignored = t == view.ignore_index;
    if (ignored || !check_label<P, Team>(t, n_classes, row, to)) {
        const A fill = ignored ? A(0) : quiet_nan<A>();
        for (int64_t c = Team::first(); c < n_classes; c += Team::step()) {
            cell[c * view.spatial] = narrow<T>(fill);
        }
        return;
    }
    const softmax_state<A> s = row_softmax<Team>(x, n_classes, view.sc);
    const A g = upstream_scale<T>(view, row, grad_output, view.reduction == 1 ? *total_weight : A(1));
    const A e = static_cast<A>(view.smoothing);
    const A on_label = g * (A(1) - e) * class_weight(weight, t);
    const A on_all = g * e / static_cast<A>(n_classes);
    A all = 0; // W
    if (e > A(0)) {
        for (int64_t c = Team::first(); c < n_classes; c += Team::step()) {
            all += class_weight(weight, c);
        }
        all = Team::add(all);
    }
    for (int64_t c = Team::first(); c < n_classes; c += Team::step()) {
        const A q = exp(widen(x[c * view.sc]) - s.max) / s.sum;
        A d = on_label * (q - (c == t ? A(1) : A(0)));
        if (e > A(0)) {
            d += on_all * (all * q - class_weight(weight, c));
        }
        cell[c * view.spatial] = narrow<T>(d);
    }
}

// Class-probability targets. Are all of a row's probabilities some? One signal a row, by the first that
// is none.
template <policy P, typename T>
__device__ bool check_probabilities(const T *target, int64_t at, const ce_view &view, int64_t row,
                                    reporter to) {
    if constexpr (P != policy::none) {
        const acc_t<T> zero = 0;
        const acc_t<T> one = 1;
        for (int64_t c = 0; c < view.n_classes; c++) {
            const acc_t<T> probability = widen(target[at + c * view.tc]);
            LOSSGATE_GUARD(P, valid, probability >= zero && probability <= one, to, 3, row,
                           __double_as_longlong(probability), 0, 1);
            if (!valid) {
                return false;
            }
        }
    }
    return true;
}

template <typename T>
__device__ inline acc_t<T> smoothed(const T *target, int64_t offset, const ce_view &view) {
    const acc_t<T> e = static_cast<acc_t<T>>(view.smoothing);
    const acc_t<T> t = widen(target[offset]);
    return e > 0 ? t * (1 - e) + e / static_cast<acc_t<T>>(view.n_classes) : t;
}

template <policy P, typename T>
__device__ void probability_forward_row(T *output, acc_t<T> *row_loss, acc_t<T> *row_weight,
                                        const T *input, const T *target, const T *weight,
                                        const ce_view &view, int64_t row, reporter to) {
    using A = acc_t<T>;
    const int64_t n = row / view.spatial;
    const int64_t p = row % view.spatial;
    const T *x = input + n * view.sn + p * view.ss;
    const int64_t at = n * view.tn + p * view.ts;
    A loss = quiet_nan<A>();
    if (check_probabilities<P>(target, at, view, row, to)) {
        const softmax_state<A> s = row_softmax<lone_thread>(x, view.n_classes, view.sc);
        loss = 0;
        for (int64_t c = 0; c < view.n_classes; c++) {
            loss -= class_weight(weight, c) * smoothed(target, at + c * view.tc, view) *
                    log_probability(s, widen(x[c * view.sc]));
        }
    }
    write_row<T>(view, row, loss, A(1), output, row_loss, row_weight);
}

template <policy P, typename T>
__device__ void probability_backward_row(T *grad_input, const T *grad_output, const T *input,
                                         const T *target, const T *weight, const ce_view &view,
                                         int64_t row, reporter to) {
    using A = acc_t<T>;
    const int64_t n = row / view.spatial;
    const int64_t p = row % view.spatial;
    const T *x = input + n * view.sn + p * view.ss;
    T *cell = grad_input + n * view.n_classes * view.spatial + p;
    const int64_t at = n * view.tn + p * view.ts;
    if (!check_probabilities<P>(target, at, view, row, to)) {
        for (int64_t c = 0; c < view.n_classes; c++) {
            cell[c * view.spatial] = narrow<T>(quiet_nan<A>());
        }
        return;
    }
    const softmax_state<A> s = row_softmax<lone_thread>(x, view.n_classes, view.sc);
    const A n_rows = static_cast<A>(view.samples * view.spatial);
    const A g = upstream_scale<T>(view, row, grad_output, n_rows);
    A all = 0;
    for (int64_t c = 0; c < view.n_classes; c++) {
        all += class_weight(weight, c) * smoothed(target, at + c * view.tc, view);
    }
    for (int64_t c = 0; c < view.n_classes; c++) {
        const A q = exp(widen(x[c * view.sc]) - s.max) / s.sum;
        const A part = class_weight(weight, c) * smoothed(target, at + c * view.tc, view);
        cell[c * view.spatial] = narrow<T>(g * (all * q - part));
    }
}

// The entries.
#define CE_NC_PARAMS                                                                               \
    int64_t samples, int64_t n_classes, int64_t ignore_index, double smoothing, int reduction
#define CE_NC_VIEW                                                                                 \
    ce_view{samples, n_classes, 1, n_classes, 1, 1, 1, 1, 1, ignore_index, smoothing, reduction}
#define CE_NCS_PARAMS                                                                              \
    int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,       \
        int64_t tn, int64_t ts, int64_t ignore_index, double smoothing, int reduction
#define CE_NCS_VIEW                                                                                \
    ce_view{samples, n_classes, spatial, sn, sc, ss, tn, 1, ts, ignore_index, smoothing, reduction}
#define CE_PROBABILITY_PARAMS                                                                      \
    int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,       \
        int64_t tn, int64_t tc, int64_t ts, double smoothing, int reduction
#define CE_PROBABILITY_VIEW                                                                        \
    ce_view{samples, n_classes, spatial, sn, sc, ss, tn, tc, ts, -1, smoothing, reduction}
#define RECORD_PARAMS lossgate_record_ring *ring, uint32_t launch
#define THREAD (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x)

#define CE_PAIR(shape, Team, ROW, PARAMS, VIEW, p, P, d, T, l, L)                                  \
    extern "C" __global__ void cross_entropy_forward_##shape##_##p##_##d##_##l(                    \
        T *output, acc_t<T> *row_loss, acc_t<T> *row_weight, const T *input, const L *target,      \
        const T *weight, PARAMS, RECORD_PARAMS) {                                                  \
        const ce_view view = VIEW;                                                                 \
        const int64_t row = ROW;                                                                   \
        if (row < view.samples * view.spatial) {                                                   \
            forward_row<P, Team, T, L>(output, row_loss, row_weight, input, target, weight, view,  \
                                       row, reporter{ring, launch});                               \
        }                                                                                          \
    }                                                                                              \
    extern "C" __global__ void cross_entropy_backward_##shape##_##p##_##d##_##l(                   \
        T *grad_input, const T *grad_output, const acc_t<T> *total_weight, const T *input,         \
        const L *target, const T *weight, PARAMS, RECORD_PARAMS) {                                 \
        const ce_view view = VIEW;                                                                 \
        const int64_t row = ROW;                                                                   \
        if (row < view.samples * view.spatial) {                                                   \
            backward_row<P, Team, T, L>(grad_input, grad_output, total_weight, input, target,      \
                                        weight, view, row, reporter{ring, launch});                \
        }                                                                                          \
    }

#define CE_ENTRIES(p, P, d, T, l, L)                                                               \
    CE_PAIR(warp, whole_warp, THREAD / 32, CE_NC_PARAMS, CE_NC_VIEW, p, P, d, T, l, L)             \
    CE_PAIR(block, whole_block, blockIdx.x, CE_NC_PARAMS, CE_NC_VIEW, p, P, d, T, l, L)            \
    CE_PAIR(spatial, lone_thread, THREAD, CE_NCS_PARAMS, CE_NCS_VIEW, p, P, d, T, l, L)

#define CE_TYPE_ENTRIES(d, T)                                                                      \
    extern "C" __global__ void cross_entropy_finish_##d(                                           \
        T *output, acc_t<T> *total_weight, const acc_t<T> *row_loss, const acc_t<T> *row_weight,   \
        int mean, int64_t n_rows) {                                                                \
        finish_rows<T>(output, total_weight, row_loss, row_weight, mean, n_rows);                  \
    }

#define CE_PROBABILITY_ENTRIES(p, P, d, T)                                                         \
    extern "C" __global__ void cross_entropy_forward_probability_##p##_##d(                        \
        T *output, acc_t<T> *row_loss, acc_t<T> *row_weight, const T *input, const T *target,      \
        const T *weight, CE_PROBABILITY_PARAMS, RECORD_PARAMS) {                                   \
        const ce_view view = CE_PROBABILITY_VIEW;                                                  \
        if (THREAD < samples * spatial) {                                                          \
            probability_forward_row<P, T>(output, row_loss, row_weight, input, target, weight,     \
                                          view, THREAD, reporter{ring, launch});                   \
        }                                                                                          \
    }                                                                                              \
    extern "C" __global__ void cross_entropy_backward_probability_##p##_##d(                       \
        T *grad_input, const T *grad_output, const T *input, const T *target, const T *weight,     \
        CE_PROBABILITY_PARAMS, RECORD_PARAMS) {                                                    \
        const ce_view view = CE_PROBABILITY_VIEW;                                                  \
        if (THREAD < samples * spatial) {                                                          \
            probability_backward_row<P, T>(grad_input, grad_output, input, target, weight, view,   \
                                           THREAD, reporter{ring, launch});                        \
        }                                                                                          \
    }

#define CE_TARGETS(p, P, d, T) LOSSGATE_EACH_TARGET(CE_ENTRIES, p, P, d, T)
#define CE_INPUTS(p, P)                                                                            \
    LOSSGATE_EACH_INPUT(CE_TARGETS, p, P)                                                          \
    LOSSGATE_EACH_INPUT(CE_PROBABILITY_ENTRIES, p, P)
LOSSGATE_EACH_POLICY(CE_INPUTS)

CE_TYPE_ENTRIES(float64, double)
CE_TYPE_ENTRIES(float32, float)
CE_TYPE_ENTRIES(float16, __half)
CE_TYPE_ENTRIES(bfloat16, __nv_bfloat16)
