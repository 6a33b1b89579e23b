// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_RANGES = 32, MAX_OUTSIDE = (LG_MAX_LABEL_BINS - MAX_RANGES) / 2 };

// Values on one side of the range. When there are more than fit, the bin next to the new value
// widens.
typedef struct side {
    int64_t n;
    lg_label_bin bins[MAX_OUTSIDE]; // ascending
} side;

static void count_outside(side *s, int64_t label) {
    int64_t at = 0;
    while (at < s->n && s->bins[at].high < label) {
        at++;
    }
    if (at < s->n && s->bins[at].low <= label) {
        s->bins[at].count++;
        return;
    }
    if (s->n < MAX_OUTSIDE) {
        memmove(&s->bins[at + 1], &s->bins[at], (size_t)(s->n - at) * sizeof(s->bins[0]));
        s->bins[at] = (lg_label_bin){.low = label, .high = label, .count = 1};
        s->n++;
        return;
    }
    lg_label_bin *wider = &s->bins[at < s->n ? at : s->n - 1];
    wider->low = label < wider->low ? label : wider->low;
    wider->high = label > wider->high ? label : wider->high;
    wider->count++;
}

static int64_t append(lg_label_bin *bins, int64_t n, const lg_label_bin *from, int64_t n_from) {
    for (int64_t i = 0; i < n_from; i++) {
        if (from[i].count > 0) {
            bins[n++] = from[i];
        }
    }
    return n;
}

int64_t lg_label_histogram(const lg_batch *batch, lg_label_bin bins[LG_MAX_LABEL_BINS]) {
    const lg_tensor *target = lg_batch_device_target(batch);
    bool binary = batch->loss.kind == LG_BCE || batch->loss.kind == LG_BCE_WITH_LOGITS;
    if (batch->target_is_probability || binary || !lg_tensor_exists(target)) {
        return 0;
    }
    int64_t width = lg_batch_head_width(batch);
    int64_t step = width > MAX_RANGES ? (width + MAX_RANGES - 1) / MAX_RANGES : 1;
    lg_label_bin inside[MAX_RANGES] = {{0}};
    side below = {0};
    side above = {0};
    int64_t n_rows = lg_tensor_numel(target);
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t label = lg_tensor_get_i64(target, i);
        if (label < 0 || label >= width) {
            count_outside(label < 0 ? &below : &above, label);
            continue;
        }
        lg_label_bin *bin = &inside[label / step];
        bin->low = label / step * step;
        bin->high = bin->low + step - 1 < width - 1 ? bin->low + step - 1 : width - 1;
        bin->count++;
    }
    int64_t n = append(bins, 0, below.bins, below.n);
    n = append(bins, n, inside, MAX_RANGES);
    return append(bins, n, above.bins, above.n);
}
