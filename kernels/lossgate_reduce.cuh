// SPDX-License-Identifier: Apache-2.0
// Sums over rows, shared by the losses: in a block, and of what blocks or rows left behind. The order of
// every sum depends on the launch geometry alone, so a result repeats bit for bit.
#pragma once
#include "lossgate_kernel.cuh"

// What a row adds: its weighted loss and its weight. An ignored row adds nothing at all.
template <typename A> struct row_term {
    A loss;
    A weight;
};

// Sums over the block in an order that depends on blockDim alone. The block size is a power of two.
template <typename A> __device__ row_term<A> block_sum(row_term<A> mine) {
    __shared__ A losses[1024];
    __shared__ A weights[1024];
    const unsigned i = threadIdx.x;
    losses[i] = mine.loss;
    weights[i] = mine.weight;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (i < half) {
            losses[i] += losses[i + half];
            weights[i] += weights[i + half];
        }
        __syncthreads();
    }
    return {losses[0], weights[0]};
}

template <typename T>
__device__ void write_reduced(row_term<acc_t<T>> sum, bool mean, T *output,
                              acc_t<T> *total_weight) {
    *output = narrow<T>(mean ? sum.loss / sum.weight : sum.loss);
    *total_weight = sum.weight;
}

// One block adds the terms of n_rows rows and writes the reduced loss.
template <typename T>
__device__ void finish_rows(T *output, acc_t<T> *total_weight, const acc_t<T> *row_loss,
                            const acc_t<T> *row_weight, bool mean, int64_t n_rows) {
    row_term<acc_t<T>> sum = {0, 0};
    for (int64_t row = threadIdx.x; row < n_rows; row += blockDim.x) {
        sum.loss += row_loss[row];
        sum.weight += row_weight[row];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        write_reduced<T>(sum, mean, output, total_weight);
    }
}
