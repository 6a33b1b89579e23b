// SPDX-License-Identifier: Apache-2.0
// Kernels that bench_engine times: a softmax over the rows of an N×C array, one block a row, and a
// negative log-likelihood, one block over all rows with a tree in shared memory.

template <typename F> __device__ float block_reduce(float value, float *shared, F combine) {
    for (int step = 16; step > 0; step /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = shared[0];
    for (int i = 1; i < blockDim.x / 32; i++) {
        value = combine(value, shared[i]);
    }
    return value;
}

extern "C" __global__ void row_softmax(const float *in, float *out, int n_classes) {
    __shared__ float shared[32];
    const float *row = in + static_cast<long long>(blockIdx.x) * n_classes;
    float *to = out + static_cast<long long>(blockIdx.x) * n_classes;
    float largest = -3.4e38f;
    for (int c = threadIdx.x; c < n_classes; c += blockDim.x) {
        largest = fmaxf(largest, row[c]);
    }
    largest = block_reduce(largest, shared, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0;
    for (int c = threadIdx.x; c < n_classes; c += blockDim.x) {
        sum += expf(row[c] - largest);
    }
    sum = block_reduce(sum, shared, [](float a, float b) { return a + b; });
    const float scale = 1.0f / sum;
    for (int c = threadIdx.x; c < n_classes; c += blockDim.x) {
        to[c] = expf(row[c] - largest) * scale;
    }
}

extern "C" __global__ void nll_sum(const float *x, const long long *labels, const float *weight,
                                   float *out, long long n_rows, long long n_classes,
                                   long long ignore_index) {
    __shared__ float losses[256], weights[256];
    float loss = 0, total = 0;
    for (long long row = threadIdx.x; row < n_rows; row += blockDim.x) {
        const long long t = labels[row];
        if (t == ignore_index) {
            continue;
        }
        if (t < 0 || t >= n_classes) {
            __trap();
        }
        const float w = weight[t];
        loss -= w * x[row * n_classes + t];
        total += w;
    }
    losses[threadIdx.x] = loss;
    weights[threadIdx.x] = total;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            losses[threadIdx.x] += losses[threadIdx.x + step];
            weights[threadIdx.x] += weights[threadIdx.x + step];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[0] = losses[0];
        out[1] = weights[0];
    }
}
