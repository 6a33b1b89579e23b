// SPDX-License-Identifier: Apache-2.0
// How likely each cause is from a log alone: the priors of priors.h, times how well a cause
// explains the values and the share of threads that the log shows.
#include "explain/internal.h"
#include "labels/labels.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// What a log lets one doubt whatever it shows: this share of belief stays with the priors of the
// causes that are possible at all. So a single value never makes a cause certain.
#define SHARE_OF_DOUBT 0.02

// Guesses below this share are not worth a line.
#define LEAST_SHARE 0.005

// An assert is printed by each thread that meets a bad row. Causes that touch most rows explain a
// block whose threads nearly all print; a stray label explains a line or two. The log may be cut
// and rows may be ignored, so neither is proof: a factor of 4 either way.
#define FACTOR_UNLIKELY_SHARE 0.25

// A loss kernel without checks that leaves its arrays: mostly a label, sometimes its own offsets.
#define SHARE_LABELS_OF_ACCESS 0.85
#define SHARE_OVERFLOW_OF_ACCESS 0.1

// Widths are log-uniform up to the largest vocabularies in use.
#define LOG_WIDEST_HEAD 12.2 // ln 200000

// Values beyond this are no class: no head is that wide.
#define LARGEST_CLASS (INT64_C(1) << 26)

typedef struct clues {
    const lg_log_group *group;
    bool unsigned_labels;
    int n_threads; // distinct threads of the first block
    bool few, many;
} clues;

static clues clues_of(const lg_log_group *group) {
    clues c = {.group = group, .unsigned_labels = group->what == LG_WHAT_LABEL_UINT8};
    c.n_threads = group->has_thread ? lg_log_group_threads(group) : 0;
    c.few = group->has_thread && group->count <= 2;
    c.many = c.n_threads >= 16;
    return c;
}

static bool is_systematic(lg_cause cause) {
    return cause == LG_CAUSE_WRONG_HEAD_WIDTH || cause == LG_CAUSE_ONE_BASED_LABELS ||
           cause == LG_CAUSE_SENTINEL_MISMATCH || cause == LG_CAUSE_OVER_SHIFTED_LABELS ||
           cause == LG_CAUSE_FLOAT_TARGETS || cause == LG_CAUSE_TARGET_DTYPE;
}

static double width_is(const clues *c, int64_t width) {
    if (c->group->has_width) {
        return c->group->width == width ? 1 : 0;
    }
    return width >= 1 ? 1 / ((double)width * LOG_WIDEST_HEAD) : 0;
}

// P(a bad label is `value` | the head misses classes), summed over the widths it may have.
static double value_of_missing_class(const clues *c, int64_t value) {
    if (value < 0 || value > LARGEST_CLASS) {
        return 0;
    }
    int64_t most = c->group->has_width ? c->group->width : value;
    int64_t least = c->group->has_width ? c->group->width : value > 4096 ? value - 4096 : 1;
    double sum = 0;
    for (int64_t width = most; width >= least && width >= 1; width--) {
        double missing = (double)(value - width) + 1;
        if (missing >= 1) {
            // At least so many are missing, and any of them is as likely to be met first.
            sum += width_is(c, width) * lg_prior_of_missing_classes(missing, INFINITY) / missing;
        }
    }
    return sum;
}

static double pattern_share(int64_t value, unsigned pattern) {
    return lg_label_patterns(value, LARGEST_CLASS, INT64_MIN) & pattern ? 1 : 0;
}

static double value_of_dtype(int64_t value) {
    if (value >= -128 && value < 0) {
        return LG_PRIOR_DTYPE_SIGN_BYTES / 128;
    }
    // A pair whose high half is not 0, of classes that are mostly small.
    if (value > UINT32_MAX && pattern_share(value, LG_PATTERN_INT32_PAIR)) {
        return LG_PRIOR_DTYPE_PAIRS * 1e-6;
    }
    return pattern_share(value, LG_PATTERN_WIDE) * LG_PRIOR_DTYPE_WIDE * 1e-6;
}

static double value_of_float_bits(int64_t value) {
    bool bits = value > UINT32_MAX && pattern_share(value, LG_PATTERN_FLOAT64 | LG_PATTERN_FLOAT32);
    return bits ? 1e-4 : 0;
}

// P(value | cause), as a density over integers; priors.h has the shapes.
static double value_likelihood(const clues *c, lg_cause cause, int64_t value) {
    int64_t width = c->group->has_width ? c->group->width : -1;
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return value_of_missing_class(c, value);
    }
    if (cause == LG_CAUSE_ONE_BASED_LABELS || cause == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        return width_is(c, value);
    }
    if (cause == LG_CAUSE_OVER_SHIFTED_LABELS) {
        return value == -1 ? 1 : 0;
    }
    if (cause == LG_CAUSE_NEGATIVE_LABELS) {
        return lg_prior_of_negative(value);
    }
    if (cause == LG_CAUSE_SENTINEL_MISMATCH) {
        return lg_prior_of_sentinel(value, width);
    }
    if (cause == LG_CAUSE_CORRUPT_LABELS) {
        return lg_prior_of_corrupt(value, width > 0 ? width : 1);
    }
    if (cause == LG_CAUSE_TARGET_DTYPE) {
        return value_of_dtype(value);
    }
    return cause == LG_CAUSE_FLOAT_TARGETS ? value_of_float_bits(value) : 0;
}

static double likelihood(const clues *c, lg_cause cause) {
    double p = 1;
    for (int64_t i = 0; i < c->group->n_values; i++) {
        p *= value_likelihood(c, cause, c->group->values[i].value);
    }
    // One sentinel, one shift and one width have one value.
    bool single = cause == LG_CAUSE_ONE_BASED_LABELS || cause == LG_CAUSE_LABEL_EQUALS_WIDTH ||
                  cause == LG_CAUSE_OVER_SHIFTED_LABELS || cause == LG_CAUSE_SENTINEL_MISMATCH;
    if (single && c->group->n_values > 1) {
        return 0;
    }
    if (c->unsigned_labels &&
        (cause == LG_CAUSE_NEGATIVE_LABELS || cause == LG_CAUSE_OVER_SHIFTED_LABELS ||
         cause == LG_CAUSE_FLOAT_TARGETS)) {
        return 0;
    }
    if ((c->few && is_systematic(cause)) || (c->many && !is_systematic(cause))) {
        p *= FACTOR_UNLIKELY_SHARE;
    }
    return p;
}

// --- reasons ------------------------------------------------------------------------------------

static const char *value_reason(lg_arena *arena, const clues *c, lg_cause cause, int64_t value) {
    const lg_log_group *g = c->group;
    if (cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        return g->has_width
                   ? lg_arena_printf(arena,
                                     "label %" PRId64 " needs %" PRId64
                                     " outputs, the head has %" PRId64,
                                     value, value + 1, g->width)
                   : lg_arena_printf(arena, "label %" PRId64 " needs %" PRId64 " outputs at least",
                                     value, value + 1);
    }
    if (cause == LG_CAUSE_ONE_BASED_LABELS) {
        return lg_arena_printf(arena, "labels that run from 1 to %" PRId64 ": is there a label 0?",
                               value);
    }
    if (cause == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        return lg_arena_printf(
            arena, "a few labels %" PRId64 " (pad, unknown) beside a head of as many outputs",
            value);
    }
    if (cause == LG_CAUSE_OVER_SHIFTED_LABELS) {
        return "1 was subtracted from labels that begin at 0";
    }
    if (cause == LG_CAUSE_NEGATIVE_LABELS) {
        return lg_arena_printf(arena, "%" PRId64 " is no class, and not ignore_index", value);
    }
    if (cause == LG_CAUSE_SENTINEL_MISMATCH) {
        return lg_arena_printf(arena, "%" PRId64 " is meant to be ignored: set ignore_index to it",
                               value);
    }
    if (cause == LG_CAUSE_CORRUPT_LABELS) {
        return value == INT32_MIN || value == INT64_MIN
                   ? "the least integer: a NaN that was cast"
                   : "a value that nothing meant: an interpolated mask, a stale buffer";
    }
    if (cause == LG_CAUSE_TARGET_DTYPE) {
        return value < 0 ? "a byte above 127 read as signed"
                         : "two int32 labels read as one int64, or a label plus a multiple of 2^32";
    }
    return "the bits of a floating-point label";
}

static const char *plain_reason(const clues *c, lg_cause cause) {
    if (c->few && !is_systematic(cause)) {
        return "one or two lines: few rows are wrong";
    }
    if (c->many && is_systematic(cause)) {
        return "most threads of a block print: many rows are wrong";
    }
    return lg_cause_help(cause);
}

static const char *reason_of(lg_arena *arena, const clues *c, lg_cause cause) {
    if (c->group->n_values == 0) {
        return plain_reason(c, cause);
    }
    int64_t value = c->group->values[0].value;
    for (int64_t i = 0; i < c->group->n_values && cause == LG_CAUSE_WRONG_HEAD_WIDTH; i++) {
        value = c->group->values[i].value > value ? c->group->values[i].value : value;
    }
    return value_reason(arena, c, cause, value);
}

// --- ranking ------------------------------------------------------------------------------------

static void add_guess(lg_log_finding *finding, lg_cause cause, double weight, const char *reason) {
    if (weight > 0 && finding->n_guesses < LG_LOG_MAX_GUESSES) {
        finding->guesses[finding->n_guesses++] =
            (lg_log_guess){.cause = cause, .probability = weight, .reason = reason};
    }
}

static int by_probability(const void *a, const void *b) {
    double left = ((const lg_log_guess *)a)->probability;
    double right = ((const lg_log_guess *)b)->probability;
    return (left < right) - (left > right);
}

static void rank(lg_log_finding *finding) {
    qsort(finding->guesses, (size_t)finding->n_guesses, sizeof *finding->guesses, by_probability);
    while (finding->n_guesses > 1 &&
           finding->guesses[finding->n_guesses - 1].probability < LEAST_SHARE) {
        finding->n_guesses--;
    }
}

static void guess_labels(lg_log_finding *finding, const lg_log_group *group, double share) {
    clues c = clues_of(group);
    double weights[LG_N_CAUSES] = {0};
    double sum = 0;
    double possible = 0;
    for (int cause = 1; cause < LG_N_CAUSES; cause++) {
        double prior = lg_prior_of_cause((lg_cause)cause);
        weights[cause] = prior > 0 ? prior * likelihood(&c, (lg_cause)cause) : 0;
        sum += weights[cause];
        possible += weights[cause] > 0 ? prior : 0;
    }
    for (int cause = 1; cause < LG_N_CAUSES; cause++) {
        if (weights[cause] > 0) {
            double p = (1 - SHARE_OF_DOUBT) * weights[cause] / sum +
                       SHARE_OF_DOUBT * lg_prior_of_cause((lg_cause)cause) / possible;
            add_guess(finding, (lg_cause)cause, share * p,
                      reason_of(&finding->arena, &c, (lg_cause)cause));
        }
    }
    if (sum == 0) { // no value that any cause makes: still a label that is no class
        add_guess(finding, LG_CAUSE_CORRUPT_LABELS, share, "a value that no known fault makes");
    }
}

// The labels that TensorFlow lists are a batch: they are weighed as one.
static bool guess_from_list(lg_log_finding *finding, const lg_log_group *group) {
    lg_label_table table;
    if (!group->labels || !group->has_width || group->width < 1 ||
        !lg_label_table_init(&table, group->width, 0, INT64_MIN, LG_INT64)) {
        return false;
    }
    const char *at = group->labels;
    for (char *end;; at = end) {
        errno = 0;
        long long label = strtoll(at, &end, 10);
        if (end == at || errno) {
            break;
        }
        lg_label_table_add(&table, label);
    }
    lg_label_table_finish(&table);
    lg_explanation explanations[LG_MAX_EXPLANATIONS];
    int n = lg_labels_explain(&table, explanations);
    clues c = clues_of(group);
    for (int i = 0; i < n; i++) {
        const lg_explanation *e = &explanations[i];
        const char *reason = reason_of(&finding->arena, &c, e->cause);
        if (e->with != LG_CAUSE_NONE) {
            reason = lg_arena_printf(&finding->arena, "%s; and %s", reason, lg_cause_name(e->with));
        }
        int at_guess = 0;
        while (at_guess < finding->n_guesses && finding->guesses[at_guess].cause != e->cause) {
            at_guess++;
        }
        if (at_guess < finding->n_guesses) {
            finding->guesses[at_guess].probability += e->probability;
        } else {
            add_guess(finding, e->cause, e->probability, reason);
        }
    }
    finding->from_labels = n > 0;
    lg_label_table_free(&table);
    return n > 0;
}

static const char *fixed_reason(lg_arena *arena, const lg_log_group *group) {
    if (group->what == LG_WHAT_DTYPE && group->words[1]) {
        return lg_arena_printf(arena, "the array is %s", group->words[1]);
    }
    return lg_cause_help(group->cause);
}

void lg_log_causes(lg_log_finding *finding, const lg_log_group *group) {
    lg_arena *arena = &finding->arena;
    if (group->cause != LG_CAUSE_NONE) {
        add_guess(finding, group->cause, 1, fixed_reason(arena, group));
    } else if (group->what == LG_WHAT_OFFSET) {
        add_guess(finding, LG_CAUSE_INDEX_OVERFLOW, 1,
                  "the offset is computed, not read: the input has 2^31 elements or more");
    } else if (group->what == LG_WHAT_INPUT_RANGE || group->what == LG_WHAT_TARGET_RANGE) {
        // NaN fails both comparisons of the check.
        add_guess(finding, LG_CAUSE_BCE_RANGE, 0.8,
                  group->what == LG_WHAT_INPUT_RANGE
                      ? "raw scores where probabilities are expected: is there a sigmoid?"
                      : "targets outside [0, 1]: class indices, or masks of 0 and 255?");
        add_guess(finding, LG_CAUSE_NONFINITE_LOGITS, 0.2, "NaN fails the same check");
    } else if (group->what == LG_WHAT_ACCESS) {
        guess_labels(finding, group, SHARE_LABELS_OF_ACCESS);
        add_guess(finding, LG_CAUSE_INDEX_OVERFLOW, SHARE_OVERFLOW_OF_ACCESS,
                  "32-bit offsets, if the input has 2^31 elements or more");
        add_guess(finding, LG_CAUSE_STRIDES_IGNORED,
                  1 - SHARE_LABELS_OF_ACCESS - SHARE_OVERFLOW_OF_ACCESS,
                  "a view read as if it were contiguous");
    } else if (!guess_from_list(finding, group)) {
        guess_labels(finding, group, 1);
    }
    rank(finding);
}
