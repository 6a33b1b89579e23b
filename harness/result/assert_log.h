// SPDX-License-Identifier: Apache-2.0
// Device assert lines in a log: `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion
// `expr` failed.`, as the CUDA runtime prints them. Made for logs of any size and content: line by
// line, no state, no allocation.
#ifndef LG_RESULT_ASSERT_LOG_H
#define LG_RESULT_ASSERT_LOG_H

#include "result/observation.h"
#include "support/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A piece of the text that was parsed; not NUL-terminated.
typedef struct lg_span {
    const char *text;
    size_t n;
} lg_span;

// Who prints it, and so what the line says.
typedef enum lg_assert_form {
    LG_ASSERT_CUDA = 1, // the form above; Windows prints no function
    LG_ASSERT_HIP,      // `file:line: function: Device-side assertion `expr' failed.`
    LG_ASSERT_SYCL,     // as CUDA, with `global id: [...], local id: [...]`
    LG_ASSERT_PLAIN,    // `file:line Assertion `expr` failed.`, from a printf in a kernel or a
                        // host check; a text with the values may follow
} lg_assert_form;

typedef struct lg_assert_match {
    lg_assert_form form;
    lg_span file; // empty for a plain one that names none
    int line;
    lg_span function; // may be empty: some platforms print none
    bool has_function;
    bool has_thread;    // `block` and `thread` were printed
    int64_t block[3];   // SYCL: the global id
    int64_t thread[3];  // SYCL: the local id
    lg_span expression; // without the quotes
    lg_span rest;       // of the line, behind `failed.`
    bool cut;           // the line ends before ` failed.`; the expression may lack its end
    bool lacks_head;    // what stands before the condition is missing, wholly or in part
} lg_assert_match;

// Parses one line of n bytes (without its newline; a trailing CR is ignored). Text before the file
// name, such as a logger's prefix, is allowed when blank-separated. The expression may be in
// backquotes, in a backquote and a quote, or in quotes. False: not an assert line, `match`
// undefined.
bool lg_assert_parse(const char *line, size_t n, lg_assert_match *match);

// The same for a line of any form.
bool lg_assert_parse_any(const char *line, size_t n, lg_assert_match *match);

// A line of the CUDA or the SYCL form that ends early, or that a kernel prints of itself ("…:
// Assertion failed: `expr`: text"). What is missing is empty; `has_thread` is false unless both are
// whole.
bool lg_assert_parse_cut(const char *line, size_t n, lg_assert_match *match);

// A line of any form whose end is cut off within the condition or behind it, and whose beginning
// may be cut off up to `Assertion`. Texts may look so: whether the condition is one that is known
// is the caller's to look up.
bool lg_assert_parse_begun(const char *line, size_t n, lg_assert_match *match);

// A line of which the log has only the end, from within the condition on: "< n_classes` failed.".
bool lg_assert_parse_tail(const char *line, size_t n, lg_assert_match *match);

// A line that ends before the block: "file:line: function: blo", "file:line: func". Without a line
// number, `file` is the whole line. No more than a look at the form: many texts have it.
bool lg_assert_parse_place(const char *line, size_t n, lg_assert_match *match);

// Counts the assert lines of a log and keeps the first `max_kept` of them, copied into `arena`.
int64_t lg_assert_log_parse(const char *log, size_t n, int64_t max_kept, lg_arena *arena,
                            lg_assert_line **kept, int64_t *n_kept);

#endif
