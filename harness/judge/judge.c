// SPDX-License-Identifier: Apache-2.0
// The verdict on a case: that on its run, or on what was seen beside a run that passes.
#include "judge/judge.h"

#include "support/plain.h"

// A kernel may be right for labels that were misread on their way: every label is in range, the
// loss is plausible, and it is not the loss of the data. `found` gets the first such number.
static bool is_misread(const lg_case_facts *facts, lg_arena *arena, lg_judgement *found) {
    const lg_run_facts *run = &facts->run;
    const lg_reference *intended = facts->intended;
    const lg_output *loss = lg_observation_output(run->observation, LG_ARG_OUTPUT);
    if (!intended || !loss || !loss->values || loss->n != intended->n_loss) {
        return false;
    }
    lg_quantity quantity = intended->scalar ? LG_Q_LOSS : LG_Q_ROW_LOSS;
    for (int64_t i = 0; i < loss->n; i++) {
        double got = loss->values[i];
        double want = intended->loss[i];
        double bound = lg_tolerance(facts->given, intended, quantity, i, want);
        if (!(lg_compare(got, want, bound, run->batch->input.dtype) <= 1)) {
            *found =
                (lg_judgement){.verdict = LG_SILENT_CORRUPTION,
                               .reason = LG_REASON_MISREAD_LABELS,
                               .output = LG_ARG_OUTPUT,
                               .got = got,
                               .want = want,
                               .text = lg_arena_printf(arena,
                                                       "no signal, and the labels are not those "
                                                       "meant: the loss is %.9g, right is %.9g",
                                                       lg_plain(got), lg_plain(want))};
            return true;
        }
    }
    return false;
}

// Nothing of a batch whose last axis is as long as its class axis shows which is which.
static bool is_square(const lg_batch *batch) {
    int last = batch->input.rank - 1;
    return !lg_batch_is_binary(batch) && last >= 2 &&
           batch->input.shape[1] == batch->input.shape[last];
}

// The verdict on a case whose own run passes.
static lg_judgement judge_beside_run(const lg_case_facts *facts, lg_arena *arena) {
    lg_judgement found = {.verdict = LG_PASS, .output = LG_N_ARGS};
    if (is_misread(facts, arena, &found)) {
        return found;
    }
    if (facts->senseless.cause != LG_CAUSE_NONE) {
        found.verdict = LG_SILENT_CORRUPTION;
        found.reason = LG_REASON_SENSELESS;
        found.text =
            lg_arena_printf(arena, "no signal, and a loss that is none: %s", facts->senseless.text);
        return found;
    }
    if (facts->relation.broken) {
        return facts->relation.judgement;
    }
    if (is_square(facts->given)) {
        found.reason = LG_REASON_SQUARE;
        found.text = lg_arena_printf(
            arena, "axis %d cannot be told from the class axis: both have %lld elements",
            facts->given->input.rank - 1, (long long)facts->given->input.shape[1]);
    }
    return found;
}

lg_judgement lg_judge(const lg_case_facts *facts, lg_arena *arena) {
    if (facts->run_shows.verdict != LG_PASS) {
        return facts->run_shows;
    }
    lg_judgement judgement = judge_beside_run(facts, arena);
    judgement.max_error_share = facts->run_shows.max_error_share; // of the case's own run
    return judgement;
}
