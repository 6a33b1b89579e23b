// SPDX-License-Identifier: Apache-2.0
// Device assert lines in a log: `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion
// `expr` failed.`, as the CUDA runtime prints them. Made for logs of any size and content: line by
// line, no state, no allocation.
#ifndef LG_PIPELINE_ASSERT_LOG_H
#define LG_PIPELINE_ASSERT_LOG_H

#include "model/observation.h"
#include "support/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A piece of the text that was parsed; not NUL-terminated.
typedef struct lg_span {
    const char *text;
    size_t n;
} lg_span;

typedef struct lg_assert_match {
    lg_span file;
    int line;
    lg_span function; // may be empty: some platforms print none
    bool has_function;
    int64_t block[3];
    int64_t thread[3];
    lg_span expression; // without the quotes
} lg_assert_match;

// Parses one line of n bytes (without its newline; a trailing CR is ignored). Text before the file
// name, such as a logger's prefix, is allowed when blank-separated. The expression may be in
// backquotes, in a backquote and a quote, or in quotes. False: not an assert line, `match`
// undefined.
bool lg_assert_parse(const char *line, size_t n, lg_assert_match *match);

// Counts the assert lines of a log and keeps the first `max_kept` of them, copied into `arena`.
int64_t lg_assert_log_parse(const char *log, size_t n, int64_t max_kept, lg_arena *arena,
                            lg_assert_line **kept, int64_t *n_kept);

#endif
