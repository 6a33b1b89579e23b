// SPDX-License-Identifier: Apache-2.0
#include "labels/labels.h"

#include "model/rng.h"
#include "support/alloc.h"

#include <stdlib.h>

// The last class whose cumulative weight is at or below `at`, by bisection.
static int64_t find_class(const double *cumulative, int64_t classes, double at) {
    int64_t low = 0;
    int64_t high = classes - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (cumulative[middle] > at) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static bool draw_zipf(uint64_t seed, int64_t classes, int64_t n, int64_t *labels) {
    double *cumulative = lg_buffer_alloc((size_t)classes * sizeof *cumulative);
    if (!cumulative) {
        return false;
    }
    double sum = 0;
    for (int64_t k = 0; k < classes; k++) {
        sum += 1.0 / (double)(k + 1);
        cumulative[k] = sum;
    }
    for (int64_t i = 0; i < n; i++) {
        double at = sum * lg_rng_uniform(seed, LG_STREAM_TARGETS, (uint64_t)i);
        labels[i] = find_class(cumulative, classes, at);
    }
    free(cumulative);
    return true;
}

bool lg_labels_draw(const lg_array_spec *spec, uint64_t seed, int64_t classes, int64_t n,
                    int64_t *labels) {
    if (spec->distribution == LG_DIST_ZIPF) {
        return draw_zipf(seed, classes, n, labels);
    }
    for (int64_t i = 0; i < n; i++) {
        if (spec->distribution == LG_DIST_ROUND_ROBIN) {
            labels[i] = i % classes;
        } else if (spec->distribution == LG_DIST_CONSTANT) {
            labels[i] = (int64_t)spec->lo;
        } else {
            labels[i] =
                (int64_t)lg_rng_below(seed, LG_STREAM_TARGETS, (uint64_t)i, (uint64_t)classes);
        }
    }
    return true;
}

void lg_labels_ignore(double fraction, uint64_t seed, int64_t ignore_index, int64_t n,
                      int64_t *labels) {
    for (int64_t i = 0; fraction > 0 && i < n; i++) {
        if (lg_rng_uniform(seed, LG_STREAM_IGNORE, (uint64_t)i) < fraction) {
            labels[i] = ignore_index;
        }
    }
}
