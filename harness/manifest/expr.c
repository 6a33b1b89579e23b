// SPDX-License-Identifier: Apache-2.0
#include "manifest/manifest.h"

#include "support/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct evaluation {
    const char *text;
    const char *at;
    int depth;
    lg_expr_lookup lookup; // NULL: only check
    void *context;
    const char *const *names; // when checking
    size_t n_names;
    lg_expr_problem *problem;
    bool failed;
} evaluation;

static int64_t read_sum(evaluation *e);

static int64_t fail(evaluation *e, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Keeps the first problem; the value is of no use after it.
static int64_t fail(evaluation *e, const char *at, const char *format, ...) {
    if (!e->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(e->problem->text, sizeof e->problem->text, format, args);
        va_end(args);
        e->problem->at = (size_t)(at - e->text);
        e->problem->unknown_name = false;
        e->failed = true;
    }
    return 0;
}

static void skip_blanks(evaluation *e) {
    e->at += strspn(e->at, " \t\n");
}

static bool take(evaluation *e, char wanted) {
    skip_blanks(e);
    if (*e->at != wanted) {
        return false;
    }
    e->at++;
    return true;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int64_t read_integer(evaluation *e) {
    const char *begin = e->at;
    int64_t value = 0;
    while (is_digit(*e->at)) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *e->at - '0', &value)) {
            return fail(e, begin, "a number that does not fit 63 bits");
        }
        e->at++;
    }
    if (is_letter(*e->at)) {
        return fail(e, begin, "a number with letters behind it");
    }
    return value;
}

typedef enum function { NO_FUNCTION, CEIL_DIV, MOD, MIN, MAX, NEXT_POW2 } function;

static function find_function(const char *name) {
    static const char *const names[] = {"", "ceil_div", "mod", "min", "max", "next_pow2"};
    for (int i = CEIL_DIV; i <= NEXT_POW2; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (function)i;
        }
    }
    return NO_FUNCTION;
}

static int64_t floor_div(evaluation *e, const char *at, int64_t a, int64_t b) {
    if (!e->lookup) {
        return 0;
    }
    if (b == 0) {
        return fail(e, at, "a division by zero");
    }
    if (a == INT64_MIN && b == -1) {
        return fail(e, at, "a result that does not fit 64 bits");
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t ceil_div(evaluation *e, const char *at, int64_t a, int64_t b) {
    int64_t below = floor_div(e, at, a, b);
    if (e->failed || !e->lookup) {
        return 0;
    }
    return below + (a % b != 0);
}

// What floor_div leaves: of the sign of b.
static int64_t modulo(evaluation *e, const char *at, int64_t a, int64_t b) {
    int64_t below = floor_div(e, at, a, b);
    if (e->failed || !e->lookup) {
        return 0;
    }
    return a - below * b; // between 0 and b: it fits
}

static int64_t next_pow2(evaluation *e, const char *at, int64_t a) {
    int64_t power = 1;
    while (power < a) {
        if (power > INT64_MAX / 2) {
            return fail(e, at, "next_pow2 of a number that has none in 64 bits");
        }
        power *= 2;
    }
    return power;
}

static int64_t call(evaluation *e, const char *at, function which) {
    int64_t a = read_sum(e);
    int64_t b = 0;
    if (which != NEXT_POW2) {
        if (!take(e, ',')) {
            return fail(e, at, "a function that wants two values");
        }
        b = read_sum(e);
    }
    if (!take(e, ')')) {
        return fail(e, e->at, *e->at ? "text where ')' is missing" : "no ')' at the end");
    }
    switch (which) {
    case CEIL_DIV:
        return ceil_div(e, at, a, b);
    case MOD:
        return modulo(e, at, a, b);
    case MIN:
        return a < b ? a : b;
    case MAX:
        return a > b ? a : b;
    case NEXT_POW2:
        return next_pow2(e, at, a);
    case NO_FUNCTION:
        break;
    }
    return 0;
}

static int64_t look_up(evaluation *e, const char *at, const char *name) {
    int64_t value = 0;
    if (e->lookup) {
        if (!e->lookup(e->context, name, &value)) {
            fail(e, at, "the unknown name '%s'", name);
            e->problem->unknown_name = true;
        }
        return value;
    }
    for (size_t i = 0; i < e->n_names; i++) {
        if (strcmp(e->names[i], name) == 0) {
            return 0;
        }
    }
    const char *near = lg_nearest(name, e->names, e->n_names);
    return near ? fail(e, at, "the unknown name '%s'; did you mean '%s'?", name, near)
                : fail(e, at, "the unknown name '%s'", name);
}

static int64_t read_name(evaluation *e) {
    const char *begin = e->at;
    char name[48];
    size_t n = 0;
    while (is_letter(*e->at) || is_digit(*e->at)) {
        if (n + 1 == sizeof name) {
            return fail(e, begin, "a name of more than %zu characters", sizeof name - 1);
        }
        name[n++] = *e->at++;
    }
    name[n] = '\0';
    function which = find_function(name);
    if (take(e, '(')) {
        return which ? call(e, begin, which) : fail(e, begin, "the unknown function '%s'", name);
    }
    return which ? fail(e, begin, "the function %s without its values", name)
                 : look_up(e, begin, name);
}

static int64_t read_factor(evaluation *e) {
    if (e->failed) {
        return 0;
    }
    if (++e->depth > LG_EXPR_MAX_DEPTH) {
        return fail(e, e->at, "more than %d levels of nesting", LG_EXPR_MAX_DEPTH);
    }
    skip_blanks(e);
    const char *at = e->at;
    int64_t value = 0;
    if (is_digit(*at)) {
        value = read_integer(e);
    } else if (is_letter(*at)) {
        value = read_name(e);
    } else if (take(e, '-')) {
        if (__builtin_sub_overflow(0, read_factor(e), &value)) {
            value = fail(e, at, "a result that does not fit 64 bits");
        }
    } else if (take(e, '(')) {
        value = read_sum(e);
        if (!take(e, ')')) {
            value = fail(e, e->at, *e->at ? "text where ')' is missing" : "no ')' at the end");
        }
    } else if (*at) {
        bool ascii = (unsigned char)*at < 0x80;
        value = fail(e, at, "'%c' where a value is wanted", ascii ? *at : '?');
    } else {
        value = fail(e, at, "no value at the end");
    }
    e->depth--;
    return value;
}

static int64_t read_product(evaluation *e) {
    int64_t value = read_factor(e);
    while (!e->failed) {
        skip_blanks(e);
        const char *at = e->at;
        if (take(e, '*')) {
            if (__builtin_mul_overflow(value, read_factor(e), &value)) {
                fail(e, at, "a result that does not fit 64 bits");
            }
        } else if (take(e, '/')) {
            value = floor_div(e, at, value, read_factor(e));
        } else {
            break;
        }
    }
    return value;
}

static int64_t read_sum(evaluation *e) {
    int64_t value = read_product(e);
    while (!e->failed) {
        skip_blanks(e);
        const char *at = e->at;
        bool overflow = false;
        if (take(e, '+')) {
            overflow = __builtin_add_overflow(value, read_product(e), &value);
        } else if (take(e, '-')) {
            overflow = __builtin_sub_overflow(value, read_product(e), &value);
        } else {
            break;
        }
        if (overflow) {
            fail(e, at, "a result that does not fit 64 bits");
        }
    }
    return value;
}

static bool run(evaluation *e, int64_t *value) {
    e->at = e->text;
    *value = read_sum(e);
    skip_blanks(e);
    if (!e->failed && *e->at) {
        fail(e, e->at, "text behind the expression");
    }
    return !e->failed;
}

bool lg_expr_eval(const char *text, lg_expr_lookup lookup, void *context, int64_t *value,
                  lg_expr_problem *problem) {
    evaluation e = {.text = text, .lookup = lookup, .context = context, .problem = problem};
    return run(&e, value);
}

bool lg_expr_check(const char *text, const char *const *names, size_t n, lg_expr_problem *problem) {
    evaluation e = {.text = text, .names = names, .n_names = n, .problem = problem};
    int64_t unused;
    return run(&e, &unused);
}

#define PICK_SIZE(name) name,
#define PICK_BUFFER(name)
#define PICK_REAL(name)
static const char *const size_names[] = {
#define LG_ARG(id, name, kind, help) PICK_##kind(name)
#include "manifest/args.def"
#undef LG_ARG
    "block_x",
    "dtype_bytes",
};

const char *const *lg_expr_names(size_t *n) {
    *n = sizeof size_names / sizeof *size_names;
    return size_names;
}
