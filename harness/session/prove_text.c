// SPDX-License-Identifier: Apache-2.0
#include "session/internal.h"

#include "support/str.h"

// What a policy promises for a bad batch.
static const char *wanted(const lg_trials *trials) {
    switch (trials->kernel->policy) {
    case LG_POLICY_ASSERT:
        return "a device-side assert (error 710) with its line";
    case LG_POLICY_REPORT:
        return "NaN and a right fault record of each bad row";
    case LG_POLICY_NAN:
        return "NaN for the bad rows and no others";
    case LG_POLICY_NONE:
        return "a wrong number, NaN or a bad access";
    case LG_POLICY_UNSET:
    case LG_N_POLICIES:
        break;
    }
    return "a signal";
}

static void add_list(lg_str *text, const char *title, const lg_trials *trials, bool caught) {
    const char *separator = title;
    for (int f = LG_PROOF_CLEAN + 1; f < LG_N_PROOF_FAULTS; f++) {
        if (trials->of[f].ran && trials->of[f].invalid && trials->of[f].caught == caught) {
            lg_str_printf(text, "%s%s", separator, lg_proof_fault_text((lg_proof_fault)f));
            separator = ", ";
        }
    }
}

static bool any_caught(const lg_trials *trials) {
    for (int f = LG_PROOF_CLEAN + 1; f < LG_N_PROOF_FAULTS; f++) {
        if (trials->of[f].caught) {
            return true;
        }
    }
    return false;
}

// Why nothing at all was signalled, or NULL when something was.
static const char *silence(const lg_trials *trials) {
    for (int f = LG_PROOF_CLEAN + 1; f < LG_N_PROOF_FAULTS; f++) {
        if (trials->of[f].ran && (trials->of[f].caught || trials->of[f].signalled)) {
            return NULL;
        }
    }
    switch (trials->kernel->policy) {
    case LG_POLICY_ASSERT:
        return "its asserts are compiled out, missing or never reached";
    case LG_POLICY_REPORT:
        return "it writes no fault record";
    case LG_POLICY_NAN:
        return "it answers no bad value with NaN";
    case LG_POLICY_NONE:
    case LG_POLICY_UNSET:
    case LG_N_POLICIES:
        break;
    }
    return NULL;
}

static const char *first_text(const lg_trials *trials, bool guard) {
    for (int f = LG_PROOF_CLEAN + 1; f < LG_N_PROOF_FAULTS; f++) {
        const lg_trial *t = &trials->of[f];
        if (guard ? t->guard != NULL : t->load != NULL) {
            return guard ? t->guard : t->load;
        }
    }
    return NULL;
}

const char *lg_proof_failure_text(const lg_trials *trials, lg_proof_fault first, lg_arena *arena) {
    const lg_trial *t = &trials->of[first];
    lg_str text = {0};
    lg_str_printf(&text, "the built-in bad batch (%s, %s) gave %s", lg_proof_fault_text(first),
                  trials->direction == LG_BACKWARD ? "backward" : "forward",
                  lg_verdict_name(t->judgement.verdict));
    if (t->judgement.text) {
        lg_str_printf(&text, ": %s", t->judgement.text);
    }
    lg_str_printf(&text, "; policy %s promises %s", lg_policy_name(trials->kernel->policy),
                  wanted(trials));
    const char *nothing = silence(trials);
    if (nothing) {
        lg_str_printf(&text, "; this %s detects nothing: %s",
                      trials->direction == LG_BACKWARD ? "backward pass" : "build", nothing);
    } else if (any_caught(trials)) {
        add_list(&text, "; missed: ", trials, false);
        add_list(&text, "; caught: ", trials, true);
    } else {
        lg_str_add(&text, "; nor was another bad batch caught");
    }
    if (t->status == LG_STATUS_TRAP) {
        lg_str_add(&text, "; a trap ends the launch without naming anything");
    }
    const char *guard = first_text(trials, true);
    const char *load = first_text(trials, false);
    if (guard) {
        lg_str_printf(&text, "; the guard is %s", guard);
    }
    if (load) {
        lg_str_printf(&text, "; a bad label reads past %s", load);
    }
    const char *kept = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}
