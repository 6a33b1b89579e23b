// SPDX-License-Identifier: Apache-2.0
// Counted lists whose items belong to somebody's arena.
#ifndef LG_SUPPORT_LISTS_H
#define LG_SUPPORT_LISTS_H

#include <stdint.h>

typedef struct lg_i64_list {
    int64_t n;
    int64_t *items; // NULL when n is 0
} lg_i64_list;

typedef struct lg_f64_list {
    int64_t n;
    double *items;
} lg_f64_list;

typedef struct lg_str_list {
    int64_t n;
    const char **items;
} lg_str_list;

#endif
