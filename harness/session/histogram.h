// SPDX-License-Identifier: Apache-2.0
// The labels of a batch as a few bins for reports: in-range classes in at most 32 ranges of equal
// width, every value outside [0, C) on its own while there are few.
#ifndef LG_SESSION_HISTOGRAM_H
#define LG_SESSION_HISTOGRAM_H

#include "model/batch.h"
#include "result/case.h"

enum { LG_MAX_LABEL_BINS = 64 };

// Fills at most LG_MAX_LABEL_BINS ascending bins without empty ones; 0 when the targets are no
// class indices. Every row is in one bin.
int64_t lg_label_histogram(const lg_batch *batch, lg_label_bin bins[LG_MAX_LABEL_BINS]);

#endif
