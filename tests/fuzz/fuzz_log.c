// SPDX-License-Identifier: Apache-2.0
// Any bytes as a training log, in pieces whose sizes the bytes decide: the finding is the same as
// in one piece, its text has no control characters, and a scenario made of it can be read.
#include "explain/explain.h"
#include "scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_log(const uint8_t *data, size_t n, size_t piece, lg_log_finding *out) {
    lg_log_reader *reader = lg_log_open();
    for (size_t at = 0; at < n; at += piece) {
        lg_log_feed(reader, (const char *)data + at, n - at < piece ? n - at : piece);
    }
    lg_log_finish(reader, out);
    lg_log_free(reader);
}

static void check_text(const lg_log_finding *finding) {
    lg_str text = {0};
    lg_log_finding_text(finding, "log", &text);
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.text[i] < 0x20 && text.text[i] != '\n') {
            abort();
        }
    }
    lg_str_free(&text);
}

static void check_scenario(const lg_log_finding *finding) {
    lg_str text = {0};
    if (lg_log_scenario(finding, "log", &text)) {
        lg_read_options options = {0};
        lg_scenario_set set = {0};
        lg_diags diags = {0};
        if (!lg_scenario_read_text("s.yaml", text.text, text.n, &options, &set, &diags)) {
            lg_diags_print(&diags, stderr);
            abort();
        }
        lg_scenario_set_free(&set);
        lg_diags_free(&diags);
    }
    lg_str_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    lg_log_finding whole;
    lg_log_finding pieces;
    read_log(data, n, n ? n : 1, &whole);
    read_log(data, n, n ? data[0] + 1u : 1, &pieces);
    if (whole.conclusion != pieces.conclusion || whole.n_groups != pieces.n_groups ||
        whole.n_lines != pieces.n_lines || whole.primary != pieces.primary ||
        whole.n_guesses != pieces.n_guesses) {
        abort();
    }
    check_text(&whole);
    check_scenario(&whole);
    lg_log_finding_free(&whole);
    lg_log_finding_free(&pieces);
    return 0;
}
