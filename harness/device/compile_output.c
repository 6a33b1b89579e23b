// SPDX-License-Identifier: Apache-2.0
#include "device/internal.h"

#include "support/alloc.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct message {
    size_t n_file;
    int line;
    int column;
    lg_severity severity;
    const char *text;
} message;

static bool take_number(const char **at, int *value) {
    char *end;
    if (**at < '0' || **at > '9') {
        return false;
    }
    long number = strtol(*at, &end, 10);
    if (number > INT_MAX) {
        return false;
    }
    *value = (int)number;
    *at = end;
    return true;
}

static bool take(const char **at, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0) {
        return false;
    }
    *at += n;
    return true;
}

static bool take_severity(const char **at, lg_severity *severity) {
    static const struct {
        const char *word;
        lg_severity severity;
    } words[] = {
        {" error: ", LG_ERROR}, {" fatal error: ", LG_ERROR}, {" catastrophic error: ", LG_ERROR},
        {" error #", LG_ERROR}, {" warning: ", LG_WARNING},   {" warning #", LG_WARNING}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (take(at, words[i].word)) {
            *severity = words[i].severity;
            return true;
        }
    }
    return false;
}

// "file(12): error: text" or "file:12:5: error: text", NUL-terminated.
static bool parse_message(const char *line, message *out) {
    for (const char *at = line; (at = strpbrk(at, "(:")); at++) {
        *out = (message){.n_file = (size_t)(at - line)};
        const char *rest = at + 1;
        if (out->n_file == 0 || !take_number(&rest, &out->line)) {
            continue;
        }
        if (*at == '(' ? !take(&rest, "):") : !take(&rest, ":")) {
            continue;
        }
        if (*at == ':' && take_number(&rest, &out->column) && !take(&rest, ":")) {
            continue;
        }
        if (take_severity(&rest, &out->severity)) {
            out->text = rest[-1] == '#' ? rest - 1 : rest; // "#177-D: …" keeps its number's mark
            return true;
        }
    }
    return false;
}

// The next line of `*at`, copied; NULL at the end.
static char *next_line(const char **at) {
    if (!**at) {
        return NULL;
    }
    size_t n = strcspn(*at, "\n");
    char *line = lg_xstrndup(*at, n);
    *at += n + ((*at)[n] == '\n');
    return line;
}

// The compiler front end shows the source line, indented by two blanks more than it is, and a line
// with the caret. `*column` counts from 1 in the returned copy; NULL when no caret follows.
static char *take_source(const char **at, int *column) {
    const char *peek = *at;
    char *source = next_line(&peek);
    char *caret = next_line(&peek);
    size_t offset = caret ? strspn(caret, " ") : 0;
    if (!source || !caret || caret[offset] != '^' || caret[offset + 1] != '\0' ||
        offset > strlen(source)) {
        free(source);
        free(caret);
        return NULL;
    }
    size_t indent = strspn(source, " ");
    if (indent > 2) {
        indent = 2;
    }
    if (indent > offset) {
        indent = offset;
    }
    *column = (int)(offset - indent) + 1;
    char *shown = lg_xstrdup(source + indent);
    free(source);
    free(caret);
    *at = peek;
    return shown;
}

size_t lg_parse_compiler_output(const char *output, lg_diags *diags) {
    size_t n_errors = 0;
    const char *at = output;
    for (char *line; (line = next_line(&at)); free(line)) {
        message parsed;
        if (!parse_message(line, &parsed)) {
            continue;
        }
        char *file = lg_xstrndup(line, parsed.n_file);
        char *source = parsed.column ? NULL : take_source(&at, &parsed.column);
        lg_diags_add(diags, parsed.severity, (lg_loc){file, parsed.line, parsed.column}, source,
                     "%s", parsed.text);
        n_errors += parsed.severity == LG_ERROR;
        free(source);
        free(file);
    }
    return n_errors;
}
