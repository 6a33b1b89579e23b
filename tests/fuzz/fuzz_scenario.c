// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scenario file: points that can be written and read back as the same text, or
// errors that name a place.
#include "scenario/scenario.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool names_a_file(const lg_scenario *s) {
    const lg_array_spec *const specs[] = {&s->batch.logits, &s->batch.targets, &s->weight,
                                          &s->pos_weight, &s->grad_output};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        if (specs[i]->source == LG_ARRAY_FILE) {
            return true;
        }
    }
    return false;
}

// What was read is a scenario, and so is what is written of it.
static void check_point(const lg_scenario *point) {
    lg_str text = {0};
    lg_str again = {0};
    lg_scenario_write(point, &text);
    lg_scenario_set set;
    lg_diags diags = {0};
    if (!lg_scenario_read_text("copy.yaml", text.text, text.n, NULL, &set, &diags) || set.n != 1) {
        lg_diags_print(&diags, stderr);
        fprintf(stderr, "%s", text.text);
        abort();
    }
    lg_scenario_write(&set.items[0], &again);
    if (strcmp(text.text, again.text) != 0) {
        fprintf(stderr, "%s\n%s", text.text, again.text);
        abort();
    }
    lg_scenario_set_free(&set);
    lg_diags_free(&diags);
    lg_str_free(&text);
    lg_str_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    enum { MOST_BYTES = 4096, MOST_POINTS = 4 };
    if (n > MOST_BYTES) {
        return 0;
    }
    lg_scenario_set set;
    lg_diags diags = {0};
    bool ok = lg_scenario_read_text("fuzz.yaml", (const char *)data, n, NULL, &set, &diags);
    if (ok == (diags.n_errors > 0) || (ok && set.n < 1)) {
        abort();
    }
    for (size_t i = 0; i < diags.n; i++) {
        if (!diags.items[i].file || diags.items[i].line < 0 || diags.items[i].column < 0) {
            abort();
        }
    }
    for (int64_t i = 0; ok && i < set.n && i < MOST_POINTS; i++) {
        if (!names_a_file(&set.items[i])) {
            check_point(&set.items[i]);
        }
    }
    lg_scenario_set_free(&set);
    lg_diags_free(&diags);
    return 0;
}
