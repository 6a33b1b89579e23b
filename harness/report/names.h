// SPDX-License-Identifier: Apache-2.0
// A list of texts, each once, in order of first appearance. A zeroed list is empty.
#ifndef LG_REPORT_NAMES_H
#define LG_REPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lg_names {
    char **items;
    size_t n;
} lg_names;

bool lg_names_has(const lg_names *list, const char *name);
void lg_names_add(lg_names *list, const char *name);
void lg_names_free(lg_names *list);

#endif
