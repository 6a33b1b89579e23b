// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them.
#ifndef LG_SUPPORT_PLAIN_H
#define LG_SUPPORT_PLAIN_H

#include <math.h>

// printf shows the sign of a NaN, which means nothing: "-nan" is "nan" behind this.
static inline double lg_plain(double x) {
    return isnan(x) ? (double)NAN : x;
}

#endif
