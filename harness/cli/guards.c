// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "guards/guards.h"
#include "support/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double percent(int64_t part, int64_t whole) {
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_share(int width, int64_t part, int64_t whole) {
    char text[32];
    if (whole == 0) {
        snprintf(text, sizeof(text), "-");
    } else {
        snprintf(text, sizeof(text), "%.1f%%", percent(part, whole));
    }
    printf(" %*s", width, text);
}

static void print_guard(const lg_guard_study *study, lg_guard guard) {
    const lg_guard_score *score = &study->guards[guard];
    lg_guard_tally labels = lg_guard_sum(score, true);
    lg_guard_tally other = lg_guard_sum(score, false);
    const lg_guard_clean *clean = &score->clean;
    printf("%-23s", lg_guard_name(guard));
    print_share(8, labels.detected, labels.n);
    print_share(6, labels.rows_exact, labels.n);
    print_share(6, labels.cause_right, labels.n);
    print_share(6, labels.cause_wrong, labels.n);
    print_share(6, labels.right, labels.n);
    print_share(6, labels.silent, labels.n);
    print_share(6, labels.left, labels.n);
    print_share(7, other.detected, other.n);
    print_share(7, clean->false_alarms, clean->n);
    print_share(6, clean->silent, clean->n);
    print_share(6, clean->broken, clean->n);
    if (isnan(score->ns_per_label)) {
        printf(" %6s %6s\n", "-", "-");
    } else {
        printf(" %6.2f %5.1fx\n", score->ns_per_label,
               score->ns_per_label / study->read_ns_per_label);
    }
}

static void print_study(const lg_guard_study *study) {
    lg_guard_tally labels = lg_guard_sum(&study->guards[0], true);
    printf("%" PRId64 " batches with a fault (%" PRId64 " with one in the labels), %" PRId64
           " without, %" PRId64 " scenario points left out\n\n",
           study->n_faulty, labels.n, study->n_clean, study->n_inapplicable);
    printf("%-23s %-52s %7s %-21s %s\n", "", "faults in the labels", "other", "clean batches",
           "ns a label");
    printf("%-23s %8s %6s %6s %6s %6s %6s %6s %7s %7s %6s %6s %6s %6s\n", "guard", "detected",
           "rows", "cause", "wrong", "right", "silent", "left", "faults", "alarms", "silent",
           "broken", "", "/read");
    for (int g = 0; g < LG_N_GUARDS; g++) {
        print_guard(study, (lg_guard)g);
    }
    puts("\ndetected  it signalled before the loss\n"
         "rows      and named exactly the rows that the loss cannot take\n"
         "cause     and its message names the fault; wrong: it names another one\n"
         "right     no signal, and the loss is that of the clean batch: repaired, or no harm done\n"
         "silent    no signal, every label is valid, and the loss is another number than it should "
         "be\n"
         "left      no signal, and labels that the loss cannot take go on to the kernel: one "
         "without\n"
         "          asserts returns a number for them\n"
         "alarms    a clean batch was refused\n"
         "broken    the guard made labels of a clean batch invalid or its loss infinite or NaN;\n"
         "          silent: it made the loss another number (label_smoothing means to)\n"
         "/read     times what reading the labels takes; - is no pass over the labels on the host");
}

static json_t *tally_json(const lg_guard_tally *t) {
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "n", (json_int_t)t->n, "detected",
                     (json_int_t)t->detected, "rows_exact", (json_int_t)t->rows_exact,
                     "cause_right", (json_int_t)t->cause_right, "cause_wrong",
                     (json_int_t)t->cause_wrong, "right", (json_int_t)t->right, "silent",
                     (json_int_t)t->silent, "left", (json_int_t)t->left);
}

static json_t *guard_json(const lg_guard_study *study, lg_guard guard) {
    const lg_guard_score *score = &study->guards[guard];
    lg_guard_tally labels = lg_guard_sum(score, true);
    lg_guard_tally other = lg_guard_sum(score, false);
    json_t *causes = json_object();
    for (int c = LG_CAUSE_NONE + 1; c < LG_N_CAUSES; c++) {
        if (score->by_cause[c].n > 0) {
            json_object_set_new(causes, lg_cause_name((lg_cause)c),
                                tally_json(&score->by_cause[c]));
        }
    }
    json_t *object =
        json_pack("{s:s,s:s,s:o,s:o,s:o,s:{s:I,s:I,s:I,s:I}}", "name", lg_guard_name(guard), "help",
                  lg_guard_help(guard), "label_faults", tally_json(&labels), "other_faults",
                  tally_json(&other), "by_cause", causes, "clean", "n", (json_int_t)score->clean.n,
                  "false_alarms", (json_int_t)score->clean.false_alarms, "silent",
                  (json_int_t)score->clean.silent, "broken", (json_int_t)score->clean.broken);
    bool measured = !isnan(score->ns_per_label);
    json_object_set_new(object, "ns_per_label",
                        measured ? json_real(score->ns_per_label) : json_null());
    json_object_set_new(object, "times_reading",
                        measured ? json_real(score->ns_per_label / study->read_ns_per_label)
                                 : json_null());
    return object;
}

static bool write_json(const lg_guard_study *study, const char *folder, lg_diags *diags) {
    if (!lg_make_folder(folder, diags)) {
        return false;
    }
    json_t *guards = json_array();
    for (int g = 0; g < LG_N_GUARDS; g++) {
        json_array_append_new(guards, guard_json(study, (lg_guard)g));
    }
    json_t *root =
        json_pack("{s:I,s:I,s:I,s:f,s:o}", "n_faulty", (json_int_t)study->n_faulty, "n_clean",
                  (json_int_t)study->n_clean, "n_inapplicable", (json_int_t)study->n_inapplicable,
                  "read_ns_per_label", study->read_ns_per_label, "guards", guards);
    char *path = lg_xasprintf("%s/guards.json", folder);
    bool ok = json_dump_file(root, path, JSON_INDENT(1)) == 0;
    if (!ok) {
        lg_error(diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
    }
    free(path);
    json_decref(root);
    return ok;
}

int lg_verb_guards(const lg_cli *cli) {
    lg_diags diags = {0};
    lg_scenarios scenarios;
    bool ok = lg_scenarios_load(cli, &cli->words, &scenarios, &diags);
    lg_guard_study *study = lg_xcalloc(1, sizeof(*study));
    study->seed = cli->has_seed ? cli->seed : 0;
    for (int64_t s = 0; ok && s < scenarios.n; s++) {
        for (int64_t i = 0; i < scenarios.sets[s].n; i++) {
            ok = lg_guard_study_add(study, &scenarios.sets[s].items[i], &diags) && ok;
        }
    }
    int status = LG_EXIT_USAGE;
    if (ok && study->n_faulty + study->n_clean == 0) {
        fputs("lossgate guards: no scenario has class labels: nothing was proven\n", stderr);
        status = LG_EXIT_NOTHING_PROVEN;
    } else if (ok) {
        lg_guard_study_measure(study);
        print_study(study);
        fflush(stdout);
        bool wants_file = cli->out && *cli->out;
        status = !wants_file || write_json(study, cli->out, &diags) ? LG_EXIT_OK : LG_EXIT_USAGE;
    }
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    free(study);
    lg_scenarios_free(&scenarios);
    return status;
}
