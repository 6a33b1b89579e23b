// SPDX-License-Identifier: Apache-2.0
#include "support/strparse.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool all_digits(const char *text) {
    if (!*text) {
        return false;
    }
    return strspn(text, "0123456789") == strlen(text);
}

bool lg_parse_i64(const char *text, int64_t *value) {
    const char *digits = text + (*text == '-' || *text == '+');
    if (!all_digits(digits)) {
        return false;
    }
    errno = 0;
    long long parsed = strtoll(text, NULL, 10);
    if (errno) {
        return false;
    }
    *value = parsed;
    return true;
}

bool lg_parse_u64(const char *text, uint64_t *value) {
    if (!all_digits(text)) {
        return false;
    }
    errno = 0;
    unsigned long long parsed = strtoull(text, NULL, 10);
    if (errno) {
        return false;
    }
    *value = parsed;
    return true;
}

static bool parse_special(const char *text, double *value) {
    double sign = *text == '-' ? -1.0 : 1.0;
    const char *word = text + (*text == '-' || *text == '+');
    word += *word == '.';
    if (strcasecmp(word, "inf") == 0) {
        *value = sign * INFINITY;
        return true;
    }
    if (strcasecmp(word, "nan") == 0) {
        *value = NAN;
        return true;
    }
    return false;
}

bool lg_parse_f64(const char *text, double *value) {
    if (parse_special(text, value)) {
        return true;
    }
    if (!*text || strspn(text, "0123456789+-.eE") != strlen(text)) {
        return false;
    }
    char *end;
    double parsed = strtod(text, &end);
    if (*end || end == text || isinf(parsed)) {
        return false;
    }
    *value = parsed;
    return true;
}
