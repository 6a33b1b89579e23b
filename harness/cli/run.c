// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "cli/interrupt.h"
#include "cli/session_options.h"
#include "report/report.h"
#include "support/alloc.h"
#include "support/shell.h"
#include "support/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_OBSERVERS = 7 }; // with one of the caller

typedef struct outputs {
    lg_observer text, jsonl, junit, sarif, evidence, progress;
    int lock; // on the folder, or -1
} outputs;

static bool use_color(void) {
    const char *none = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(none && *none) && !(terminal && !strcmp(terminal, "dumb"));
}

static int terminal_width(void) {
    struct winsize size;
    bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col >= 60 ? size.ws_col : 0;
}

static const lg_driver *open_driver(const lg_cli *cli, lg_diags *diags) {
    if (!cli->device || strcmp(cli->device, "sim") == 0) {
        return lg_driver_sim();
    }
    if (strcmp(cli->device, "cuda") == 0) {
        return lg_driver_cuda(diags);
    }
    lg_error(diags, (lg_loc){0}, "--device takes sim or cuda, not '%s'", cli->device);
    return NULL;
}

// Where files go: a single case must not replace the files of a whole run unasked.
static const char *out_folder(const lg_cli *cli) {
    if (cli->out) {
        return *cli->out ? cli->out : NULL;
    }
    return cli->only_case ? NULL : "out";
}

static bool lock_outputs(const char *folder, outputs *out, lg_diags *diags) {
    return out->lock >= 0 || lg_lock_folder(folder, &out->lock, diags);
}

// Before anything of this run can fail: what an earlier one found must not be taken for this one's.
static bool remove_old(const lg_cli *cli, outputs *out, lg_diags *diags) {
    *out = (outputs){.lock = -1};
    const char *folder = out_folder(cli);
    struct stat s;
    if (cli->sarif && stat(cli->sarif, &s) == 0 && S_ISREG(s.st_mode) && unlink(cli->sarif) != 0) {
        return lg_error(diags, (lg_loc){.file = cli->sarif},
                        "of an earlier run cannot be removed: %s", strerror(errno));
    }
    if (!folder || stat(folder, &s) != 0 || !S_ISDIR(s.st_mode)) {
        return true;
    }
    bool ok = lock_outputs(folder, out, diags);
    static const char *const names[] = {"cases.jsonl", "junit.xml", "junit.xml.tmp"};
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
        char *path = lg_xasprintf("%s/%s", folder, names[i]);
        ok = unlink(path) == 0 || errno == ENOENT ||
             lg_error(diags, (lg_loc){.file = path}, "of an earlier run cannot be removed: %s",
                      strerror(errno));
        free(path);
    }
    return ok;
}

static bool open_outputs(const lg_cli *cli, outputs *out, lg_diags *diags) {
    const char *folder = out_folder(cli);
    bool ok = !folder || (lg_make_folder(folder, diags) && lock_outputs(folder, out, diags));
    if (folder && ok) {
        char *cases = lg_xasprintf("%s/cases.jsonl", folder);
        char *junit = lg_xasprintf("%s/junit.xml", folder);
        out->jsonl = lg_report_jsonl(cases, diags);
        out->junit = lg_report_junit(junit, diags);
        out->evidence = lg_evidence_open(folder, diags);
        ok = out->jsonl.context && out->junit.context;
        free(cases);
        free(junit);
    }
    if (cli->sarif && ok) {
        out->sarif = lg_report_sarif(cli->sarif, LG_VERSION, diags);
        ok = out->sarif.context != NULL;
    }
    lg_text_options text = {.out = stdout,
                            .color = use_color(),
                            .verbose = cli->verbose || cli->only_case,
                            .width = terminal_width()};
    out->text = lg_report_text(&text);
    out->progress = lg_progress_open();
    return ok;
}

static void close_outputs(outputs *out) {
    lg_report_text_free(&out->text);
    lg_report_jsonl_free(&out->jsonl);
    lg_report_junit_free(&out->junit);
    lg_report_sarif_free(&out->sarif);
    lg_evidence_close(&out->evidence);
    lg_progress_close(&out->progress);
}

// How a repro line begins: with every option that changes which case an id means.
static char *repro_prefix(const lg_cli *cli, const lg_scenarios *scenarios) {
    lg_str text = {0};
    lg_str_add(&text, "lossgate run");
    for (int64_t i = 0; i < cli->kernel_paths.n; i++) {
        lg_str_add(&text, " --kernels ");
        lg_shell_add(&text, cli->kernel_paths.items[i]);
    }
    for (int64_t i = 0; i < cli->allow_paths.n; i++) {
        lg_str_add(&text, " --allow-path ");
        lg_shell_add(&text, cli->allow_paths.items[i]);
    }
    if (scenarios->root) {
        lg_str_add(&text, " --root ");
        lg_shell_add(&text, scenarios->root);
    }
    if (cli->device && strcmp(cli->device, "sim") != 0) {
        lg_str_add(&text, " --device ");
        lg_shell_add(&text, cli->device);
    }
    return lg_str_take(&text);
}

static int run_session(const lg_cli *cli, const lg_driver *driver, const lg_scenarios *scenarios,
                       const lg_kernel_set *kernels, const lg_observer *more, outputs *out,
                       lg_run_summary *summary, lg_diags *diags) {
    lg_observer observers[N_OBSERVERS] = {out->progress,
                                          out->jsonl,
                                          out->junit,
                                          out->sarif,
                                          out->evidence,
                                          out->text,
                                          more ? *more : (lg_observer){0}};
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    char *prefix = repro_prefix(cli, scenarios);
    char *cache = lg_cli_cache(cli);
    lg_session_options options = lg_cli_session(cli, driver, scenarios, kernels, cache);
    options.only_case = cli->only_case;
    options.jobs = cli->jobs > 0 ? cli->jobs : n_processors > 0 ? (int)n_processors : 1;
    options.repro_prefix = prefix;
    options.stop = lg_interrupt_watch();
    options.observers = observers;
    options.n_observers = N_OBSERVERS;
    bool ok = lg_session_run(&options, summary, diags);
    int came = lg_interrupt_end();
    free(prefix);
    free(cache);
    if (came && summary->interrupted) {
        return LG_EXIT_SIGNAL + came;
    }
    return ok ? summary->exit_code : LG_EXIT_USAGE;
}

int lg_verb_run(const lg_cli *cli) {
    return lg_run_observed(cli, NULL);
}

static int run_chosen(const lg_cli *cli, const lg_driver *driver, const lg_scenarios *scenarios,
                      const lg_kernel_set *kernels, const lg_observer *more, outputs *out,
                      lg_diags *diags) {
    if (!lg_cli_filters_match(cli, scenarios, kernels)) {
        return LG_EXIT_NOTHING_PROVEN;
    }
    int status = LG_EXIT_USAGE;
    lg_run_summary summary = {0};
    if (open_outputs(cli, out, diags)) {
        status = run_session(cli, driver, scenarios, kernels, more, out, &summary, diags);
    }
    close_outputs(out);
    fflush(stdout);
    if (cli->only_case && status == LG_EXIT_NOTHING_PROVEN && summary.n_cases == 0) {
        fprintf(stderr, "lossgate: no case has the id '%s'\n", cli->only_case);
    }
    return status;
}

int lg_run_observed(const lg_cli *cli, const lg_observer *more) {
    lg_diags diags = {0};
    lg_scenarios scenarios = {0};
    lg_kernel_set kernels = {0};
    outputs out;
    int status = LG_EXIT_USAGE;
    if (remove_old(cli, &out, &diags)) {
        bool ok = lg_scenarios_load(cli, &cli->words, &scenarios, &diags);
        ok = lg_kernels_load(cli, &kernels, &diags) && ok;
        const lg_driver *driver = open_driver(cli, &diags);
        if (ok && driver) {
            status = run_chosen(cli, driver, &scenarios, &kernels, more, &out, &diags);
        }
    }
    if (out.lock >= 0) {
        close(out.lock);
    }
    lg_diags_print(&diags, stderr);
    status = diags.n_errors > 0 && status < LG_EXIT_SIGNAL ? LG_EXIT_USAGE : status;
    lg_scenarios_free(&scenarios);
    lg_kernel_set_free(&kernels);
    lg_diags_free(&diags);
    return status;
}
