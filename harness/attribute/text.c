// SPDX-License-Identifier: Apache-2.0
// One line of evidence and one of advice for each label cause.
#include "attribute/internal.h"

#include "support/plain.h"

#include <inttypes.h>
#include <math.h>

static const char *s_are(int64_t n) {
    return n == 1 ? " is" : "s are";
}

static const char *head_width_text(const lg_diagnosis *d, const lg_explanation *e) {
    const lg_label_evidence *l = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    int64_t classes = l->classes > l->head_width ? l->classes : e->head_width;
    const char *outputs = l->head_width == 1 ? "output" : "outputs";
    if (l->n_zero == 0) {
        return lg_arena_printf(arena,
                               "labels reach %" PRId64 ", the head has %" PRId64
                               " %s; class 0 never occurs, as an empty first class would",
                               e->head_width - 1, l->head_width, outputs);
    }
    return lg_arena_printf(arena, "labels fill 0..%" PRId64 ", the head has %" PRId64 " %s",
                           classes - 1, l->head_width, outputs);
}

// How likely class 0 would be missing from this many rows if the classes were equally frequent.
static double chance_of_no_zero(const lg_label_evidence *l) {
    double n = (double)(l->n - l->n_ignored);
    return exp(n * log1p(-1 / ((double)l->head_width + 1)));
}

static const char *corrupt_text(const lg_diagnosis *d) {
    const lg_label_evidence *l = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    if (l->n_int_min > 0) {
        return lg_arena_printf(arena, "%" PRId64 " label%s the least integer: NaN cast to int",
                               l->n_int_min, s_are(l->n_int_min));
    }
    if (l->n_pointers > 0) {
        return lg_arena_printf(arena, "%" PRId64 "%s", l->n_pointers,
                               l->n_pointers == 1 ? " label looks like a memory address"
                                                  : " labels look like memory addresses");
    }
    return lg_arena_printf(arena, "wild labels, as %" PRId64 ", beside classes 0..%" PRId64,
                           l->dominant_out, l->head_width - 1);
}

static const char *negative_text(const lg_diagnosis *d) {
    const lg_label_evidence *l = &d->table.evidence;
    int64_t low = 0;
    int64_t high = 0;
    for (int64_t i = 0; i < d->table.n_out && d->table.out[i].value < 0; i++) {
        low = i == 0 ? d->table.out[i].value : low;
        high = d->table.out[i].value;
    }
    return lg_arena_printf(
        &d->finding->arena,
        "%" PRId64 " label%s in %" PRId64 "..%" PRId64 " and ignore_index is %" PRId64,
        l->n_negative, l->n_negative == 1 ? " lies" : "s lie", low, high, l->ignore_index);
}

static int64_t count_of(const lg_diagnosis *d, int64_t value) {
    for (int64_t i = 0; i < d->table.n_out; i++) {
        if (d->table.out[i].value == value) {
            return d->table.out[i].count;
        }
    }
    return 0;
}

static const char *dtype_text(const lg_diagnosis *d) {
    const lg_label_evidence *l = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    int64_t n_live = l->n - l->n_ignored;
    if (d->table.n_all_int32_pair == n_live && l->n_int32_pairs > 0) {
        return lg_arena_printf(arena, "%" PRId64 " label%s two int32 classes side by side",
                               l->n_int32_pairs, s_are(l->n_int32_pairs));
    }
    if (l->n_sign_bytes > 0) {
        return lg_arena_printf(arena, "%" PRId64 " label%s read as signed", l->n_sign_bytes,
                               l->n_sign_bytes == 1 ? " is a byte" : "s are bytes");
    }
    return "labels are a class plus a multiple of 2^32";
}

const char *lg_label_evidence_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause) {
    const lg_label_evidence *l = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    double n_live = (double)(l->n - l->n_ignored);
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return head_width_text(d, e);
    }
    if (cause == LG_CAUSE_ONE_BASED_LABELS) {
        return lg_arena_printf(arena,
                               "labels reach %" PRId64 " and 0 never occurs (by chance: %.2g, if "
                               "classes are equally frequent)",
                               l->head_width, chance_of_no_zero(l));
    }
    if (cause == LG_CAUSE_OVER_SHIFTED_LABELS) {
        return lg_arena_printf(arena, "labels begin at -1 and class %" PRId64 " never occurs",
                               l->head_width - 1);
    }
    if (cause == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        return lg_arena_printf(arena, "%" PRId64 " of %.0f label%s equal the head width %" PRId64,
                               l->n_at_width, n_live, lg_s((int64_t)n_live), l->head_width);
    }
    if (cause == LG_CAUSE_NEGATIVE_LABELS) {
        return negative_text(d);
    }
    if (cause == LG_CAUSE_SENTINEL_MISMATCH) {
        return lg_arena_printf(
            arena, "%" PRId64 " takes %.3g %% of the rows and ignore_index is %" PRId64,
            e->sentinel, 100 * (double)count_of(d, e->sentinel) / n_live, l->ignore_index);
    }
    if (cause == LG_CAUSE_CORRUPT_LABELS) {
        return corrupt_text(d);
    }
    if (cause == LG_CAUSE_TARGET_DTYPE) {
        return dtype_text(d);
    }
    if (cause == LG_CAUSE_FLOAT_TARGETS) {
        return "the labels are the bits of floating-point classes";
    }
    return lg_cause_help(cause);
}

static const char *wider_head(const lg_diagnosis *d, const lg_explanation *e) {
    const lg_label_evidence *l = &d->table.evidence;
    int64_t classes = l->classes > e->head_width ? l->classes : e->head_width;
    if (classes - l->head_width == 1) {
        return lg_arena_printf(&d->finding->arena,
                               "out_features = %" PRId64 ", or drop class %" PRId64, classes,
                               classes - 1);
    }
    return lg_arena_printf(&d->finding->arena,
                           "out_features = %" PRId64 ", or drop classes %" PRId64 "..%" PRId64,
                           classes, l->head_width, classes - 1);
}

const char *lg_label_advice_text(const lg_diagnosis *d, const lg_explanation *e, lg_cause cause) {
    const lg_label_evidence *l = &d->table.evidence;
    lg_arena *arena = &d->finding->arena;
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return wider_head(d, e);
    }
    if (cause == LG_CAUSE_ONE_BASED_LABELS) {
        return "subtract 1 from every label";
    }
    if (cause == LG_CAUSE_OVER_SHIFTED_LABELS) {
        return "add 1 to every label: a shift to base 0 was applied twice";
    }
    if (cause == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        return lg_arena_printf(arena,
                               "map %" PRId64 " (pad, unknown) to ignore_index %" PRId64
                               ", or give the head one output more",
                               l->head_width, l->ignore_index);
    }
    if (cause == LG_CAUSE_NEGATIVE_LABELS) {
        return "look at the rows listed; if they mean no label, set ignore_index to their value";
    }
    if (cause == LG_CAUSE_SENTINEL_MISMATCH) {
        return lg_arena_printf(arena, "ignore_index: %" PRId64, e->sentinel);
    }
    if (cause == LG_CAUSE_CORRUPT_LABELS) {
        return "look at what writes the labels of the rows listed";
    }
    if (cause == LG_CAUSE_TARGET_DTYPE) {
        return "hand over the labels in the type the kernel reads: int64";
    }
    if (cause == LG_CAUSE_FLOAT_TARGETS) {
        return "convert the labels to int64 by value, not by view";
    }
    return NULL;
}
