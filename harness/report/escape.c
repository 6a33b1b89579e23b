// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"

#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

// Length of the UTF-8 sequence at `p` and its code point; 0 when it is none (overlong, surrogate,
// beyond U+10FFFF, cut off).
static size_t sequence(const unsigned char *p, uint32_t *point) {
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n == 0) {
        return 0;
    }
    const uint32_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t value = p[0] & first_bits[n];
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2) { // also ends at the NUL
            return 0;
        }
        value = value << 6 | (p[i] & 0x3f);
    }
    bool surrogate = value >= 0xd800 && value <= 0xdfff;
    *point = value;
    return value < smallest[n] || value > 0x10ffff || surrogate ? 0 : n;
}

void lg_add_utf8(lg_str *out, const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        uint32_t point;
        size_t n = sequence(p, &point);
        if (n == 0) {
            lg_str_add(out, REPLACEMENT);
            p++;
            continue;
        }
        lg_str_add_n(out, (const char *)p, n);
        p += n;
    }
}

static const char *xml_entity(uint32_t point) {
    switch (point) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&apos;";
    case '\n':
        return "&#10;";
    case '\t':
        return "&#9;";
    default:
        // Of the control characters XML 1.0 allows tab, line feed and carriage return only.
        return point < 0x20 || point == 0xfffe || point == 0xffff ? REPLACEMENT : NULL;
    }
}

void lg_add_xml(lg_str *out, const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        uint32_t point;
        size_t n = sequence(p, &point);
        const char *entity = n == 0 ? REPLACEMENT : xml_entity(point);
        if (entity) {
            lg_str_add(out, entity);
        } else {
            lg_str_add_n(out, (const char *)p, n);
        }
        p += n ? n : 1;
    }
}
