// SPDX-License-Identifier: Apache-2.0
// A cross-entropy that is not lossgate's, with an entry for each pair of an input type and a label
// type: one thread a row, no reduction. Sums are in float, for double input in double.
#include <cassert>
#include <cuda_fp16.h>

template <typename T> struct sums {
    using type = float;
};
template <> struct sums<double> {
    using type = double;
};

template <typename T, typename L> struct row_of {
    using A = typename sums<T>::type;
    long long index, width;
    L label;
    bool ignored;
    A top, log_sum;

    __device__ A at(const T *input, long long k) const {
        return static_cast<A>(input[index * width + k]);
    }

    __device__ row_of(const T *input, const L *target, long long row, long long n_classes,
                      long long ignore) : index(row), width(n_classes), label(target[row]) {
        ignored = static_cast<long long>(label) == ignore;
        top = at(input, 0);
        for (long long k = 1; k < width; k++) {
            top = max(top, at(input, k));
        }
        A sum = 0;
        for (long long k = 0; k < width; k++) {
            sum += exp(at(input, k) - top);
        }
        log_sum = log(sum);
    }
};

template <typename T, typename L> __device__ void guard(const row_of<T, L> &r) {
    const long long label = r.label;
    if (!r.ignored) {
        assert(label >= 0 && label < r.width);
    }
}

#define ROW (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x)

template <typename T, typename L>
__device__ void forward(T *output, const T *input, const L *target, long long samples,
                        long long n_classes, long long ignore) {
    const long long row = ROW;
    if (row < samples) {
        const row_of<T, L> r(input, target, row, n_classes, ignore);
        guard(r);
        output[row] = r.ignored ? T(0) : T(r.log_sum - (r.at(input, r.label) - r.top));
    }
}

template <typename T, typename L>
__device__ void backward(T *grad, const T *above, const T *input, const L *target,
                         long long samples, long long n_classes, long long ignore) {
    const long long row = ROW;
    if (row < samples) {
        const row_of<T, L> r(input, target, row, n_classes, ignore);
        guard(r);
        using A = typename row_of<T, L>::A;
        for (long long k = 0; k < n_classes; k++) {
            const A softmax = exp(r.at(input, k) - r.top - r.log_sum);
            const A slope = softmax - (k == static_cast<long long>(r.label) ? A(1) : A(0));
            grad[row * n_classes + k] = r.ignored ? T(0) : T(static_cast<A>(above[row]) * slope);
        }
    }
}

#define ENTRIES(T, t, L, l)                                                                        \
    extern "C" __global__ void ce_forward_##t##_##l(T *output, const T *input, const L *target,    \
                                                    long long samples, long long n_classes,        \
                                                    long long ignore) {                            \
        forward<T, L>(output, input, target, samples, n_classes, ignore);                          \
    }                                                                                              \
    extern "C" __global__ void ce_backward_##t##_##l(                                              \
        T *grad, const T *above, const T *input, const L *target, long long samples,               \
        long long n_classes, long long ignore) {                                                   \
        backward<T, L>(grad, above, input, target, samples, n_classes, ignore);                    \
    }
#define LABELS(T, t)                                                                               \
    ENTRIES(T, t, long long, int64)                                                                \
    ENTRIES(T, t, int, int32)                                                                      \
    ENTRIES(T, t, unsigned char, uint8)
LABELS(float, float32)
LABELS(double, float64)
LABELS(__half, float16)
