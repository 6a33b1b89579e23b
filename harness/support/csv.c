// SPDX-License-Identifier: Apache-2.0
#include "support/csv.h"

#include "support/alloc.h"
#include "support/strparse.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16 };

struct lg_csv_reader {
    char *name;
    FILE *stream;
    char *buffer;
    size_t at, n; // the unread part of the buffer
    bool ended;
    int64_t line;        // number of the line last taken
    int64_t first_empty; // 0: none; an empty line is an error once something follows
    size_t n_errors;
};

lg_csv_reader *lg_csv_open_stream(FILE *stream, const char *name) {
    lg_csv_reader *reader = lg_xcalloc(1, sizeof *reader);
    reader->name = lg_xstrdup(name);
    reader->stream = stream;
    reader->buffer = lg_xmalloc(BUFFER_BYTES + 1);
    return reader;
}

lg_csv_reader *lg_csv_open(const char *path, lg_diags *diags) {
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        lg_error(diags, (lg_loc){.file = path}, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    return lg_csv_open_stream(stream, path);
}

void lg_csv_close(lg_csv_reader *reader) {
    if (reader) {
        fclose(reader->stream);
        free(reader->buffer);
        free(reader->name);
        free(reader);
    }
}

// --- lines --------------------------------------------------------------------------------------

// Moves what is left to the front and reads on. false when reading failed.
static bool refill(lg_csv_reader *reader, lg_diags *diags) {
    memmove(reader->buffer, reader->buffer + reader->at, reader->n - reader->at);
    reader->n -= reader->at;
    reader->at = 0;
    size_t got = fread(reader->buffer + reader->n, 1, BUFFER_BYTES - reader->n, reader->stream);
    reader->n += got;
    reader->ended = got == 0;
    if (got == 0 && ferror(reader->stream)) {
        lg_error(diags, (lg_loc){.file = reader->name}, "cannot be read: %s", strerror(errno));
        reader->n_errors++;
        return false;
    }
    return true;
}

typedef struct text_line {
    char *text; // NUL-terminated, without its end
    size_t n;
    bool too_long;
} text_line;

// Skips to the end of a line that is longer than any number.
static bool skip_line(lg_csv_reader *reader, lg_diags *diags) {
    for (;;) {
        char *start = reader->buffer + reader->at;
        char *newline = memchr(start, '\n', reader->n - reader->at);
        if (newline) {
            reader->at = (size_t)(newline - reader->buffer) + 1;
            return true;
        }
        reader->at = reader->n;
        if (reader->ended) {
            return true;
        }
        if (!refill(reader, diags)) {
            return false;
        }
    }
}

// 1: a line; 0: the end; -1: reading failed.
static int next_line(lg_csv_reader *reader, text_line *line, lg_diags *diags) {
    for (;;) {
        char *start = reader->buffer + reader->at;
        size_t left = reader->n - reader->at;
        char *newline = left ? memchr(start, '\n', left) : NULL;
        size_t n = newline ? (size_t)(newline - start) : left;
        *line = (text_line){.text = start, .n = n, .too_long = n > LG_CSV_MAX_LINE};
        if (newline || line->too_long || (reader->ended && left)) {
            reader->line++;
            if (line->too_long) {
                return skip_line(reader, diags) ? 1 : -1;
            }
            reader->at += n + (newline != NULL);
            break;
        }
        if (reader->ended) {
            return 0;
        }
        if (!refill(reader, diags)) {
            return -1;
        }
    }
    line->n -= line->n > 0 && line->text[line->n - 1] == '\r';
    line->text[line->n] = '\0'; // the newline's place, or the byte kept free behind the buffer
    if (reader->line == 1 && line->n >= 3 && memcmp(line->text, "\xef\xbb\xbf", 3) == 0) {
        line->text += 3;
        line->n -= 3;
    }
    return 1;
}

// --- numbers ------------------------------------------------------------------------------------

static int line_number(const lg_csv_reader *reader) {
    return reader->line < INT_MAX ? (int)reader->line : INT_MAX;
}

__attribute__((format(printf, 5, 6))) static void complain(lg_csv_reader *reader, lg_diags *diags,
                                                           int column, const char *source,
                                                           const char *format, ...) {
    va_list args;
    va_start(args, format);
    lg_loc loc = {.file = reader->name, .line = line_number(reader), .column = column};
    lg_diags_vadd(diags, LG_ERROR, loc, source, format, args);
    va_end(args);
    reader->n_errors++;
}

// Integers of up to 18 digits, which nearly all labels are, without a library call.
static bool parse_short(const char *text, size_t n, int64_t *value) {
    size_t at = n > 0 && text[0] == '-';
    if (at == n || n - at > 18) {
        return false;
    }
    int64_t sum = 0;
    for (size_t i = at; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        sum = sum * 10 + (text[i] - '0');
    }
    *value = at ? -sum : sum;
    return true;
}

static bool is_integer_text(const char *text) {
    text += *text == '-' || *text == '+';
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool parse_number(const char *text, size_t n, lg_csv_value *value) {
    if (parse_short(text, n, &value->integer) || lg_parse_i64(text, &value->integer)) {
        value->is_integer = true;
        value->real = (double)value->integer;
        return true;
    }
    value->is_integer = false;
    value->integer = 0;
    return !is_integer_text(text) && lg_parse_f64(text, &value->real);
}

static bool is_name(const char *text) {
    char c = text[text[0] == '"'];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_utf16(const text_line *line) {
    return line->n >= 2 &&
           (memcmp(line->text, "\xff\xfe", 2) == 0 || memcmp(line->text, "\xfe\xff", 2) == 0);
}

// What is wrong with a line that is no number.
static void explain_line(lg_csv_reader *reader, const char *text, size_t n, lg_diags *diags) {
    if (strlen(text) < n) {
        complain(reader, diags, (int)strlen(text) + 1, NULL, "a byte 0 in the line: not a text");
        return;
    }
    size_t separator = strcspn(text, ",;\t");
    size_t carriage = strcspn(text, "\r");
    size_t blank = strcspn(text, " ");
    if (carriage < n) { // the text is not shown: a terminal would draw over it
        complain(reader, diags, (int)carriage + 1, NULL,
                 "a carriage return within the line: end lines with a line feed");
    } else if (separator < n) {
        complain(reader, diags, (int)separator + 1, text,
                 "a second column: give a file of one number a line");
    } else if (blank < n) {
        complain(reader, diags, (int)blank + 1, text, "a blank: a line is one number and no more");
    } else if (is_integer_text(text)) {
        complain(reader, diags, 1, text, "an integer beyond 64 bits");
    } else {
        complain(reader, diags, 1, text, "'%s' is not a number", text);
    }
}

// Whether the line held a value.
static bool take_line(lg_csv_reader *reader, text_line line, lg_csv_value *value, lg_diags *diags) {
    if (line.too_long) {
        complain(reader, diags, LG_CSV_MAX_LINE + 1, NULL,
                 "a line of more than %d bytes: want one number a line", LG_CSV_MAX_LINE);
        return false;
    }
    if (reader->line == 1 && is_utf16(&line)) {
        complain(reader, diags, 1, NULL, "the file is UTF-16: save it as UTF-8");
        reader->n_errors = LG_CSV_MAX_ERRORS; // of no use to read on
        return false;
    }
    if (line.n == 0) {
        reader->first_empty = reader->first_empty ? reader->first_empty : reader->line;
        return false;
    }
    if (reader->first_empty) {
        lg_loc loc = {.file = reader->name,
                      .line = reader->first_empty < INT_MAX ? (int)reader->first_empty : INT_MAX,
                      .column = 1};
        lg_diags_add(diags, LG_ERROR, loc, NULL, "an empty line: want one number a line");
        reader->n_errors++;
        reader->first_empty = 0;
    }
    char *text = line.text;
    size_t n = line.n;
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"' && strlen(text) == n) {
        text[n - 1] = '\0';
        text++;
        n -= 2;
    }
    if (strlen(text) == n && parse_number(text, n, value)) {
        return true;
    }
    if (reader->line == 1 && strlen(text) == n && is_name(text) && strcspn(text, ",;\t\r") == n) {
        return false; // the column's name
    }
    explain_line(reader, text, n, diags);
    return false;
}

int64_t lg_csv_read(lg_csv_reader *reader, lg_csv_value *out, int64_t n, lg_diags *diags) {
    int64_t got = 0;
    while (got < n && reader->n_errors < LG_CSV_MAX_ERRORS) {
        text_line line;
        int status = next_line(reader, &line, diags);
        if (status <= 0) {
            break;
        }
        bool held = take_line(reader, line, &out[got], diags);
        // Values behind an error are looked at for more errors, but not handed out.
        got += held && reader->n_errors == 0;
    }
    return reader->n_errors > 0 ? -1 : got;
}
