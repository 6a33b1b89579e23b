// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

bool lg_names_has(const lg_names *list, const char *name) {
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i], name) == 0) {
            return true;
        }
    }
    return false;
}

void lg_names_add(lg_names *list, const char *name) {
    if (!lg_names_has(list, name)) {
        list->items = lg_xrealloc(list->items, (list->n + 1) * sizeof(*list->items));
        list->items[list->n++] = lg_xstrdup(name);
    }
}

void lg_names_free(lg_names *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i]);
    }
    free(list->items);
    *list = (lg_names){0};
}
