// SPDX-License-Identifier: Apache-2.0
// Random values with an address: (seed, stream, index) → value through Philox4x64 (Random123), so
// that order, filters, threads and shards never change data. Pure functions; any thread.
#ifndef LG_MODEL_RNG_H
#define LG_MODEL_RNG_H

#include <stdint.h>

// One stream a purpose; the numbers are part of the data format: never renumber, only append.
typedef enum lg_stream {
    LG_STREAM_LOGITS = 1,
    LG_STREAM_TARGETS = 2,
    LG_STREAM_WEIGHT = 3,
    LG_STREAM_POS_WEIGHT = 4,
    LG_STREAM_GRAD_OUTPUT = 5,
    LG_STREAM_FAULT = 6,       // which rows are spoiled
    LG_STREAM_FAULT_VALUE = 7, // with what
    LG_STREAM_IGNORE = 8,      // which rows are ignored
    LG_STREAM_SCHEDULE = 9,
    LG_STREAM_GUARD_BATCH = 10, // which batches a sampled check looks at
    LG_STREAM_GUARD_ROW = 11,   // and which rows
    LG_STREAM_RELATION = 10,    // which row goes where, which way logits are shifted
    LG_STREAM_TEST = 100,
} lg_stream;

uint64_t lg_rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
// Uniform in [0, n), without modulo bias worth measuring (64-bit multiply-high). n > 0.
uint64_t lg_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n);
double lg_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index); // [0, 1), 53 bits
double lg_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);  // Box–Muller, mean 0, sd 1

#endif
