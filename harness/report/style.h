// SPDX-License-Identifier: Apache-2.0
// The few colours of the text report; empty strings without a terminal or with NO_COLOR.
#ifndef LG_REPORT_STYLE_H
#define LG_REPORT_STYLE_H

#include <stdbool.h>

typedef enum lg_ink { LG_INK_PLAIN, LG_INK_GOOD, LG_INK_BAD, LG_INK_UNSURE, LG_INK_DIM } lg_ink;

static inline const char *lg_paint(bool color, lg_ink ink) {
    static const char *const codes[] = {
        [LG_INK_PLAIN] = "\x1b[0m",   [LG_INK_GOOD] = "\x1b[32m", [LG_INK_BAD] = "\x1b[31m",
        [LG_INK_UNSURE] = "\x1b[33m", [LG_INK_DIM] = "\x1b[2m",
    };
    return color ? codes[ink] : "";
}

#endif
