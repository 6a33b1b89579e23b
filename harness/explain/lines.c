// SPDX-License-Identifier: Apache-2.0
// From a line to its group: the texts of errors, frames of a traceback.
#include "explain/internal.h"

#include "support/alloc.h"

#include <string.h>

// Lines between the frame of a loss in a traceback and the error below it.
enum { FRAME_REACH = 16 };

void lg_log_put(char *out, size_t out_bytes, const char *text, size_t n) {
    size_t kept = n < out_bytes - 1 ? n : out_bytes - 1;
    for (size_t i = 0; i < kept; i++) {
        // A terminal must not see control characters of a stranger's log.
        bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
        out[i] = !control ? text[i] : text[i] == '\t' ? ' ' : '?';
    }
    out[kept] = '\0';
}

// --- groups -------------------------------------------------------------------------------------

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_alike(const lg_log_group *a, const lg_log_group *b) {
    return a->source == b->source && a->what == b->what && a->form == b->form &&
           a->line == b->line && same_text(a->fired, b->fired) &&
           same_text(a->expression, b->expression) && same_text(a->file, b->file) &&
           same_text(a->function, b->function) && same_text(a->words[0], b->words[0]) &&
           same_text(a->words[1], b->words[1]) && same_text(a->access, b->access);
}

static const char *keep(lg_arena *arena, const char *text) {
    return text ? lg_arena_strdup(arena, text) : NULL;
}

static lg_log_group *find_group(lg_log_reader *reader, const lg_log_group *like) {
    for (int i = reader->n_groups; i-- > 0;) { // the last one is the likeliest
        if (is_alike(&reader->groups[i], like)) {
            return &reader->groups[i];
        }
    }
    return NULL;
}

lg_log_group *lg_log_group_add(lg_log_reader *reader, const lg_log_group *like,
                               const lg_log_line *line) {
    lg_log_group *group = find_group(reader, like);
    if (group) {
        group->count++;
        return group;
    }
    if (reader->n_groups == LG_LOG_MAX_GROUPS) {
        reader->n_dropped++;
        return NULL;
    }
    lg_arena *arena = &reader->arena;
    group = &reader->groups[reader->n_groups++];
    *group = *like;
    group->count = 1;
    group->n_values = 0;
    group->file = keep(arena, like->file);
    group->function = keep(arena, like->function);
    group->expression = keep(arena, like->expression);
    group->words[0] = keep(arena, like->words[0]);
    group->words[1] = keep(arena, like->words[1]);
    group->bound = keep(arena, like->bound);
    group->access = keep(arena, like->access);
    group->direction = keep(arena, like->direction);
    group->text = keep(arena, like->text);
    if (line) {
        char text[LG_LOG_MAX_TEXT + 1];
        lg_log_put(text, sizeof text, line->text, line->n);
        group->first_line = line->number;
        group->text = keep(arena, text);
    }
    return group;
}

void lg_log_group_thread(lg_log_group *group, const int64_t block[3], const int64_t thread[3]) {
    bool first_block = memcmp(block, group->block, sizeof group->block) == 0;
    if (first_block && thread[0] < LG_LOG_BLOCK_THREADS) {
        group->threads[thread[0] / 64] |= UINT64_C(1) << (thread[0] % 64);
    }
    group->n_blocks += !first_block;
    group->max_thread = thread[0] > group->max_thread ? thread[0] : group->max_thread;
}

int lg_log_group_threads(const lg_log_group *group) {
    int n = 0;
    for (size_t i = 0; i < sizeof group->threads / sizeof *group->threads; i++) {
        n += __builtin_popcountll(group->threads[i]);
    }
    return n;
}

void lg_log_group_value(lg_log_group *group, int64_t value) {
    for (int64_t i = 0; i < group->n_values; i++) {
        if (group->values[i].value == value) {
            group->values[i].count++;
            return;
        }
    }
    if (group->n_values < LG_LOG_MAX_VALUES) {
        group->values[group->n_values++] = (lg_value_count){.value = value, .count = 1};
    }
}

void lg_log_group_captures(lg_log_group *group, const lg_log_captures *found) {
    if (found->has_value) {
        lg_log_group_value(group, found->value);
    }
    if (group->count == 1) {
        group->row = found->has_row ? found->row : -1;
        group->has_width = found->has_width;
        group->width = found->width;
        group->has_ignore = found->has_ignore;
        group->ignore_index = found->ignore_index;
    }
}

// --- texts --------------------------------------------------------------------------------------

// Whether a traceback that ends in a loss stands right above the line.
static bool is_traced(const lg_log_reader *reader, int64_t line) {
    return reader->frame_line > 0 && line >= reader->frame_line &&
           line - reader->frame_line <= FRAME_REACH;
}

static bool is_word(lg_span word, const char *text) {
    return word.n == strlen(text) && memcmp(word.text, text, word.n) == 0;
}

static bool is_float_name(lg_span word) {
    return is_word(word, "Float") || is_word(word, "Double") || is_word(word, "Half") ||
           is_word(word, "BFloat16");
}

static bool contains(lg_span word, const char *text) {
    return word.n && memmem(word.text, word.n, text, strlen(text)) != NULL;
}

// "expected scalar type E but found F": a label's type when Long is wanted, else a weight's, and
// said by many operations.
static void decide_scalar_type(const lg_log_reader *reader, const lg_log_line *line,
                               const lg_log_captures *found, lg_log_group *like) {
    bool traced = is_traced(reader, line->number);
    if (is_word(found->words[0], "Long")) {
        like->cause =
            is_float_name(found->words[1]) ? LG_CAUSE_FLOAT_TARGETS : LG_CAUSE_TARGET_DTYPE;
        like->fired = "the dtype check of class indices in nll_loss (cross_entropy)";
        return;
    }
    like->what = traced ? LG_WHAT_WEIGHT : LG_WHAT_OTHER_OP;
    like->cause = traced ? LG_CAUSE_WEIGHT_VECTOR : LG_CAUSE_NONE;
    like->fired = traced ? "the dtype check of class weights: they must have the input's type"
                         : "two arrays of different type in one operation";
}

// "\"kernel\" not implemented for 'T'": the kernel's name says whether T is the label's or the
// input's type.
static void decide_dispatch(const lg_log_captures *found, lg_log_group *like) {
    bool is_index = contains(found->words[0], "nll_loss") && contains(found->words[0], "_index");
    bool is_input = contains(found->words[0], "nll_loss") ||
                    contains(found->words[0], "log_softmax") ||
                    is_word(found->words[0], "host_softmax");
    if (is_index) {
        like->cause =
            is_float_name(found->words[1]) ? LG_CAUSE_FLOAT_TARGETS : LG_CAUSE_TARGET_DTYPE;
        like->fired = "the dtype dispatch of nll_loss (cross_entropy) over class indices";
    } else if (is_input) {
        like->cause = LG_CAUSE_VALUE_DOMAIN;
        like->fired = "the dtype dispatch of the loss over its input, which must be floating point";
    } else {
        like->what = LG_WHAT_OTHER_OP;
        like->fired = "the dtype dispatch of another operation";
    }
}

static bool is_success(const lg_log_captures *found) {
    return found->n_words == 1 && is_word(found->words[0], "SUCCESS");
}

// The list behind `Label values:`, up to the last whole number.
static void keep_labels(lg_log_reader *reader, const lg_log_line *line,
                        const lg_log_captures *found, lg_log_group *group) {
    static const char mark[] = "Label values:";
    const char *rest = line->text + found->end;
    size_t n = line->n - found->end;
    const char *list = n ? memmem(rest, n, mark, sizeof mark - 1) : NULL;
    if (!list || group->count > 1) {
        return;
    }
    list += sizeof mark - 1;
    n = (size_t)(line->text + line->n - list);
    group->labels_cut = line->cut;
    while (line->cut && n > 0 && list[n - 1] != ' ') {
        n--; // the last number may be half of one
    }
    group->labels = lg_arena_strndup(&reader->arena, list, n);
}

static bool take_pattern(lg_log_reader *reader, const lg_log_line *line,
                         const lg_log_pattern *pattern, const lg_log_captures *found) {
    char words[2][64] = {{0}};
    lg_log_group like = {.source = LG_LOG_TEXT,
                         .what = pattern->what,
                         .cause = pattern->cause,
                         .fired = pattern->fired,
                         .row = -1};
    for (int i = 0; i < found->n_words; i++) {
        lg_log_put(words[i], sizeof words[i], found->words[i].text, found->words[i].n);
        like.words[i] = words[i];
    }
    if (is_success(found)) {
        return false;
    }
    if (pattern->what == LG_WHAT_DTYPE && pattern->cause == LG_CAUSE_NONE) {
        if (strncmp(pattern->pattern, "expected", 8) == 0) {
            decide_scalar_type(reader, line, found, &like);
        } else {
            decide_dispatch(found, &like);
        }
    }
    bool traced = is_traced(reader, line->number);
    if (pattern->frame && !traced) {
        like.what = pattern->frame == 1 ? LG_WHAT_OTHER_OP : LG_WHAT_UNKNOWN;
        like.cause = LG_CAUSE_NONE;
        like.fired = "a check that several operations have; no traceback here names a loss";
    }
    lg_log_group *group = lg_log_group_add(reader, &like, line);
    if (group) {
        lg_log_group_captures(group, found);
        keep_labels(reader, line, found, group);
    }
    return true;
}

static bool take_text(lg_log_reader *reader, const lg_log_line *line, size_t word) {
    // Several patterns may have the literal that was found; the first that fits counts.
    for (int i = 0; i < lg_n_log_patterns; i++) {
        lg_log_captures found;
        size_t n = strlen(reader->words[i]);
        bool here = (size_t)i == word || (n <= line->n - line->hit &&
                                          memcmp(line->text + line->hit, reader->words[i], n) == 0);
        if (here &&
            lg_log_match(lg_log_patterns[i].pattern, line->text, line->n, line->hit, &found) &&
            found.end > line->hit) {
            return take_pattern(reader, line, &lg_log_patterns[i], &found);
        }
    }
    return false;
}

// --- tracebacks ---------------------------------------------------------------------------------

static bool names_a_loss(const char *text, size_t n) {
    static const char *const names[] = {"cross_entropy", "nll_loss", "loss_nd"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (n && memmem(text, n, names[i], strlen(names[i]))) {
            return true;
        }
    }
    return false;
}

// `File ".../functional.py", line N, in cross_entropy`, `return torch._C._nn.nll_loss_nd(` and
// `cpp_fused__log_softmax_nll_loss_forward_0(`.
static bool take_frame(lg_log_reader *reader, const lg_log_line *line) {
    if (names_a_loss(line->text + line->hit, line->n - line->hit)) {
        reader->frame_line = line->number;
    }
    return true;
}

bool lg_log_take(lg_log_reader *reader, const lg_log_line *line, size_t word) {
    if (word < (size_t)lg_n_log_patterns) {
        return take_text(reader, line, word);
    }
    lg_log_mark mark = (lg_log_mark)(word - (size_t)lg_n_log_patterns);
    switch (mark) {
    case LG_MARK_ASSERTION:
    case LG_MARK_ASSERTION_FAILED:
    case LG_MARK_DEVICE_ASSERTION:
        return lg_log_take_assert(reader, line);
    case LG_MARK_SANITIZER:
        return lg_log_take_sanitizer(reader, line);
    case LG_MARK_RECORD:
    case LG_MARK_RECORD_MESSAGE:
    case LG_MARK_RECORD_FILE:
    case LG_MARK_RECORD_FUNCTION:
    case LG_MARK_RECORD_ID:
    case LG_MARK_RECORD_KERNEL:
        return lg_log_take_record(reader, line, mark);
    case LG_MARK_FRAME:
    case LG_MARK_FRAME_JSON:
    case LG_MARK_FRAME_OPERATOR:
    case LG_MARK_FRAME_COMPILED:
        return take_frame(reader, line);
    case LG_MARK_DSA_HINT:
        reader->dsa_hint = true;
        return false; // the line may say more
    case LG_MARK_LABEL_TAIL:
    case LG_MARK_RANGE_TAIL:
        return lg_log_take_tail(reader, line);
    case LG_MARK_KERNEL_FORWARD:
    case LG_MARK_KERNEL_BACKWARD:
    case LG_MARK_KERNEL_SPATIAL:
        return lg_log_take_cut(reader, line, false);
    case LG_N_MARKS:
        break;
    }
    return false;
}
