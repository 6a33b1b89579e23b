// SPDX-License-Identifier: Apache-2.0
//
// What only the order of threads can break: sums that come out right on the engine, and most of the
// time on a GPU, because nothing happened to come in between.
//
// The story. One launch adds up the losses of all rows: each warp in shared memory, the block by a
// shuffle, and the block that is done last adds what all blocks left. Each flaw leaves out one of
// the things that order these steps; flaw `none` is the fixed kernel, from the same lines.
//
// The shapes. Input N×C×S and target N×S by strides in elements, row r = n·S + s, float32 input,
// int64 labels, no class weights; blocks of 64 threads, one row a thread; partial has two numbers a
// block.
#include "../lossgate_reduce.cuh"

enum class flaw {
    none,
    unfenced,     // nothing orders a block's sums before it counts itself as done
    unsynced,     // the lanes of a warp add in shared memory without waiting for each other
    absent_lanes, // a shuffle names lanes that do not execute it
    barrier_number, // a barrier of its own for each block: the fifth block's does not exist
};

__device__ unsigned blocks_done; // back to 0 when all are

// The sum of the warp, in its first lane.
template <flaw F> __device__ row_term<float> warp_sum(row_term<float> mine) {
    __shared__ float losses[64];
    __shared__ float weights[64];
    const unsigned i = threadIdx.x;
    losses[i] = mine.loss;
    weights[i] = mine.weight;
    for (unsigned half = 16; half > 0; half /= 2) {
        if constexpr (F != flaw::unsynced) {
            __syncwarp();
        }
        if (i % 32 < half) {
            losses[i] += losses[i + half];
            weights[i] += weights[i + half];
        }
    }
    return {losses[i], weights[i]};
}

template <flaw F> __device__ row_term<float> sum_of_block(row_term<float> mine) {
    __shared__ row_term<float> sums[2];
    const row_term<float> sum = warp_sum<F>(mine);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
    }
    if constexpr (F == flaw::barrier_number) {
        asm volatile("bar.sync %0;" ::"r"(4 * blockIdx.x) : "memory");
    } else {
        __syncthreads();
    }
    row_term<float> all = {0, 0};
    if (F == flaw::absent_lanes ? threadIdx.x < 2 : threadIdx.x < 32) {
        all = sums[threadIdx.x % 2];
        all.loss += __shfl_xor_sync(0xffffffffu, all.loss, 1);
        all.weight += __shfl_xor_sync(0xffffffffu, all.weight, 1);
    }
    return all;
}

// True for the one thread that may add what all blocks left.
template <flaw F> __device__ bool is_last(row_term<float> sum, float *partial) {
    partial[2 * blockIdx.x] = sum.loss;
    partial[2 * blockIdx.x + 1] = sum.weight;
    if constexpr (F != flaw::unfenced) {
        __threadfence();
    }
    return atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
}

template <flaw F>
__device__ void forward(float *output, float *partial, const float *input, const int64_t *target,
                        bool mean, int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn,
                        int64_t sc, int64_t ss, int64_t tn, int64_t ts, int64_t ignore_index) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    row_term<float> mine = {0, 0};
    if (row < samples * spatial) {
        const int64_t n = row / spatial;
        const int64_t s = row % spatial;
        const int64_t t = target[n * tn + s * ts];
        if (t != ignore_index) {
            assert(t >= 0 && t < n_classes);
            mine = {-input[n * sn + t * sc + s * ss], 1};
        }
    }
    const row_term<float> sum = sum_of_block<F>(mine);
    if (threadIdx.x != 0 || !is_last<F>(sum, partial)) {
        return;
    }
    row_term<float> all = {0, 0};
    for (unsigned i = 0; i < gridDim.x; i++) {
        all.loss += partial[2 * i];
        all.weight += partial[2 * i + 1];
    }
    *output = mean ? all.loss / all.weight : all.loss;
}

#define ENTRY(F)                                                                                   \
    extern "C" __global__ void order_forward_##F(                                                  \
        float *output, float *partial, const float *input, const int64_t *target, int mean,        \
        int64_t samples, int64_t n_classes, int64_t spatial, int64_t sn, int64_t sc, int64_t ss,   \
        int64_t tn, int64_t ts, int64_t ignore_index) {                                            \
        forward<flaw::F>(output, partial, input, target, mean, samples, n_classes, spatial, sn,    \
                         sc, ss, tn, ts, ignore_index);                                            \
    }
ENTRY(none)
ENTRY(unfenced)
ENTRY(unsynced)
ENTRY(absent_lanes)
ENTRY(barrier_number)
