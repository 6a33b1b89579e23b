// SPDX-License-Identifier: Apache-2.0
//
// Binary cross-entropy, on probabilities and on logits.
//
// The story. For a probability p and a target t in [0, 1] the loss is
//   -(t·max(log p, -100) + (1 - t)·max(log(1 - p), -100)),
// log(1 - p) taken as log1p(-p). On logits x, with positive weight a and l = 1 + (a - 1)·t, it is
//   (1 - t)·x + l·(log1p(exp(-|x|)) + max(-x, 0)),
// which does not overflow. Both are multiplied by an elementwise weight. mean divides by the number of
// elements. Gradients: g·w·(p - t)/max((1 - p)·p, 1e-12), and g·w·((a·t + 1 - t)·sigmoid(x) - a·t).
// p outside [0, 1] (NaN too) has no logarithm and t outside [0, 1] has no meaning: both are guarded.
//
// The shapes. Every element is a row of its own: input, target, weight, pos_weight and output are flat
// arrays of n elements; weight and pos_weight may be null. The strided kernels read input and target as
// N×S views, element n·S + s at n·sn + s·ss. The halves compute in float.
//
// The kernels.
//   elementwise   one element a thread, reduction none
//   reduce        grid-stride blocks write partial sums, the finish launch adds them
// for bce and bce_with_logits, forward and backward, each also strided.
#include "lossgate_reduce.cuh"

// Where element i of the input and of the target is.
struct in_order {
    __device__ int64_t input(int64_t i) const { return i; }
    __device__ int64_t target(int64_t i) const { return i; }
};

struct strided {
    int64_t spatial;
    int64_t sn, ss; // strides of the input, in elements
    int64_t tn, ts; // strides of the target
    __device__ int64_t input(int64_t i) const { return i / spatial * sn + i % spatial * ss; }
    __device__ int64_t target(int64_t i) const { return i / spatial * tn + i % spatial * ts; }
};

template <typename T, typename Walk> struct bce_arrays {
    const T *input, *target, *weight, *pos_weight;
    int64_t n;
    Walk walk;
};

__device__ inline int64_t value_bits(double x) { return __double_as_longlong(x); }

template <typename A> __device__ inline A clamped_log(A x) {
    const A floor = A(-100);
    return x < floor ? floor : x; // a NaN stays
}

template <policy P, typename A>
__device__ bool check_probability(A input_val, int64_t row, reporter to) {
    const A zero = 0;
    const A one = 1;
    LOSSGATE_GUARD(P, valid, input_val >= zero && input_val <= one, to, 2, row,
                   value_bits(input_val), 0, 1);
    return valid;
}

template <policy P, typename A>
__device__ bool check_target(A target_val, int64_t row, reporter to) {
    const A zero = 0;
    const A one = 1;
    LOSSGATE_GUARD(P, valid, target_val >= zero && target_val <= one, to, 3, row,
                   value_bits(target_val), 0, 1);
    return valid;
}

// The two losses, as a loss and its derivative at one element.
template <typename A> struct on_probability {
    template <policy P> __device__ static bool check(A p, A t, int64_t row, reporter to) {
        const bool input_ok = check_probability<P>(p, row, to);
        return check_target<P>(t, row, to) && input_ok;
    }
    __device__ static A loss(A p, A t, A) {
        return (t - A(1)) * clamped_log(log1p(-p)) - t * clamped_log(log(p));
    }
    __device__ static A derivative(A p, A t, A) {
        const A eps = A(1e-12f); // the float constant in every type, as the reference
        const A spread = (A(1) - p) * p;
        return (p - t) / (spread > eps ? spread : eps);
    }
};

template <typename A> struct on_logit {
    template <policy P> __device__ static bool check(A, A t, int64_t row, reporter to) {
        return check_target<P>(t, row, to);
    }
    __device__ static A loss(A x, A t, A a) {
        const A l = A(1) + (a - A(1)) * t;
        const A below = x < A(0) ? -x : A(0);
        return (A(1) - t) * x + l * (log1p(exp(-fabs(x))) + below);
    }
    __device__ static A derivative(A x, A t, A a) {
        const A sigmoid = A(1) / (A(1) + exp(-x));
        return (a * t + A(1) - t) * sigmoid - a * t;
    }
};

template <typename T> __device__ inline acc_t<T> at(const T *array, int64_t i) {
    return array ? widen(array[i]) : acc_t<T>(1);
}

template <policy P, typename Loss, typename T, typename Walk>
__device__ acc_t<T> element_loss(const bce_arrays<T, Walk> &in, int64_t i, reporter to) {
    using A = acc_t<T>;
    const A x = widen(in.input[in.walk.input(i)]);
    const A t = widen(in.target[in.walk.target(i)]);
    if (!Loss::template check<P>(x, t, i, to)) {
        return quiet_nan<A>();
    }
    return at(in.weight, i) * Loss::loss(x, t, at(in.pos_weight, i));
}

template <policy P, typename Loss, typename T, typename Walk>
__device__ void forward_elementwise(T *output, const bce_arrays<T, Walk> &in, reporter to) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < in.n) {
        output[i] = narrow<T>(element_loss<P, Loss>(in, i, to));
    }
}

template <policy P, typename Loss, typename T, typename Walk>
__device__ void forward_partial(acc_t<T> *partial, const bce_arrays<T, Walk> &in, reporter to) {
    row_term<acc_t<T>> sum = {0, 0};
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < in.n;
         i += step) {
        sum.loss += element_loss<P, Loss>(in, i, to);
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum.loss;
    }
}

// How many blocks forward_partial has; its grid in the manifest is the same expression.
__device__ inline int64_t partial_blocks(int64_t n) {
    const int64_t wanted = (n + 255) / 256;
    return wanted < 64 ? wanted : 64;
}

template <typename T>
__device__ void forward_finish(T *output, const acc_t<T> *partial, bool mean, int64_t n) {
    row_term<acc_t<T>> sum = {0, 0};
    if (threadIdx.x < partial_blocks(n)) {
        sum.loss = partial[threadIdx.x];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        *output = narrow<T>(mean ? sum.loss / static_cast<acc_t<T>>(n) : sum.loss);
    }
}

template <policy P, typename Loss, typename T, typename Walk>
__device__ void backward(T *grad_input, const T *grad_output, const bce_arrays<T, Walk> &in,
                         int reduction, reporter to) {
    using A = acc_t<T>;
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= in.n) {
        return;
    }
    const A x = widen(in.input[in.walk.input(i)]);
    const A t = widen(in.target[in.walk.target(i)]);
    A d = quiet_nan<A>();
    if (Loss::template check<P>(x, t, i, to)) {
        const A g = widen(grad_output[reduction == 0 ? i : 0]);
        const A scale = reduction == 1 ? g / static_cast<A>(in.n) : g;
        d = scale * at(in.weight, i) * Loss::derivative(x, t, at(in.pos_weight, i));
    }
    grad_input[i] = narrow<T>(d);
}

// The entries. bce has no positive weight: it passes null.
#define BCE_PARAMS(T) const T *input, const T *target, const T *weight, int64_t n
#define BCE_ARRAYS(T) bce_arrays<T, in_order>{input, target, weight, nullptr, n, {}}
#define BCE_VIEWS(T) bce_arrays<T, strided>{input, target, weight, nullptr, n, STRIDED_WALK}
#define LOGIT_PARAMS(T)                                                                            \
    const T *input, const T *target, const T *weight, const T *pos_weight, int64_t n
#define LOGIT_ARRAYS(T) bce_arrays<T, in_order>{input, target, weight, pos_weight, n, {}}
#define LOGIT_VIEWS(T) bce_arrays<T, strided>{input, target, weight, pos_weight, n, STRIDED_WALK}
#define STRIDED_WALK {spatial, sn, ss, tn, ts}
#define NO_STRIDES
#define STRIDES , int64_t spatial, int64_t sn, int64_t ss, int64_t tn, int64_t ts
#define RECORD_PARAMS lossgate_record_ring *ring, uint32_t launch
#define RECORD reporter{ring, launch}

#define BCE_ENTRIES(name, shape, Loss, PARAMS, WALK, ARRAYS, p, P, d, T)                           \
    extern "C" __global__ void name##_forward_##shape##elementwise_##p##_##d(                      \
        T *output, PARAMS(T) WALK, RECORD_PARAMS) {                                                \
        forward_elementwise<P, Loss<acc_t<T>>>(output, ARRAYS(T), RECORD);                         \
    }                                                                                              \
    extern "C" __global__ void name##_forward_##shape##partial_##p##_##d(                          \
        acc_t<T> *partial, PARAMS(T) WALK, RECORD_PARAMS) {                                        \
        forward_partial<P, Loss<acc_t<T>>>(partial, ARRAYS(T), RECORD);                            \
    }                                                                                              \
    extern "C" __global__ void name##_backward_##shape##p##_##d(                                   \
        T *grad_input, const T *grad_output, PARAMS(T) WALK, int reduction, RECORD_PARAMS) {       \
        backward<P, Loss<acc_t<T>>>(grad_input, grad_output, ARRAYS(T), reduction, RECORD);        \
    }

#define BCE_ALL(p, P, d, T)                                                                        \
    BCE_ENTRIES(bce, , on_probability, BCE_PARAMS, NO_STRIDES, BCE_ARRAYS, p, P, d, T)             \
    BCE_ENTRIES(bce, strided_, on_probability, BCE_PARAMS, STRIDES, BCE_VIEWS, p, P, d, T)         \
    BCE_ENTRIES(bce_with_logits, , on_logit, LOGIT_PARAMS, NO_STRIDES, LOGIT_ARRAYS, p, P, d, T)   \
    BCE_ENTRIES(bce_with_logits, strided_, on_logit, LOGIT_PARAMS, STRIDES, LOGIT_VIEWS, p, P, d, T)

#define BCE_FINISH(d, T)                                                                           \
    extern "C" __global__ void bce_finish_##d(T *output, const acc_t<T> *partial, int mean,        \
                                              int64_t n) {                                         \
        forward_finish<T>(output, partial, mean, n);                                               \
    }

#define BCE_INPUTS(p, P) LOSSGATE_EACH_INPUT(BCE_ALL, p, P)
LOSSGATE_EACH_POLICY(BCE_INPUTS)

BCE_FINISH(float64, double)
BCE_FINISH(float32, float)
BCE_FINISH(float16, __half)
BCE_FINISH(bfloat16, __nv_bfloat16)
