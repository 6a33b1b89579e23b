// SPDX-License-Identifier: Apache-2.0
// Device printf: the format and its arguments lie in device memory. nvcc has promoted the arguments
// as C does (int, long long, double, pointer) and laid them out one after the other, each naturally
// aligned.

#include "engine/sim/exec/internal.h"
#include <string.h>

enum { MAX_ARGS = 32, MAX_FIELD = 4096 };

typedef struct reader {
    lg_exec *x;
    const lg_insn *insn;
    int lane;
    uint64_t args;
    uint64_t offset;
    int n_args;
    bool ok;
} reader;

static uint64_t next_arg(reader *r, uint32_t bytes) {
    uint64_t value = 0;
    r->offset = (r->offset + bytes - 1) / bytes * bytes;
    if (!r->ok || r->n_args >= MAX_ARGS) {
        return 0;
    }
    if (!lg_read_generic(r->x, r->lane, r->args + r->offset, &value, bytes)) {
        lg_raise_access(r->x, r->insn, r->lane, LG_SPACE_GENERIC, r->args + r->offset, bytes,
                        false);
        r->ok = false;
    }
    r->offset += bytes;
    r->n_args++;
    return value;
}

typedef struct directive {
    char flags[8];
    int width, precision; // -1: not given
    bool is_long;         // 8 bytes
    int narrow;           // h: 1, hh: 2
} directive;

static int read_number(reader *r, const char **at) {
    int value = 0;
    if (**at == '*') {
        ++*at;
        value = (int)(int32_t)next_arg(r, 4);
        return value > MAX_FIELD ? MAX_FIELD : value < -MAX_FIELD ? -MAX_FIELD : value;
    }
    while (**at >= '0' && **at <= '9') {
        value = value * 10 + (*(*at)++ - '0');
        value = value > MAX_FIELD ? MAX_FIELD : value;
    }
    return value;
}

static directive read_directive(reader *r, const char **at) {
    directive d = {.width = -1, .precision = -1};
    size_t n = 0;
    for (; **at && strchr("-+ #0", **at); ++*at) {
        if (!strchr(d.flags, **at) || n == 0) {
            d.flags[n++] = **at;
        }
    }
    if (**at == '*' || (**at >= '0' && **at <= '9')) {
        d.width = read_number(r, at);
        if (d.width < 0) { // a negative * is the flag -
            d.width = -d.width;
            d.flags[n] = '-';
        }
    }
    if (**at == '.') {
        ++*at;
        d.precision = read_number(r, at);
    }
    for (; **at && strchr("hljztL", **at); ++*at) {
        d.is_long |= **at != 'h' && **at != 'L';
        d.narrow += **at == 'h';
    }
    return d;
}

// "%", flags, "*.*", length and conversion: what snprintf is asked with.
static void make_format(const directive *d, const char *length, char conversion, char *out,
                        size_t n) {
    snprintf(out, n, "%%%s%s%s%s%c", d->flags, d->width >= 0 ? "*" : "",
             d->precision >= 0 ? ".*" : "", length, conversion);
}

// The format comes from make_format, which only lets known conversions through.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define PRINT(value)                                                                               \
    do {                                                                                           \
        if (d->width >= 0 && d->precision >= 0) {                                                  \
            lg_str_printf(out, format, d->width, d->precision, (value));                           \
        } else if (d->width >= 0) {                                                                \
            lg_str_printf(out, format, d->width, (value));                                         \
        } else if (d->precision >= 0) {                                                            \
            lg_str_printf(out, format, d->precision, (value));                                     \
        } else {                                                                                   \
            lg_str_printf(out, format, (value));                                                   \
        }                                                                                          \
    } while (0)

static void print_integer(reader *r, const directive *d, char conversion, lg_str *out) {
    char format[32];
    uint64_t value = next_arg(r, d->is_long ? 8 : 4);
    bool is_signed = conversion == 'd' || conversion == 'i';
    int shift = d->is_long ? 0 : d->narrow >= 2 ? 56 : d->narrow ? 48 : 32;
    make_format(d, "ll", conversion, format, sizeof format);
    if (is_signed) {
        PRINT((long long)(value << shift) >> shift);
    } else {
        PRINT((unsigned long long)(value << shift >> shift));
    }
}

static void print_value(reader *r, const directive *d, char conversion, lg_str *out) {
    char format[32];
    if (conversion == 'c') {
        make_format(d, "", 'c', format, sizeof format);
        PRINT((int)(unsigned char)next_arg(r, 4));
    } else if (conversion == 'p') {
        make_format(d, "", 'p', format, sizeof format);
        PRINT((void *)(uintptr_t)next_arg(r, 8));
    } else if (conversion == 's') {
        lg_str text = {0};
        uint64_t address = next_arg(r, 8);
        r->ok = r->ok && lg_read_string(r->x, r->insn, r->lane, address, &text);
        make_format(d, "", 's', format, sizeof format);
        PRINT(lg_str_text(&text));
        lg_str_free(&text);
    } else {
        uint64_t bits = next_arg(r, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        make_format(d, "", conversion, format, sizeof format);
        PRINT(value);
    }
}
#pragma GCC diagnostic pop

int lg_format_printf(lg_exec *x, const lg_insn *insn, int lane, uint64_t format, uint64_t args,
                     lg_str *out) {
    reader r = {.x = x, .insn = insn, .lane = lane, .args = args, .ok = true};
    lg_str text = {0};
    r.ok = lg_read_string(x, insn, lane, format, &text);
    const char *at = lg_str_text(&text);
    while (r.ok && *at) {
        size_t plain = strcspn(at, "%");
        lg_str_add_n(out, at, plain);
        at += plain;
        if (!*at) {
            break;
        }
        const char *start = at++;
        directive d = read_directive(&r, &at);
        char conversion = *at;
        if (conversion == '%') {
            lg_str_add(out, "%");
        } else if (conversion && strchr("diuxXo", conversion)) {
            print_integer(&r, &d, conversion, out);
        } else if (conversion && strchr("cspfFeEgGaA", conversion)) {
            print_value(&r, &d, conversion, out);
        } else { // not a conversion: as it stands
            lg_str_add_n(out, start, (size_t)(at - start) + (conversion != '\0'));
        }
        at += conversion != '\0';
    }
    lg_str_free(&text);
    return r.ok ? r.n_args : -1;
}
