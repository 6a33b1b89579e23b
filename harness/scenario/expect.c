// SPDX-License-Identifier: Apache-2.0
// The `expect` section: its number or list of numbers, what cannot be meant, and how it is written.
#include "scenario/internal.h"

#include <inttypes.h>

LG_CUSTOM(lg_read_expected_loss) {
    (void)field;
    lg_scenario *scenario = object;
    bool is_list = value->kind == LG_YAML_LIST;
    if (is_list && value->n == 0) {
        return lg_yaml_error(binder->doc, value, binder->diags, "%s is an empty list", what);
    }
    int64_t n = is_list ? value->n : 1;
    double *numbers = lg_arena_array(binder->arena, (size_t)n, sizeof(*numbers));
    bool ok = true;
    for (int64_t i = 0; i < n; i++) {
        ok &= lg_bind_real(binder, is_list ? value->items[i] : value, what, &numbers[i]);
    }
    if (ok) {
        scenario->expect.loss = (lg_f64_list){.n = n, .items = numbers};
    }
    return ok;
}

static void check_causes(lg_scenario_reader *reader) {
    const lg_expect *expect = &reader->scenario->expect;
    if (!expect->causes) {
        return;
    }
    if (expect->has_cause) {
        lg_scenario_error(reader, "expect.causes",
                          "expect.cause and expect.causes are both given; list it in causes");
    }
    if (expect->has_verdict && expect->verdict == LG_PASS) {
        lg_scenario_error(reader, "expect.causes",
                          "expect.verdict is pass, but expect.causes names causes");
    }
}

void lg_scenario_check_expect(lg_scenario_reader *reader) {
    const lg_expect *expect = &reader->scenario->expect;
    bool nothing_wrong = expect->has_cause && expect->cause == LG_CAUSE_NONE;
    if (expect->has_verdict && expect->verdict == LG_PASS && expect->has_cause && !nothing_wrong) {
        lg_scenario_error(reader, "expect.cause", "expect.verdict is pass, but expect.cause is %s",
                          lg_cause_name(expect->cause));
    }
    check_causes(reader);
    if (expect->has_rows && expect->rows.n && nothing_wrong) {
        lg_scenario_error(reader, "expect.rows",
                          "expect.rows names rows, but expect.cause is none");
    }
    if (expect->advice && nothing_wrong) {
        lg_scenario_error(reader, "expect.advice",
                          "expect.advice is given, but expect.cause is none");
    }
    if (lg_scenario_has(reader, "expect.loss_tolerance") &&
        !lg_scenario_has(reader, "expect.loss")) {
        lg_scenario_error(reader, "expect.loss_tolerance",
                          "expect.loss_tolerance is given without expect.loss");
    }
    for (int64_t i = 1; expect->has_rows && i < expect->rows.n; i++) {
        if (expect->rows.items[i] <= expect->rows.items[i - 1]) {
            lg_scenario_error(
                reader, "expect.rows", "expect.rows is not ascending: %lld, then %lld",
                (long long)expect->rows.items[i - 1], (long long)expect->rows.items[i]);
            return;
        }
    }
}

static void write_words(lg_str *out, const char *key, const char *text) {
    if (text) {
        lg_str_printf(out, "  %s: ", key);
        lg_write_text(out, text);
        lg_str_add(out, "\n");
    }
}

static void write_loss(lg_str *out, const lg_expect *expect) {
    if (expect->loss.n == 0) {
        return;
    }
    lg_str_add(out, "  loss: [");
    for (int64_t i = 0; i < expect->loss.n; i++) {
        lg_str_add(out, i ? ", " : "");
        lg_write_number(out, expect->loss.items[i]);
    }
    lg_str_add(out, "]\n  loss_tolerance: ");
    lg_write_number(out, expect->loss_tolerance);
    lg_str_add(out, "\n");
}

void lg_write_expect(lg_str *out, const lg_expect *expect) {
    lg_str body = {0};
    if (expect->has_cause) {
        lg_str_printf(&body, "  cause: %s\n", lg_cause_name(expect->cause));
    }
    size_t n;
    lg_write_set(&body, "causes", expect->causes, lg_cause_names(&n));
    if (expect->has_verdict) {
        lg_str_printf(&body, "  verdict: %s\n", lg_verdict_name(expect->verdict));
    }
    if (expect->has_rows) {
        lg_write_ints(&body, "  rows", expect->rows);
        lg_str_add(&body, "\n");
    }
    if (expect->has_attribution) {
        lg_str_printf(&body, "  attribution: %s\n", lg_attribution_name(expect->attribution));
    }
    write_words(&body, "advice", expect->advice);
    write_words(&body, "evidence", expect->evidence);
    write_words(&body, "surfaced_at", expect->surfaced_at);
    write_words(&body, "failed_launch", expect->failed_launch);
    write_loss(&body, expect);
    if (body.n) {
        lg_str_printf(out, "expect:\n%s", body.text);
    }
    lg_str_free(&body);
}
