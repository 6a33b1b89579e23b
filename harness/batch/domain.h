// SPDX-License-Identifier: Apache-2.0
// What a row of log-probabilities or probabilities can and cannot be, within the rounding of the
// narrowest dtype (bfloat16: 2^-8 relative).
#ifndef LG_BATCH_DOMAIN_H
#define LG_BATCH_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

// No entry above 0 (a logarithm of at most 1). Rows that do not sum to 1 pass: nll_loss itself
// takes them, and masked or truncated distributions are in use. NaN passes: it is nonfinite_logits.
bool lg_could_be_log_probabilities(const double *row, int64_t width);
bool lg_could_be_log_probability(double value);
// Whether exponentials that sum so are those of log-probabilities of that entropy, in nats: an
// entry l that is off by one part in 2^8 moves its exponential by exp(l) |l| / 2^8.
bool lg_could_be_log_probability_sum(double exp_sum, double entropy);

// One probability, and the sum of a row of them.
bool lg_could_be_probability(double value);
bool lg_could_be_probability_sum(double sum);

// Every entry in [0, 1] and the sum 1: what softmax leaves. width > 0.
bool lg_could_be_probabilities(const double *row, int64_t width);

#endif
