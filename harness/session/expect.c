// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include "support/alloc.h"
#include "support/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Without a supervised row, or with a NaN among the logits, the loss is defined (it is NaN where
// IEEE arithmetic says so): kernels may run, and the finding is what must not be missing. Where a
// loss does refuse such a batch (a NaN probability), being detected is right; the judge knows which
// is the case.
static bool is_defined(lg_cause cause) {
    return cause == LG_CAUSE_NO_SUPERVISED_ROW || cause == LG_CAUSE_NONFINITE_LOGITS;
}

static bool has_real_fault(const lg_scenario *scenario) {
    for (int i = 0; i < scenario->n_faults; i++) {
        if (!is_defined(scenario->faults[i].kind)) {
            return true;
        }
    }
    return false;
}

static bool is_graded_right(lg_attribution attribution) {
    return attribution == LG_ATTRIBUTION_EXACT || attribution == LG_ATTRIBUTION_AMBIGUOUS;
}

static void add_part(lg_str *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_part(lg_str *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = lg_xvasprintf(format, args);
    va_end(args);
    lg_str_add(out, out->n > 0 ? "; " : "");
    lg_str_add(out, text);
    free(text);
}

static void check_verdict(const lg_case_result *result, lg_str *wanted, lg_str *differs) {
    const lg_scenario *scenario = result->what->scenario;
    lg_verdict found = result->judged.verdict;
    const char *want;
    bool holds;
    if (scenario->expect.has_verdict) {
        want = lg_verdict_name(scenario->expect.verdict);
        holds = found == scenario->expect.verdict;
    } else if (!has_real_fault(scenario)) {
        bool may_detect = scenario->n_faults > 0;
        want = may_detect ? "pass or detected" : "pass";
        holds = found == LG_PASS || (may_detect && found == LG_DETECTED);
    } else if (result->what->kernel->policy != LG_POLICY_NONE) {
        want = "detected";
        holds = found == LG_DETECTED;
    } else {
        // Nothing guards this kernel; a NaN that the arithmetic itself made is no corruption
        // either.
        want = "silent_corruption or memory_fault";
        holds = found == LG_SILENT_CORRUPTION || found == LG_MEMORY_FAULT ||
                (found == LG_DETECTED && result->judged.detected_by == LG_DETECTOR_NAN);
    }
    lg_str_add(wanted, want);
    if (!holds) {
        add_part(differs, "expected %s, found %s", want, lg_verdict_name(found));
    }
}

static const char *certainty(const lg_finding *finding) {
    const char *name = lg_finding_certainty(finding);
    return name ? name : "nothing concluded";
}

static void check_cause(const lg_case_result *result, lg_str *wanted, lg_str *differs) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_finding *finding = &result->finding;
    if (!expect->has_cause) {
        return;
    }
    lg_str_printf(wanted, ", cause %s", lg_cause_name(expect->cause));
    bool named = finding->cause == expect->cause || lg_finding_names(finding, expect->cause);
    if (!named) {
        add_part(differs, "expected cause %s, found %s (%s)", lg_cause_name(expect->cause),
                 lg_cause_name(finding->cause), certainty(finding));
    }
}

// Every one of them is named, whatever else is.
static void check_causes(const lg_case_result *result, lg_str *wanted, lg_str *differs) {
    const lg_finding *finding = &result->finding;
    lg_cause_set causes = result->what->scenario->expect.causes;
    for (int i = LG_CAUSE_NONE + 1; i < LG_N_CAUSES; i++) {
        const char *name = lg_cause_name((lg_cause)i);
        if (!(causes & LG_CAUSE_BIT(i))) {
            continue;
        }
        lg_str_printf(wanted, ", cause %s", name);
        if (!lg_finding_names(finding, (lg_cause)i)) {
            add_part(differs, "expected cause %s to be named, found %s (%s)", name,
                     lg_cause_name(finding->cause), certainty(finding));
        }
    }
}

static bool contains(const char *text, const char *part) {
    return text && strstr(text, part);
}

// The advice and the evidence are those of the causes that the finding names.
static void check_words(const lg_case_result *result, lg_str *differs) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_finding *finding = &result->finding;
    bool advised = !expect->advice;
    bool shown = !expect->evidence || contains(finding->headline, expect->evidence) ||
                 contains(result->judged.text, expect->evidence);
    for (int i = 0; i < finding->n_named && i < finding->n_hypotheses; i++) {
        const lg_hypothesis *h = &finding->hypotheses[i];
        advised = advised || contains(h->advice, expect->advice);
        shown = shown || contains(h->evidence, expect->evidence);
    }
    const lg_hypothesis *first = finding->n_hypotheses > 0 ? &finding->hypotheses[0] : NULL;
    if (!advised) {
        add_part(differs, "expected advice with '%s', found %s", expect->advice,
                 first && first->advice ? first->advice : "none");
    }
    if (!shown) {
        add_part(differs, "expected evidence with '%s', found %s", expect->evidence,
                 first && first->evidence ? first->evidence
                 : finding->headline      ? finding->headline
                 : result->judged.text    ? result->judged.text
                                          : "none");
    }
}

static void check_where(const lg_case_result *result, lg_str *differs) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_observation *seen = &result->observation;
    const char *surfaced = seen->refused_on_host ? "host_check"
                           : seen->surfaced_at   ? seen->surfaced_at
                                                 : "none";
    const char *failed = seen->failed_launch ? seen->failed_launch : "none";
    if (expect->surfaced_at && !lg_glob_match(expect->surfaced_at, surfaced)) {
        add_part(differs, "expected the error to surface at %s, found %s", expect->surfaced_at,
                 surfaced);
    }
    if (expect->failed_launch && !lg_glob_match(expect->failed_launch, failed)) {
        add_part(differs, "expected %s to be the failed launch, found %s", expect->failed_launch,
                 failed);
    }
}

static bool is_as_asked(double got, double want, double tolerance) {
    return isnan(want) ? isnan(got) : got == want || fabs(got - want) <= tolerance;
}

static void check_loss(const lg_case_result *result, lg_str *differs) {
    const lg_expect *expect = &result->what->scenario->expect;
    int64_t n = expect->loss.n;
    if (n > 0 && result->n_loss != n) {
        add_part(differs, "expected %" PRId64 " loss%s, found %" PRId64, n, n == 1 ? "" : "es",
                 result->n_loss);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double want = expect->loss.items[i];
        if (!is_as_asked(result->loss[i], want, expect->loss_tolerance)) {
            add_part(differs, "expected loss %.9g in place %" PRId64 ", found %.9g", want, i,
                     result->loss[i]);
            return;
        }
    }
}

static void add_rows(lg_str *out, int64_t n, const int64_t *rows) {
    lg_str_printf(out, "%" PRId64 " row%s", n, n == 1 ? "" : "s");
    for (int64_t i = 0; i < n && i < 8; i++) {
        lg_str_printf(out, "%s%" PRId64, i ? " " : ": ", rows[i]);
    }
    if (n > 8) {
        lg_str_add(out, " …");
    }
}

static void check_rows(const lg_case_result *result, lg_str *wanted, lg_str *differs) {
    const lg_expect *expect = &result->what->scenario->expect;
    const lg_finding *finding = &result->finding;
    if (!expect->has_rows) {
        return;
    }
    lg_str want = {0};
    lg_str got = {0};
    add_rows(&want, expect->rows.n, expect->rows.items);
    add_rows(&got, finding->n_rows, finding->rows);
    lg_str_printf(wanted, ", %s", lg_str_text(&want));
    bool same = expect->rows.n == finding->n_rows;
    for (int64_t i = 0; same && i < finding->n_rows; i++) {
        same = finding->rows[i] == expect->rows.items[i];
    }
    if (!same) {
        add_part(differs, "expected %s, found %s", lg_str_text(&want), lg_str_text(&got));
    }
    lg_str_free(&want);
    lg_str_free(&got);
}

static void check_attribution(const lg_case_result *result, lg_str *wanted, lg_str *differs) {
    const lg_scenario *scenario = result->what->scenario;
    const lg_expect *expect = &scenario->expect;
    const char *found = lg_attribution_name(result->attribution);
    const char *cause = lg_cause_name(result->finding.cause);
    if (expect->has_attribution) {
        lg_str_printf(wanted, ", attribution %s", lg_attribution_name(expect->attribution));
        if (result->attribution != expect->attribution) {
            add_part(differs, "expected attribution %s, found %s (%s)",
                     lg_attribution_name(expect->attribution), found, cause);
        }
        return;
    }
    // An expected cause or verdict takes the place of the default about the diagnosis.
    if (expect->has_cause || expect->causes || expect->has_verdict) {
        return;
    }
    if (scenario->n_faults == 0) {
        if (result->attribution != LG_ATTRIBUTION_NONE) {
            add_part(differs, "expected no diagnosis, found %s", cause);
        }
        return;
    }
    if (result->what->kernel->policy == LG_POLICY_NONE) {
        return;
    }
    lg_str_add(wanted, ", cause ");
    for (int i = 0; i < scenario->n_faults; i++) {
        lg_str_printf(wanted, "%s%s", i ? "+" : "", lg_cause_name(scenario->faults[i].kind));
    }
    if (!is_graded_right(result->attribution)) {
        add_part(differs, "expected attribution exact or ambiguous, found %s (%s)", found, cause);
    }
}

void lg_expect_check(lg_case_result *result, lg_arena *arena) {
    lg_str wanted = {0};
    lg_str differs = {0};
    check_verdict(result, &wanted, &differs);
    const lg_expect *expect = &result->what->scenario->expect;
    bool fails_as_expected = expect->has_verdict && expect->verdict == LG_UNTESTED &&
                             result->judged.reason == LG_REASON_COLUMN_FAILED;
    if (result->judged.verdict == LG_UNTESTED && !fails_as_expected) {
        // Nothing was shown, whatever was expected: unless that a build proves nothing is the
        // point.
        lg_str_clear(&differs);
        add_part(&differs, "expected %s, found untested", lg_str_text(&wanted));
    } else if (fails_as_expected) {
        lg_str_add(&wanted, ": the build fails its self-proof");
    } else if (result->judged.verdict == LG_SKIPPED && expect->has_verdict &&
               expect->verdict == LG_SKIPPED) {
        check_cause(result, &wanted, &differs);
        check_words(result, &differs);
        check_where(result, &differs);
    } else if (result->judged.verdict == LG_SKIPPED) {
        // A kernel that a scenario names must show what it expects; one that merely matched need
        // not.
        if (!expect->has_verdict || result->what->scenario->kernels.n == 0) {
            lg_str_clear(&differs);
        }
    } else {
        check_cause(result, &wanted, &differs);
        check_causes(result, &wanted, &differs);
        check_words(result, &differs);
        check_where(result, &differs);
        check_loss(result, &differs);
        check_rows(result, &wanted, &differs);
        check_attribution(result, &wanted, &differs);
    }
    result->as_expected = differs.n == 0;
    result->expectation =
        lg_arena_strdup(arena, result->as_expected ? lg_str_text(&wanted) : lg_str_text(&differs));
    lg_str_free(&wanted);
    lg_str_free(&differs);
}
