// SPDX-License-Identifier: Apache-2.0
// Assert lines: whose check it is that fired.
#include "pipeline/explain_parts.h"

#include <string.h>

typedef struct guard {
    const char *expression;
    lg_log_what what;
    const char *fired;
} guard;

static const guard guards[] = {
#define LG_GUARD(expression, what, fired) {expression, LG_WHAT_##what, fired},
#include "pipeline/explain_guards.def"
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

// The condition that begins so, if whatever begins so is about the same thing.
static const guard *guard_begun(const char *plain) {
    const guard *found = NULL;
    for (size_t i = 0; *plain && i < N_GUARDS; i++) {
        if (strncmp(guards[i].expression, plain, strlen(plain)) != 0) {
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

void lg_log_guard(lg_log_group *group, const char *expression, size_t n, bool cut) {
    char plain[256];
    size_t kept = 0;
    for (size_t i = 0; i < n && kept + 1 < sizeof plain; i++) {
        if (expression[i] != ' ') {
            plain[kept++] = expression[i];
        }
    }
    plain[kept] = '\0';
    const guard *found = guard_of(plain);
    found = !found && cut ? guard_begun(plain) : found;
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
static bool add_to_begun(lg_log_reader *reader, const lg_log_group *like) {
    for (int i = reader->n_groups; i-- > 0;) {
        lg_log_group *group = &reader->groups[i];
        if (group->source == LG_LOG_ASSERT && group->form == like->form &&
            group->line == like->line && group->file && strcmp(group->file, like->file) == 0 &&
            group->function && strcmp(group->function, like->function) == 0 &&
            strncmp(group->expression, like->expression, strlen(like->expression)) == 0) {
            group->count++;
            if (like->has_thread) {
                lg_log_group_thread(group, like->block, like->thread);
            }
            return true;
        }
    }
    return false;
}

static void take_match(lg_log_reader *reader, const lg_log_line *line,
                       const lg_assert_match *match) {
    char file[256];
    char function[256];
    char expression[256];
    lg_log_group like = {.source = LG_LOG_ASSERT,
                         .form = match->form,
                         .line = match->line,
                         .has_thread = match->has_thread,
                         .row = -1,
                         .file = file,
                         .function = function,
                         .expression = expression};
    const lg_span parts[3] = {match->file, match->function, match->expression};
    char *const copies[3] = {file, function, expression};
    for (int i = 0; i < 3; i++) {
        lg_log_put(copies[i], sizeof file, parts[i].text, parts[i].n);
    }
    memcpy(like.block, match->block, sizeof like.block);
    memcpy(like.thread, match->thread, sizeof like.thread);
    lg_log_guard(&like, match->expression.text, match->expression.n, match->cut);
    lg_log_captures found = {0};
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
        lg_log_flood_start(reader, line, match->file.text, (int)(group - reader->groups));
    }
}

bool lg_log_take_assert(lg_log_reader *reader, const lg_log_line *line) {
    lg_assert_match match;
    bool ok = lg_assert_parse_any(line->text, line->n, &match) ||
              lg_assert_parse_cut(line->text, line->n, &match);
    if (ok) {
        take_match(reader, line, &match);
    }
    return ok;
}

void lg_log_take_cut(lg_log_reader *reader, const lg_log_line *line) {
    lg_assert_match match;
    // A line that is an assert's to the end was found by its words.
    if (!lg_assert_parse_any(line->text, line->n, &match) &&
        lg_assert_parse_cut(line->text, line->n, &match) && match.cut && match.expression.n == 0) {
        take_match(reader, line, &match);
    }
}
