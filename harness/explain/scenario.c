// SPDX-License-Identifier: Apache-2.0
// The log's fault as a scenario: what the log says is used, what it does not say is chosen small.
#include "explain/internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    DEFAULT_CLASSES = 10,
    LARGEST_ROUND = 512,     // up to here every class occurs in the batch
    LARGEST_WIDTH = 1 << 20, // a wider head is no small scenario
    LARGEST_ROW = 1 << 16,   // a row further down would need a large batch
};

typedef struct sketch {
    const lg_log_finding *finding;
    const lg_log_group *group;
    lg_cause cause;
    bool spatial;
    bool binary;  // a loss of [0, 1] targets
    bool per_row; // reduction none
    int64_t width;
    int64_t classes;
    int64_t samples;
    int64_t row;   // -1: not known
    int64_t value; // the first label value; only if has_value
    bool has_value;
    int64_t ignore_index;
} sketch;

static bool mentions(const lg_log_group *group, const char *part) {
    return (group->function && strstr(group->function, part)) ||
           (group->file && strstr(group->file, part)) ||
           (group->fired && strstr(group->fired, part));
}

static int64_t largest_value(const lg_log_group *group) {
    int64_t largest = INT64_MIN;
    for (int64_t i = 0; i < group->n_values; i++) {
        largest = group->values[i].value > largest ? group->values[i].value : largest;
    }
    return largest;
}

// Head width and classes that make the values of the log a fault of this cause.
static bool choose_sizes(sketch *s) {
    const lg_log_group *group = s->group;
    int64_t largest = largest_value(group);
    s->width = group->has_width ? group->width : DEFAULT_CLASSES;
    bool is_width = s->cause == LG_CAUSE_ONE_BASED_LABELS ||
                    s->cause == LG_CAUSE_LABEL_EQUALS_WIDTH ||
                    s->cause == LG_CAUSE_WRONG_HEAD_WIDTH;
    bool is_below = largest >= 0 && largest < s->width;
    if (!group->has_width && s->has_value && (is_width || is_below)) {
        s->width = largest;
    }
    s->classes = s->width;
    if (s->cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        s->classes = s->has_value && largest >= s->width ? largest + 1 : s->width + 1;
    }
    return s->width >= 1 && s->classes <= LARGEST_WIDTH;
}

static bool takes_rows(lg_cause cause) {
    return cause == LG_CAUSE_LABEL_EQUALS_WIDTH || cause == LG_CAUSE_NEGATIVE_LABELS ||
           cause == LG_CAUSE_CORRUPT_LABELS || cause == LG_CAUSE_BCE_RANGE;
}

static void choose_row(sketch *s) {
    s->row = s->finding->has_row ? s->finding->row : s->group->row;
    if (s->row < 0 && s->group->has_thread && s->group->form == LG_ASSERT_CUDA && !s->spatial &&
        s->group->block[0] == 0) {
        s->row = s->group->thread[0]; // the first of the rows it can mean
    }
    if (s->row > LARGEST_ROW || !takes_rows(s->cause)) {
        s->row = -1;
    }
    s->samples = 64;
    while (s->samples <= s->row || (s->samples < s->classes && s->classes <= LARGEST_ROUND)) {
        s->samples *= 2;
    }
}

static void write_text(lg_str *out, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            lg_str_add(out, "\\");
        }
        lg_str_add_n(out, text, 1);
    }
}

static void write_loss(const sketch *s, lg_str *out) {
    bool logits = mentions(s->group, "with_logits");
    const char *kind = s->binary && logits ? "binary_cross_entropy_with_logits"
                       : s->binary         ? "binary_cross_entropy"
                       : s->spatial        ? "nll_loss"
                                           : "cross_entropy";
    lg_str_printf(out, "loss:\n  kind: %s\n  reduction: %s\n", kind, s->per_row ? "none" : "mean");
    if (!s->binary && s->ignore_index != -100) {
        lg_str_printf(out, "  ignore_index: %" PRId64 "\n", s->ignore_index);
    }
    if (s->cause == LG_CAUSE_WEIGHT_VECTOR) {
        lg_str_add(out, "  weight: {uniform: [0.5, 1.5]}\n");
    }
    if (s->group->what == LG_WHAT_OPTION) {
        lg_str_add(out, strstr(s->group->text, "label_smoothing") ? "  label_smoothing: 1.2\n"
                                                                  : "  ignore_index: 1\n");
    }
}

static void write_batch(const sketch *s, lg_str *out) {
    lg_str_printf(out, "batch:\n  seed: 1\n  samples: %" PRId64 "\n", s->samples);
    if (s->spatial) {
        lg_str_add(out, "  extent: [8, 8]\n");
    }
    lg_str_printf(out, "  classes: %" PRId64 "\n", s->classes);
    bool probabilities =
        s->group->what == LG_WHAT_OPTION && !strstr(s->group->text, "label_smoothing");
    if (probabilities) {
        lg_str_add(out, "  targets: {distribution: simplex}\n");
    } else if (s->group->what == LG_WHAT_LABEL_UINT8) {
        lg_str_add(out, "  targets: {dtype: uint8, distribution: round_robin}\n");
    } else if (!s->binary) {
        lg_str_add(out, "  targets: {dtype: int64, distribution: round_robin}\n");
    }
}

static void write_rows(const sketch *s, lg_str *out) {
    if (s->row >= 0) {
        lg_str_printf(out, ", rows: [%" PRId64 "]", s->row);
    }
}

static void write_values(const sketch *s, lg_str *out) {
    if (!s->has_value) {
        return;
    }
    lg_str_add(out, ", values: [");
    int64_t written = 0;
    for (int64_t i = 0; i < s->group->n_values; i++) {
        int64_t value = s->group->values[i].value;
        bool fits = s->cause != LG_CAUSE_NEGATIVE_LABELS || value < 0;
        if (fits && value != s->ignore_index && (s->row < 0 || written == 0)) {
            lg_str_printf(out, "%s%" PRId64, written++ ? ", " : "", value);
        }
    }
    lg_str_add(out, "]");
    if (s->row < 0 && written > 1) {
        lg_str_printf(out, ", count: %" PRId64, written);
    }
}

static const char *float_dtype(const lg_log_group *group) {
    const char *word = group->words[1] ? group->words[1] : "Float";
    return strcmp(word, "Double") == 0     ? "float64"
           : strcmp(word, "Half") == 0     ? "float16"
           : strcmp(word, "BFloat16") == 0 ? "bfloat16"
                                           : "float32";
}

static const char *shape_form(const lg_log_group *group) {
    if (strstr(group->text, "batch_size")) {
        return "batch";
    }
    if (strstr(group->text, "multi-target") || strstr(group->text, "deprecated")) {
        return "rank";
    }
    return strstr(group->text, "Target size") ? "rank" : "spatial";
}

static bool write_data_fault(const sketch *s, lg_str *out) {
    const lg_log_group *group = s->group;
    if (s->cause == LG_CAUSE_WRONG_HEAD_WIDTH) {
        lg_str_printf(out, ", head_width: %" PRId64, s->width);
    } else if (s->cause == LG_CAUSE_NEGATIVE_LABELS || s->cause == LG_CAUSE_CORRUPT_LABELS) {
        write_rows(s, out);
        write_values(s, out);
    } else if (s->cause == LG_CAUSE_SENTINEL_MISMATCH) {
        lg_str_add(out, ", fraction: 0.2");
        write_values(s, out);
    } else if (s->cause == LG_CAUSE_LABEL_EQUALS_WIDTH) {
        write_rows(s, out);
    } else if (s->cause == LG_CAUSE_FLOAT_TARGETS) {
        lg_str_printf(out, ", form: %s, dtype: %s",
                      group->what == LG_WHAT_DTYPE ? "refused" : "bits",
                      group->what == LG_WHAT_DTYPE ? float_dtype(group) : "float32");
    } else if (s->cause == LG_CAUSE_TARGET_DTYPE) {
        lg_str_add(out, group->what == LG_WHAT_DTYPE   ? ", where: refused, dtype: int16"
                        : s->has_value && s->value < 0 ? ", where: sign_bytes"
                                                       : ", where: int32_as_int64");
    } else if (s->cause == LG_CAUSE_SHAPE_LAYOUT) {
        lg_str_printf(out, ", where: %s", shape_form(group));
    } else if (s->cause == LG_CAUSE_WEIGHT_VECTOR) {
        if (strstr(group->text, "scalar type")) {
            lg_str_add(out, ", dtype: float64");
        } else {
            lg_str_printf(out, ", length: %" PRId64, s->classes + 1);
        }
    } else if (s->cause == LG_CAUSE_BCE_RANGE) {
        lg_str_printf(out, ", where: %s, number: 1.5",
                      group->what == LG_WHAT_TARGET_RANGE ? "target" : "input");
    } else if (s->cause != LG_CAUSE_ONE_BASED_LABELS && s->cause != LG_CAUSE_OVER_SHIFTED_LABELS &&
               s->cause != LG_CAUSE_NONFINITE_LOGITS) {
        return false;
    }
    return true;
}

static void write_comment(const sketch *s, const char *name, lg_str *out) {
    lg_str_add(out, "# From ");
    for (const char *c = name; *c; c++) {
        lg_str_add_n(out, *c == '\n' || *c == '\r' ? "?" : c, 1);
    }
    lg_str_printf(out, ", line %" PRId64 ". The log allows other causes too", s->group->first_line);
    lg_str_add(out, s->group->has_width ? ".\n" : "; the sizes are chosen, not known.\n");
}

// The text names the loss; a kernel's name is a stranger's.
static bool is_binary(const lg_log_group *group) {
    return group->what == LG_WHAT_INPUT_RANGE || group->what == LG_WHAT_TARGET_RANGE ||
           (group->source == LG_LOG_TEXT && strstr(group->fired, "binary_cross_entropy"));
}

// A spatial kernel or a spatial text.
static bool is_spatial(const lg_log_group *group) {
    return mentions(group, "nll_loss2d") || mentions(group, "NLLLoss2d") ||
           mentions(group, "SpatialClassNLL") ||
           (group->what == LG_WHAT_SHAPE && strcmp(shape_form(group), "spatial") == 0);
}

bool lg_log_scenario(const lg_log_finding *finding, const char *name, lg_str *out) {
    if (finding->conclusion != LG_LOG_LOSS_FAULT || finding->n_guesses == 0) {
        return false;
    }
    const lg_log_group *group = &finding->groups[finding->primary];
    sketch s = {.finding = finding,
                .group = group,
                .cause = finding->guesses[0].cause,
                .spatial = is_spatial(group) && !is_binary(group),
                .binary = is_binary(group),
                .has_value = group->n_values > 0,
                .value = group->n_values > 0 ? group->values[0].value : 0,
                .ignore_index = group->has_ignore ? group->ignore_index : -100};
    s.per_row = mentions(group, "no_reduce") ||
                (group->expression && strncmp(group->expression, "cur_target", 10) == 0 &&
                 group->form != LG_ASSERT_PLAIN);
    for (int64_t i = 0; i < group->n_values; i++) {
        // Where the value that failed is the usual ignore_index, another one was set.
        s.ignore_index = group->values[i].value == s.ignore_index ? INT64_C(-1) : s.ignore_index;
    }
    // What a binary target's type may be wrong in is not among the faults that are injected.
    if (!choose_sizes(&s) || (s.binary && s.cause == LG_CAUSE_TARGET_DTYPE)) {
        return false;
    }
    choose_row(&s);
    lg_str body = {0};
    lg_str_printf(&body, "  - {kind: %s", lg_cause_name(s.cause));
    bool by_option = group->what == LG_WHAT_OPTION;
    bool ok = by_option || write_data_fault(&s, &body);
    if (ok) {
        write_comment(&s, name, out);
        lg_str_add(out, "title: \"");
        write_text(out, lg_cause_name(s.cause));
        lg_str_add(out, ", as in a log: ");
        write_text(out, group->fired);
        lg_str_add(out, "\"\n");
        write_loss(&s, out);
        write_batch(&s, out);
        if (by_option) {
            lg_str_printf(out, "expect: {cause: %s}\n", lg_cause_name(s.cause));
        } else {
            lg_str_printf(out, "faults:\n%s}\n", lg_str_text(&body));
        }
    }
    lg_str_free(&body);
    return ok;
}
