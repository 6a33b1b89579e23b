// SPDX-License-Identifier: Apache-2.0
#include "shrink/shrink.h"

#include "scenario/scenario.h"
#include "shrink/internal.h"

#include <string.h>

// Passes over all the stages; each can make room for the ones before it.
enum { MAX_PASSES = 4 };

static lg_str_list one_word(lg_arena *arena, const char *word) {
    lg_str_list list = {.n = 1, .items = lg_arena_array(arena, 1, sizeof(*list.items))};
    list.items[0] = lg_arena_strdup(arena, word);
    return list;
}

static lg_scenario pinned(const lg_scenario *scenario, const lg_shrink_options *options,
                          lg_arena *arena) {
    lg_scenario base = *scenario;
    base.kernels = one_word(arena, options->kernel->name);
    base.modes = one_word(arena, lg_mode_name(options->mode));
    base.expect = (lg_expect){0};
    base.point = "";
    return base;
}

static void shrink_literal(lg_shrinker *s) {
    bool smaller = true;
    for (int pass = 0; pass < MAX_PASSES && smaller; pass++) {
        smaller = lg_shrink_axes(s);
        smaller = lg_shrink_classes(s) || smaller;
        smaller = lg_shrink_options_away(s) || smaller;
        smaller = lg_shrink_values(s) || smaller;
    }
}

static void set_expectation(const lg_shrinker *s, lg_scenario *scenario) {
    lg_expect *expect = &scenario->expect;
    *expect = (lg_expect){0};
    for (int i = 0; i < s->seen.n_named; i++) {
        expect->causes |= LG_CAUSE_BIT(s->seen.named[i]);
    }
    // A bit for each cause that is named; one alone is a cause. A batch that is fine has neither.
    if ((expect->causes & (expect->causes - 1)) == 0) {
        expect->causes = 0;
        expect->has_cause = s->wanted.cause != LG_CAUSE_NONE;
        expect->cause = s->wanted.cause;
    }
    // A pass with a cause is a warning, which is what a batch without faults is expected to be.
    expect->has_verdict = s->wanted.judged.verdict != LG_PASS;
    expect->verdict = s->wanted.judged.verdict;
    expect->has_rows = s->seen.n_rows > 0;
    expect->rows = (lg_i64_list){.n = s->seen.n_rows, .items = s->seen.rows};
}

// What was found must hold for the text that is written, read again where it will be.
static bool verify(lg_shrinker *s, const lg_scenario *scenario, const char *outside,
                   lg_diags *diags) {
    const char *path = s->options->out_path ? s->options->out_path : "shrunk.yaml";
    lg_str text = {0};
    lg_scenario_write(scenario, &text);
    lg_scenario_set set = {0};
    lg_str_list allowed = s->options->allow_paths;
    lg_str_list with_outside = {
        .n = allowed.n + 1,
        .items = lg_arena_array(s->arena, (size_t)allowed.n + 1, sizeof(*allowed.items))};
    for (int64_t i = 0; i < allowed.n; i++) {
        with_outside.items[i] = allowed.items[i];
    }
    with_outside.items[allowed.n] = outside;
    lg_read_options options = {.allow_paths = outside ? with_outside : allowed};
    bool ok = lg_scenario_read_text(path, lg_str_text(&text), text.n, &options, &set, diags);
    if (ok) {
        int64_t max_runs = s->max_runs;
        s->max_runs = s->n_runs + 1;
        ok = set.n == 1 && lg_shrink_try_scenario(s, &set.items[0]) && s->seen.as_expected;
        s->max_runs = max_runs;
        if (!ok) {
            lg_error(diags, (lg_loc){.file = path},
                     "the shrunk scenario does not show the same when it is read again");
        }
    }
    lg_scenario_set_free(&set);
    lg_str_free(&text);
    return ok;
}

// What was shrunk: values if they are few enough, else the batch as it is made.
static void settle(lg_shrinker *s, lg_shrink_result *out) {
    if (s->literal) {
        shrink_literal(s);
    }
    if (s->literal && lg_tensor_numel(&s->batch.input) > LG_SHRINK_ELEMENTS) {
        s->literal = false; // rows of a file that go together: the file stays
        s->by_size = true;
        s->seen = s->wanted;
    }
    if (s->literal) {
        lg_shrink_literal(&s->batch, &s->base, &out->arena, &out->scenario);
        lg_shrink_short_decimals(&out->scenario);
    } else {
        out->scenario = s->base;
        out->outside = lg_shrink_rebase_files(&out->scenario, s->options->out_path, &out->arena);
    }
}

bool lg_shrink(const lg_scenario *scenario, const lg_shrink_options *options, lg_shrink_result *out,
               lg_diags *diags) {
    *out = (lg_shrink_result){0};
    lg_shrinker s = {.options = options,
                     .arena = &out->arena,
                     .max_runs = options->max_runs > 0 ? options->max_runs : LG_SHRINK_RUNS};
    s.base = pinned(scenario, options, &out->arena);
    const char *reason = NULL;
    bool ok = lg_shrink_look(&s, &s.base, &s.wanted, &reason);
    s.seen = s.wanted;
    if (!ok) {
        lg_error(diags, (lg_loc){.file = scenario->path}, "the case cannot be run: %s", reason);
    }
    out->nothing = ok && s.wanted.judged.verdict == LG_PASS && s.wanted.cause == LG_CAUSE_NONE;
    if (ok && !out->nothing) {
        lg_shrink_become_literal(&s);
        if (!s.literal) {
            lg_shrink_sizes(&s);
            lg_shrink_become_literal(&s);
        }
        settle(&s, out);
        out->scenario.title = lg_arena_printf(&out->arena, "Shrunk: %s", scenario->title);
        set_expectation(&s, &out->scenario);
        ok = verify(&s, &out->scenario, out->outside, diags);
    }
    out->literal = s.literal;
    out->by_size = s.literal && s.by_size;
    out->out_of_runs = lg_shrink_is_out_of_runs(&s);
    out->n_runs = s.n_runs;
    out->before = s.wanted;
    out->after = s.seen;
    lg_batch_free(&s.batch);
    return ok;
}

void lg_shrink_free(lg_shrink_result *result) {
    lg_arena_free(&result->arena);
    *result = (lg_shrink_result){0};
}
