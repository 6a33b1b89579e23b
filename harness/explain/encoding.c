// SPDX-License-Identifier: Apache-2.0
// What the bytes of a log are: text as it is, UTF-16 as a Windows shell redirects it, or packed.
#include "explain/internal.h"

#include <string.h>

typedef struct magic {
    const char *bytes;
    size_t n;
    lg_log_encoding encoding;
    const char *unpack;
} magic;

// The first that fits counts.
static const magic magics[] = {
    {"\xef\xbb\xbf", 3, LG_LOG_PLAIN, NULL}, // the mark of UTF-8 is no part of the first line
    {"\xff\xfe", 2, LG_LOG_UTF16_LE, NULL},    {"\xfe\xff", 2, LG_LOG_UTF16_BE, NULL},
    {"\x1f\x8b", 2, LG_LOG_PACKED, "zcat"},    {"\x28\xb5\x2f\xfd", 4, LG_LOG_PACKED, "zstdcat"},
    {"\xfd\x37zX", 4, LG_LOG_PACKED, "xzcat"},
};

// One unit of UTF-16 as UTF-8; half of a pair as '?'. Returns the bytes written, at most 3.
static size_t put_unit(unsigned unit, char *out) {
    if (unit < 0x80) {
        out[0] = (char)unit;
        return 1;
    }
    if (unit >= 0xd800 && unit < 0xe000) {
        out[0] = '?';
        return 1;
    }
    size_t n = 0;
    if (unit < 0x800) {
        out[n++] = (char)(0xc0 | unit >> 6);
    } else {
        out[n++] = (char)(0xe0 | unit >> 12);
        out[n++] = (char)(0x80 | (unit >> 6 & 0x3f));
    }
    out[n++] = (char)(0x80 | (unit & 0x3f));
    return n;
}

static void feed_utf16(lg_log_reader *reader, const char *bytes, size_t n) {
    enum { UNITS = 4096 };
    char text[UNITS * 3];
    lg_log_decoder *d = &reader->decoder;
    bool little = d->encoding == LG_LOG_UTF16_LE;
    size_t at = 0;
    while (at < n) {
        size_t written = 0;
        for (; at < n && written + 3 <= sizeof text; at++) {
            unsigned byte = (unsigned char)bytes[at];
            d->odd = !d->odd;
            if (d->odd) {
                d->half = byte;
                continue;
            }
            written += put_unit(little ? byte << 8 | d->half : d->half << 8 | byte, text + written);
        }
        lg_log_feed_text(reader, text, written);
    }
}

static void feed_as(lg_log_reader *reader, const char *bytes, size_t n) {
    switch (reader->decoder.encoding) {
    case LG_LOG_UNDECIDED:
    case LG_LOG_PACKED:
        return;
    case LG_LOG_PLAIN:
        lg_log_feed_text(reader, bytes, n);
        return;
    case LG_LOG_UTF16_LE:
    case LG_LOG_UTF16_BE:
        feed_utf16(reader, bytes, n);
        return;
    }
}

void lg_log_decide(lg_log_reader *reader) {
    lg_log_decoder *d = &reader->decoder;
    if (d->encoding != LG_LOG_UNDECIDED) {
        return;
    }
    size_t skip = 0;
    d->encoding = LG_LOG_PLAIN;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const magic *m = &magics[i];
        if (d->n_held >= m->n && memcmp(d->held, m->bytes, m->n) == 0) {
            d->encoding = m->encoding;
            d->unpack = m->unpack;
            skip = m->n;
            break;
        }
    }
    feed_as(reader, d->held + skip, d->n_held - skip);
}

void lg_log_feed(lg_log_reader *reader, const char *bytes, size_t n) {
    lg_log_decoder *d = &reader->decoder;
    reader->n_bytes += (int64_t)n;
    while (n > 0 && d->n_held < sizeof d->held) {
        d->held[d->n_held++] = *bytes++;
        n--;
    }
    if (d->n_held < sizeof d->held) {
        return; // too few to tell; the end decides
    }
    lg_log_decide(reader);
    feed_as(reader, bytes, n);
}
