// SPDX-License-Identifier: Apache-2.0
// Assert lines: whose check it is that fired.
#include "explain/internal.h"

#include <stdio.h>
#include <string.h>

typedef struct guard {
    const char *expression;
    lg_log_what what;
    const char *fired;
} guard;

static const guard guards[] = {
#define LG_GUARD(expression, what, fired) {expression, LG_WHAT_##what, fired},
#include "explain/guards.def"
#undef LG_GUARD
};
enum { N_GUARDS = sizeof guards / sizeof *guards };

// Only whole conditions are a loss's: `t < n` of another kernel is not `t < n_classes`.
static const guard *guard_of(const char *plain) {
    for (size_t i = 0; i < N_GUARDS; i++) {
        bool begins = guards[i].what == LG_WHAT_OTHER_OP || guards[i].what == LG_WHAT_UNKNOWN;
        bool same = begins ? strncmp(plain, guards[i].expression, strlen(guards[i].expression)) == 0
                           : strcmp(plain, guards[i].expression) == 0;
        if (same) {
            return &guards[i];
        }
    }
    return NULL;
}

static bool is_label(lg_log_what what) {
    return what == LG_WHAT_LABEL || what == LG_WHAT_LABEL_UINT8;
}

static bool begins(const char *text, const char *begin) {
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool starts_guard(const char *expression, const char *plain) {
    return *plain && begins(expression, plain);
}

static bool ends_guard(const char *expression, const char *plain) {
    size_t length = strlen(expression);
    size_t n = strlen(plain);
    return length >= n && strcmp(expression + length - n, plain) == 0;
}

// The condition that begins or ends so, if all that do are about labels or about one thing. Which
// of those for labels it is cannot be told from an end.
static const guard *guard_cut(const char *plain, bool (*matches)(const char *, const char *)) {
    const guard *found = NULL;
    for (size_t i = 0; i < N_GUARDS; i++) {
        if (!matches(guards[i].expression, plain)) {
            continue;
        }
        if (found && found->what != guards[i].what &&
            !(is_label(found->what) && is_label(guards[i].what))) {
            return NULL;
        }
        found = found ? found : &guards[i];
    }
    return found;
}

enum { PLAIN_BYTES = 256 };

// Without blanks; the bytes written.
static size_t put_plain(char out[PLAIN_BYTES], const char *expression, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n && kept + 1 < PLAIN_BYTES; i++) {
        if (expression[i] != ' ') {
            out[kept++] = expression[i];
        }
    }
    out[kept] = '\0';
    return kept;
}

void lg_log_guard(lg_log_group *group, const char *expression, size_t n, bool cut) {
    char plain[PLAIN_BYTES];
    put_plain(plain, expression, n);
    const guard *found = guard_of(plain);
    found = !found && cut ? guard_cut(plain, starts_guard) : found;
    bool loss = lg_log_is_loss_kernel(group->function);
    if (found) {
        group->what = found->what;
        group->fired = found->fired;
    } else if (cut && loss) {
        group->what = LG_WHAT_LABEL;
        group->fired = "a loss kernel, by its name; what its labels are checked for is cut off";
    } else {
        group->what = LG_WHAT_UNKNOWN;
        group->fired = loss ? "a check not known here, of a kernel that is a loss by its name"
                            : "a check not known here: whether a loss has it cannot be told";
    }
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_loss_file(const char *file) {
    return ends_with(file, "Loss.cu") || ends_with(file, "NLLLoss2d.cu") ||
           ends_with(file, "ClassNLLCriterion.cu") || ends_with(file, "LossNLLKernels.cpp") ||
           ends_with(file, "Loss.hip");
}

// What a kernel's own print, or a host check, says behind the assert: the values.
static bool take_rest(const lg_log_reader *reader, lg_span rest, lg_log_captures *found,
                      const lg_log_pattern **pattern) {
    size_t word = 0;
    for (size_t at = 0; at < rest.n; at++) {
        at = lg_needles_find(reader->needles, rest.text, rest.n, at, &word);
        for (int i = 0; at < rest.n && i < lg_n_log_patterns; i++) {
            if (lg_log_patterns[i].what == LG_WHAT_LABEL &&
                strcmp(reader->words[i], reader->words[word]) == 0 &&
                lg_log_match(lg_log_patterns[i].pattern, rest.text, rest.n, at, found)) {
                *pattern = &lg_log_patterns[i];
                return true;
            }
        }
    }
    return false;
}

// The last line of a flood may be cut: it is one more of the lines it begins like.
// Whether the place may be the group's, as far as it goes.
static bool is_place_of(const lg_log_group *group, const lg_log_group *like) {
    bool whole = *like->function || *like->expression || like->has_thread;
    if (like->line == 0) {
        return begins(group->file, like->file);
    }
    return strcmp(group->file, like->file) == 0 && begins(group->function, like->function) &&
           (!whole || group->line == like->line);
}

static bool add_to_begun(lg_log_reader *reader, const lg_log_group *like) {
    for (int i = reader->n_groups; i-- > 0;) {
        lg_log_group *group = &reader->groups[i];
        if (group->source == LG_LOG_ASSERT && group->form == like->form && group->file &&
            group->function && is_place_of(group, like) &&
            begins(group->expression, like->expression)) {
            group->count++;
            if (like->has_thread) {
                lg_log_group_thread(group, like->block, like->thread);
            }
            return true;
        }
    }
    return false;
}

static void decide_guard(lg_log_group *like, const lg_assert_match *match) {
    const lg_span *e = &match->expression;
    lg_log_guard(like, e->text, e->n, match->cut);
    char plain[PLAIN_BYTES];
    put_plain(plain, e->text, e->n);
    const guard *ended = match->lacks_head && !match->cut ? guard_cut(plain, ends_guard) : NULL;
    if (ended && like->what != ended->what) { // "t < n_classes" may be the end of a longer one
        like->what = ended->what;
        like->fired = ended->fired;
    }
    if (match->cut && e->n == 0 && like->what == LG_WHAT_UNKNOWN && is_loss_file(like->file)) {
        like->fired = "the log ends before the line says what is checked; losses are in that file";
    }
}

// A long text keeps what tells most: of a file its name, of others the beginning.
static void put_part(char *out, size_t out_bytes, lg_span part, bool is_file) {
    enum { LONG = 160 };
    if (part.n <= LONG) {
        lg_log_put(out, out_bytes, part.text, part.n);
        return;
    }
    static const char dots[] = "…";
    char kept[LONG + 1];
    size_t from = is_file ? part.n - LONG : 0;
    while (from < part.n && ((unsigned char)part.text[from] & 0xc0) == 0x80) {
        from++; // not from the midst of a character
    }
    size_t n = part.n - from < LONG ? part.n - from : LONG;
    lg_log_put(kept, sizeof kept, part.text + from, n);
    snprintf(out, out_bytes, "%s%s%s", is_file ? dots : "", kept, is_file ? "" : dots);
}

static void take_match(lg_log_reader *reader, const lg_log_line *line,
                       const lg_assert_match *match) {
    char file[256];
    char function[256];
    char expression[256];
    char bound[128];
    lg_log_group like = {.source = LG_LOG_ASSERT,
                         .form = match->form,
                         .line = match->line,
                         .has_thread = match->has_thread,
                         .row = -1,
                         .lacks_head = match->lacks_head,
                         .lacks_tail = match->cut,
                         .file = file,
                         .function = function,
                         .expression = expression};
    const lg_span parts[3] = {match->file, match->function, match->expression};
    char *const copies[3] = {file, function, expression};
    for (int i = 0; i < 3; i++) {
        put_part(copies[i], sizeof file, parts[i], i == 0);
    }
    memcpy(like.block, match->block, sizeof like.block);
    memcpy(like.thread, match->thread, sizeof like.thread);
    lg_log_captures found = {0};
    if (!lg_log_compiled(&like, match->expression, bound, sizeof bound, &found)) {
        decide_guard(&like, match);
    }
    const lg_log_pattern *pattern = NULL;
    if (match->form == LG_ASSERT_PLAIN && take_rest(reader, match->rest, &found, &pattern) &&
        like.what == LG_WHAT_UNKNOWN) {
        like.what = pattern->what; // `Assertion `false` failed. The value of label …`
        like.fired = pattern->fired;
    }
    if (match->cut && add_to_begun(reader, &like)) {
        return;
    }
    lg_log_group *group = lg_log_group_add(reader, &like, line);
    if (!group) {
        return;
    }
    if (match->has_thread) {
        lg_log_group_thread(group, match->block, match->thread);
    }
    lg_log_group_captures(group, &found);
    if (match->form == LG_ASSERT_CUDA && match->rest.n == 0 && !match->cut) {
        lg_log_flood_start(reader, line, match->file, (int)(group - reader->groups));
    }
}

// Enough of a condition to be no other's by chance.
enum { LEAST_PART = 6 };

// A part of a line counts only where it is a part of a condition that is known.
static bool is_known_part(const lg_assert_match *match) {
    char plain[PLAIN_BYTES];
    return put_plain(plain, match->expression.text, match->expression.n) >= LEAST_PART &&
           (match->cut ? guard_cut(plain, starts_guard) : guard_cut(plain, ends_guard)) != NULL;
}

// Whether a thread without its block and kernel stands before the condition.
static bool lacks_block(const lg_log_line *line, const lg_assert_match *match) {
    static const char mark[] = "thread: [";
    size_t n = (size_t)(match->expression.text - line->text);
    return match->form == LG_ASSERT_PLAIN && match->file.n == 0 &&
           memmem(line->text, n, mark, sizeof mark - 1) != NULL;
}

bool lg_log_take_assert(lg_log_reader *reader, const lg_log_line *line) {
    lg_assert_match match;
    bool ok = lg_assert_parse_any(line->text, line->n, &match) ||
              lg_assert_parse_cut(line->text, line->n, &match) ||
              (lg_assert_parse_begun(line->text, line->n, &match) && is_known_part(&match));
    if (ok) {
        match.lacks_head = match.lacks_head || lacks_block(line, &match);
        take_match(reader, line, &match);
    }
    return ok;
}

bool lg_log_take_tail(lg_log_reader *reader, const lg_log_line *line) {
    lg_assert_match match;
    bool ok = lg_assert_parse_tail(line->text, line->n, &match) && is_known_part(&match);
    if (ok) {
        take_match(reader, line, &match);
    }
    return ok;
}

static bool is_name(lg_span span) {
    for (size_t i = 0; i < span.n; i++) {
        char c = span.text[i];
        bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!word && c != '_') {
            return false;
        }
    }
    return true;
}

static bool take_place(lg_log_reader *reader, const lg_log_line *line, bool last) {
    lg_assert_match match;
    char file[PLAIN_BYTES];
    char function[PLAIN_BYTES];
    if (!lg_assert_parse_place(line->text, line->n, &match) || !is_name(match.function)) {
        return false;
    }
    put_part(file, sizeof file, match.file, true);
    put_part(function, sizeof function, match.function, false);
    // The name of a loss's kernel tells; else the line must begin with the file, and nothing
    // follow.
    bool loss = match.line > 0 && lg_log_is_loss_kernel(function);
    bool begins_it = match.file.text == line->text;
    bool native = strstr(file, "ATen/native/") || strstr(file, "ATen\\native\\");
    if (!loss && !(last && begins_it && (native || is_loss_file(file)))) {
        return false;
    }
    take_match(reader, line, &match);
    return true;
}

bool lg_log_take_cut(lg_log_reader *reader, const lg_log_line *line, bool last) {
    lg_assert_match match;
    // A line that is an assert's to the end, or begins its condition, is found by other words.
    if (lg_assert_parse_any(line->text, line->n, &match)) {
        return false;
    }
    if (lg_assert_parse_cut(line->text, line->n, &match)) {
        bool ok = match.cut && match.expression.n == 0;
        if (ok) {
            take_match(reader, line, &match);
        }
        return ok;
    }
    return take_place(reader, line, last);
}
