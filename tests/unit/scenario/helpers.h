// SPDX-License-Identifier: Apache-2.0
// Reading scenarios from text in tests.
#ifndef LG_TESTS_SCENARIO_HELPERS_H
#define LG_TESTS_SCENARIO_HELPERS_H

#include "scenario/scenario.h"
#include "unit/testing.h"

#include <stdlib.h>
#include <string.h>

static inline char *diags_text(const lg_diags *diags) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    lg_diags_print(diags, out);
    fclose(out);
    return text;
}

// Reads a text that must be valid; prints the errors when it is not.
static inline bool read_valid(const char *name, const char *text, lg_scenario_set *set) {
    lg_diags diags = {0};
    bool ok = lg_scenario_read_text("test.yaml", text, strlen(text), NULL, set, &diags);
    if (!ok) {
        char *shown = diags_text(&diags);
        fprintf(stderr, "\n    '%s':\n%s", name, shown);
        free(shown);
    }
    lg_diags_free(&diags);
    return ok;
}

#endif
