// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "cli/list_reports.h"

#include "support/str.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

static void print_row(const char *name, const char *help) {
    printf("%-22s %s\n", name, help);
}

static int list_scenarios(const lg_cli *cli) {
    lg_diags diags = {0};
    lg_scenarios scenarios;
    lg_str_list paths = {.n = cli->words.n - 1, .items = cli->words.items + 1};
    bool ok = lg_scenarios_load(cli, &paths, &scenarios, &diags);
    for (int64_t i = 0; i < scenarios.n; i++) {
        const lg_scenario_set *set = &scenarios.sets[i];
        if (set->n > 0) {
            printf("%-36s %4" PRId64 "  %s\n", set->items[0].name, set->n, set->items[0].title);
        }
    }
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_scenarios_free(&scenarios);
    return ok ? LG_EXIT_OK : LG_EXIT_USAGE;
}

static int list_kernels(const lg_cli *cli) {
    lg_diags diags = {0};
    lg_kernel_set kernels;
    bool ok = lg_kernels_load(cli, &kernels, &diags);
    for (int64_t i = 0; i < kernels.n; i++) {
        const lg_kernel *kernel = &kernels.items[i];
        printf("%-46s %-7s %s\n", kernel->name, lg_policy_name(kernel->policy), kernel->manifest);
    }
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_kernel_set_free(&kernels);
    return ok ? LG_EXIT_OK : LG_EXIT_USAGE;
}

static int list_modes(const lg_cli *cli) {
    (void)cli;
    for (int m = LG_MODE_UNSET + 1; m < LG_N_MODES; m++) {
        print_row(lg_mode_name((lg_mode)m), lg_mode_help((lg_mode)m));
    }
    return LG_EXIT_OK;
}

// What a scenario can inject are the faults of the data; a kernel's own are causes only.
static int list_causes(bool with_kernel_faults) {
    for (int c = LG_CAUSE_NONE + 1; c < LG_N_CAUSES; c++) {
        if (with_kernel_faults || lg_cause_phase_of((lg_cause)c) == LG_PHASE_DATA) {
            print_row(lg_cause_name((lg_cause)c), lg_cause_help((lg_cause)c));
        }
    }
    return LG_EXIT_OK;
}

static int list_the_faults(const lg_cli *cli) {
    (void)cli;
    return list_causes(false);
}

static int list_all_causes(const lg_cli *cli) {
    (void)cli;
    return list_causes(true);
}

static int list_policies(const lg_cli *cli) {
    (void)cli;
    static const char *const helps[] = {
        "",
#define LG_POLICY(id, name, help) help,
#include "manifest/policy.def"
#undef LG_POLICY
    };
    for (int p = LG_POLICY_UNSET + 1; p < LG_N_POLICIES; p++) {
        print_row(lg_policy_name((lg_policy)p), helps[p]);
    }
    return LG_EXIT_OK;
}

static int list_verdicts(const lg_cli *cli) {
    (void)cli;
    for (int v = 0; v < LG_N_VERDICTS; v++) {
        print_row(lg_verdict_name((lg_verdict)v), lg_verdict_help((lg_verdict)v));
    }
    return LG_EXIT_OK;
}

static int list_relations(const lg_cli *cli) {
    (void)cli;
    for (int r = LG_RELATION_UNSET + 1; r < LG_N_RELATIONS; r++) {
        print_row(lg_relation_name((lg_relation)r), lg_relation_help((lg_relation)r));
    }
    return LG_EXIT_OK;
}

typedef struct list {
    const char *name;
    int (*print)(const lg_cli *cli);
    bool takes_paths;
} list;

static const list lists[] = {
    {"scenarios", list_scenarios, true},  {"reports", lg_list_reports, true},
    {"kernels", list_kernels, false},     {"modes", list_modes, false},
    {"faults", list_the_faults, false},   {"causes", list_all_causes, false},
    {"policies", list_policies, false},   {"verdicts", list_verdicts, false},
    {"relations", list_relations, false},
};
enum { N_LISTS = sizeof(lists) / sizeof(lists[0]) };

int lg_verb_list(const lg_cli *cli) {
    // Whoever reads the first lines of a list only (`| head`) has what they want. What other verbs
    // print is a result, and one that could not be printed is an error.
    signal(SIGPIPE, SIG_DFL);
    const char *names[N_LISTS];
    const char *what = cli->words.n > 0 ? cli->words.items[0] : NULL;
    for (size_t i = 0; i < N_LISTS; i++) {
        names[i] = lists[i].name;
        if (what && strcmp(what, names[i]) == 0) {
            if (cli->words.n > 1 && !lists[i].takes_paths) {
                fprintf(stderr, "lossgate list: error: '%s' after %s\n", cli->words.items[1], what);
                return LG_EXIT_USAGE;
            }
            return lists[i].print(cli);
        }
    }
    if (!what) {
        fputs("lossgate list: error: say what to list:", stderr);
    } else {
        const char *near = lg_nearest(what, names, N_LISTS);
        fprintf(stderr, "lossgate list: error: cannot list '%s'", what);
        fprintf(stderr, near ? ", did you mean '%s'? There are:" : ". There are:", near);
    }
    for (size_t i = 0; i < N_LISTS; i++) {
        fprintf(stderr, " %s", names[i]);
    }
    fputs("\n", stderr);
    return LG_EXIT_USAGE;
}
