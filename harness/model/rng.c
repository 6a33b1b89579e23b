// SPDX-License-Identifier: Apache-2.0
#include "model/rng.h"

#include <math.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

// Counter (index, stream, 0, 0), key (seed, 0): the address of four 64-bit words.
static philox4x64_ctr_t block_at(uint64_t seed, uint64_t stream, uint64_t index) {
    philox4x64_ctr_t counter = {{index, stream, 0, 0}};
    philox4x64_key_t key = {{seed, 0}};
    return philox4x64(counter, key);
}

static double unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t lg_rng_u64(uint64_t seed, uint64_t stream, uint64_t index) {
    return block_at(seed, stream, index).v[0];
}

uint64_t lg_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n) {
    return (uint64_t)((unsigned __int128)lg_rng_u64(seed, stream, index) * n >> 64);
}

double lg_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index) {
    return unit(lg_rng_u64(seed, stream, index));
}

double lg_rng_normal(uint64_t seed, uint64_t stream, uint64_t index) {
    philox4x64_ctr_t words = block_at(seed, stream, index);
    double radius = sqrt(-2.0 * log(1.0 - unit(words.v[0]))); // 1 - u is in (0, 1]: never log(0)
    return radius * cos(6.283185307179586476925 * unit(words.v[1]));
}
