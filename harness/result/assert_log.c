// SPDX-License-Identifier: Apache-2.0
#include "result/assert_log.h"

#include <limits.h>
#include <string.h>

static const char block_mark[] = ": block: [";
static const char thread_mark[] = ", thread: [";
static const char assertion_mark[] = " Assertion ";
static const char failed_mark[] = ": Assertion failed: ";
static const char global_mark[] = ": global id: [";
static const char local_mark[] = ", local id: [";
static const char hip_mark[] = ": Device-side assertion ";
static const char plain_mark[] = "Assertion ";
static const char end_mark[] = " failed.";

// A cursor over one line.
typedef struct cursor {
    const char *at;
    const char *end;
} cursor;

static bool take(cursor *in, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, text, n) != 0) {
        return false;
    }
    in->at += n;
    return true;
}

// Digits only, as the runtime prints them; false when there are none or they overflow.
static bool take_number(cursor *in, int64_t *value) {
    const char *start = in->at;
    int64_t sum = 0;
    for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, *in->at - '0', &sum)) {
            return false;
        }
    }
    *value = sum;
    return in->at > start;
}

static bool take_triple(cursor *in, int64_t out[3]) {
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !take(in, ",")) {
            return false;
        }
        while (in->at < in->end && *in->at == ' ') {
            in->at++;
        }
        if (!take_number(in, &out[i])) {
            return false;
        }
    }
    return take(in, "]");
}

// `Assertion ` is followed by the expression in `…`, `…' or "…"; the text may itself hold quotes,
// so the last closing one before " failed." counts.
static bool take_expression(cursor *in, lg_span *expression) {
    if (in->at == in->end || !strchr("`'\"", *in->at)) {
        return false;
    }
    char close = *in->at++;
    const char *start = in->at;
    size_t rest = (size_t)(in->end - start);
    size_t mark = strlen(end_mark);
    for (size_t n = rest; n >= mark + 1; n--) {
        const char *tail = start + n - mark;
        if (memcmp(tail, end_mark, mark) == 0 &&
            (tail[-1] == close || (close == '`' && tail[-1] == '\''))) {
            *expression = (lg_span){start, (size_t)(tail - 1 - start)};
            in->at = start + n;
            return true;
        }
    }
    return false;
}

static const char *rfind(const char *text, size_t n, char c) {
    return n ? memrchr(text, c, n) : NULL;
}

// "prefix file:line: function" or "prefix file:line" → its parts. A function may hold ':' and
// blanks
// (`void f<a::b>(int)`), a file of Windows a drive's ':', so the number between colons decides: the
// first ":digits" that ends the text or is followed by ": ".
static bool split_head(const char *text, size_t n, lg_assert_match *match) {
    for (size_t i = 1; i < n; i++) {
        if (text[i] != ':' || text[i - 1] == ':') {
            continue;
        }
        cursor in = {text + i + 1, text + n};
        int64_t line;
        if (!take_number(&in, &line) || line > INT_MAX || (in.at < in.end && !take(&in, ": "))) {
            continue;
        }
        const char *blank = rfind(text, i, ' ');
        const char *file = blank ? blank + 1 : text;
        if (file == text + i) {
            continue;
        }
        match->file = (lg_span){file, (size_t)(text + i - file)};
        match->line = (int)line;
        match->has_function = in.at < in.end;
        match->function =
            match->has_function ? (lg_span){in.at, (size_t)(in.end - in.at)} : (lg_span){"", 0};
        return true;
    }
    return false;
}

static const char *find(const char *text, size_t n, const char *mark) {
    return n ? memmem(text, n, mark, strlen(mark)) : NULL;
}

static lg_assert_match start_match(lg_assert_form form) {
    const lg_span none = {"", 0};
    return (lg_assert_match){
        .form = form, .file = none, .function = none, .expression = none, .rest = none};
}

// `head` + mark + triple + mark + triple + " Assertion `expr` failed."
static bool parse_threads(const char *line, size_t n, const char *first, const char *second,
                          lg_assert_match *match) {
    // The mark is rare, so that other lines cost one search. A function's name cannot hold it.
    const char *block = find(line, n, first);
    if (!block) {
        return false;
    }
    *match = start_match(LG_ASSERT_CUDA);
    match->has_thread = true;
    cursor in = {block + strlen(first), line + n};
    bool ok = take_triple(&in, match->block) && take(&in, second) &&
              take_triple(&in, match->thread) && take(&in, assertion_mark) &&
              take_expression(&in, &match->expression) &&
              split_head(line, (size_t)(block - line), match);
    match->rest = (lg_span){in.at, (size_t)(in.end - in.at)};
    return ok;
}

static size_t without_cr(const char *line, size_t n) {
    return n > 0 && line[n - 1] == '\r' ? n - 1 : n;
}

bool lg_assert_parse(const char *line, size_t n, lg_assert_match *match) {
    return parse_threads(line, without_cr(line, n), block_mark, thread_mark, match);
}

static bool parse_hip(const char *line, size_t n, lg_assert_match *match) {
    const char *mark = find(line, n, hip_mark);
    if (!mark) {
        return false;
    }
    *match = start_match(LG_ASSERT_HIP);
    cursor in = {mark + strlen(hip_mark), line + n};
    bool ok =
        take_expression(&in, &match->expression) && split_head(line, (size_t)(mark - line), match);
    match->rest = (lg_span){in.at, (size_t)(in.end - in.at)};
    return ok;
}

static bool parse_plain(const char *line, size_t n, lg_assert_match *match) {
    const char *mark = find(line, n, plain_mark);
    if (!mark) {
        return false;
    }
    *match = start_match(LG_ASSERT_PLAIN);
    cursor in = {mark + strlen(plain_mark), line + n};
    if (!take_expression(&in, &match->expression)) {
        return false;
    }
    match->rest = (lg_span){in.at, (size_t)(in.end - in.at)};
    // `file:line: function: ` or `file:line ` before it; a host check may name no file here.
    size_t head = (size_t)(mark - line);
    while (head > 0 && (line[head - 1] == ' ' || line[head - 1] == ':')) {
        head--;
    }
    lg_assert_match place = *match;
    if (split_head(line, head, &place)) {
        *match = place;
    }
    return true;
}

bool lg_assert_parse_any(const char *line, size_t n, lg_assert_match *match) {
    if (lg_assert_parse(line, n, match)) {
        return true;
    }
    n = without_cr(line, n);
    if (parse_threads(line, n, global_mark, local_mark, match)) {
        match->form = LG_ASSERT_SYCL;
        return true;
    }
    return parse_hip(line, n, match) || parse_plain(line, n, match);
}

// --- lines that are cut off ---------------------------------------------------------------------

// As much of an expression as there is; moves behind its closing quote, if it has one.
static void take_begun(cursor *in, lg_span *expression) {
    if (in->at == in->end || !strchr("`'\"", *in->at)) {
        return;
    }
    char open = *in->at;
    const char *start = in->at + 1;
    size_t n = (size_t)(in->end - start);
    size_t kept = 0;
    while (kept < n && start[kept] != open && (open != '`' || start[kept] != '\'')) {
        kept++;
    }
    *expression = (lg_span){start, kept};
    in->at = kept < n ? start + kept + 1 : in->end;
}

// What is left may be the beginning of " failed.": a line that goes on in another way is not cut.
static bool ends_early(const cursor *in) {
    size_t n = (size_t)(in->end - in->at);
    return n < strlen(end_mark) && memcmp(in->at, end_mark, n) == 0;
}

static bool parse_cut(const char *line, size_t n, const char *first, const char *second,
                      lg_assert_match *match) {
    const char *block = find(line, n, first);
    *match = start_match(LG_ASSERT_CUDA);
    match->cut = true;
    if (!block || !split_head(line, (size_t)(block - line), match)) {
        return false;
    }
    cursor in = {block + strlen(first), line + n};
    match->has_thread =
        take_triple(&in, match->block) && take(&in, second) && take_triple(&in, match->thread);
    if (!match->has_thread) {
        memset(match->block, 0, sizeof match->block);
        memset(match->thread, 0, sizeof match->thread);
    } else if (take(&in, failed_mark)) {
        match->cut = false;
        take_begun(&in, &match->expression);
    } else if (take(&in, assertion_mark)) {
        take_begun(&in, &match->expression);
        return ends_early(&in);
    }
    return true;
}

bool lg_assert_parse_cut(const char *line, size_t n, lg_assert_match *match) {
    n = without_cr(line, n);
    if (parse_cut(line, n, block_mark, thread_mark, match)) {
        return true;
    }
    bool ok = parse_cut(line, n, global_mark, local_mark, match);
    match->form = LG_ASSERT_SYCL;
    return ok;
}

bool lg_assert_parse_begun(const char *line, size_t n, lg_assert_match *match) {
    n = without_cr(line, n);
    const char *hip = find(line, n, hip_mark);
    const char *mark = hip ? hip : find(line, n, plain_mark);
    *match = start_match(hip ? LG_ASSERT_HIP : LG_ASSERT_PLAIN);
    if (!mark) {
        return false;
    }
    cursor in = {mark + strlen(hip ? hip_mark : plain_mark), line + n};
    take_begun(&in, &match->expression);
    match->cut = true;
    size_t head = (size_t)(mark - line);
    while (head > 0 && (line[head - 1] == ' ' || line[head - 1] == ':')) {
        head--;
    }
    match->lacks_head = !split_head(line, head, match);
    return match->expression.n > 0 && ends_early(&in);
}

bool lg_assert_parse_tail(const char *line, size_t n, lg_assert_match *match) {
    n = without_cr(line, n);
    size_t mark = strlen(end_mark);
    *match = start_match(LG_ASSERT_PLAIN);
    match->lacks_head = true;
    if (n < mark + 2 || memcmp(line + n - mark, end_mark, mark) != 0 ||
        !strchr("`'\"", line[n - mark - 1])) {
        return false;
    }
    match->expression = (lg_span){line, n - mark - 1};
    return !find(line, n, plain_mark);
}

// Without ": " and the beginning of "block: [" behind a function, or of "global id: [".
static size_t without_mark(const char *text, size_t n, const char *mark) {
    for (size_t kept = strlen(mark); kept > 0; kept--) {
        if (n >= kept && memcmp(text + n - kept, mark, kept) == 0) {
            return n - kept;
        }
    }
    return n;
}

bool lg_assert_parse_place(const char *line, size_t n, lg_assert_match *match) {
    n = without_cr(line, n);
    size_t kept = without_mark(line, n, block_mark);
    kept = kept < n ? kept : without_mark(line, n, global_mark);
    *match = start_match(LG_ASSERT_CUDA);
    match->cut = true;
    if (split_head(line, kept, match)) {
        return !rfind(match->function.text, match->function.n, ' ');
    }
    match->file = (lg_span){line, kept};
    return kept > 0 && !rfind(line, kept, ' ');
}

// --- whole logs ---------------------------------------------------------------------------------

static const char *copy(lg_arena *arena, lg_span span) {
    return lg_arena_strndup(arena, span.text, span.n);
}

int64_t lg_assert_log_parse(const char *log, size_t n, int64_t max_kept, lg_arena *arena,
                            lg_assert_line **kept, int64_t *n_kept) {
    *kept = NULL;
    *n_kept = 0;
    int64_t n_seen = 0;
    int64_t capacity = 0;
    const char *end = log + n;
    for (const char *at = log; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        lg_assert_match match;
        if (lg_assert_parse(at, (size_t)(stop - at), &match)) {
            n_seen++;
            if (*n_kept < max_kept) {
                if (*n_kept == capacity) { // the arena frees the smaller arrays with the rest
                    capacity = capacity ? 2 * capacity : 8;
                    lg_assert_line *grown = lg_arena_array(arena, (size_t)capacity, sizeof *grown);
                    if (*n_kept) {
                        memcpy(grown, *kept, (size_t)*n_kept * sizeof *grown);
                    }
                    *kept = grown;
                }
                lg_assert_line *out = &(*kept)[(*n_kept)++];
                *out = (lg_assert_line){.file = copy(arena, match.file),
                                        .line = match.line,
                                        .function = copy(arena, match.function),
                                        .expression = copy(arena, match.expression)};
                memcpy(out->block, match.block, sizeof out->block);
                memcpy(out->thread, match.thread, sizeof out->thread);
            }
        }
        at = stop + 1;
    }
    return n_seen;
}
