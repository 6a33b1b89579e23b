// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#ifndef LG_SUPPORT_PLAIN_H
#define LG_SUPPORT_PLAIN_H

#include <math.h>
#include <stdint.h>

// printf shows the sign of a NaN, which means nothing: "-nan" is "nan" behind this.
static inline double lg_plain(double x) {
    return isnan(x) ? (double)NAN : x;
}

// "1 case", "2 cases".
static inline const char *lg_s(int64_t n) {
    return n == 1 ? "" : "s";
}

#endif
