// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "cli/session_options.h"

#include "scenario/scenario.h"
#include "shrink/shrink.h"
#include "support/plain.h"
#include "support/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_seen(FILE *out, const char *when, const lg_shrink_seen *seen) {
    fprintf(out, "  %-8s %s, ", when, lg_verdict_name(seen->judged.verdict));
    if (seen->n_named < 2 || seen->certain) {
        fputs(lg_cause_name(seen->cause), out);
    }
    for (int i = 0; i < seen->n_named && seen->n_named > 1 && !seen->certain; i++) {
        fprintf(out, "%s%s", i ? " or " : "", lg_cause_name(seen->named[i]));
    }
    fprintf(out, ": %" PRId64 " row%s, %" PRId64 " class%s\n", seen->batch_rows,
            seen->batch_rows == 1 ? "" : "s", seen->head_width, seen->head_width == 1 ? "" : "es");
}

static void print_summary(FILE *out, const lg_plan_case *planned, const lg_shrink_result *result) {
    const lg_scenario *scenario = planned->what.scenario;
    fprintf(out, "%s%s%s on %s, %s: %" PRId64 " runs%s\n", scenario->name,
            *scenario->point ? " " : "", scenario->point, planned->what.kernel->name,
            lg_mode_name(planned->what.mode), result->n_runs,
            result->out_of_runs ? ", no more allowed: it may not be the smallest" : "");
    print_seen(out, "before", &result->before);
    print_seen(out, "after", &result->after);
    if (!result->literal) {
        fputs(
            "  by size: the batch stays generated; values alone do not show it, or are too many\n",
            out);
    } else if (result->by_size) {
        fprintf(out, "  by size: %" PRId64 " rows together show it, fewer do not\n",
                result->after.batch_rows);
    }
}

static void print_outside(FILE *out, const char *folder) {
    if (folder) {
        fprintf(out, "  its arrays lie outside its folder: run it with --allow-path %s\n", folder);
    }
}

static bool write_scenario(const lg_cli *cli, const lg_scenario *scenario, lg_diags *diags) {
    lg_str text = {0};
    lg_scenario_write(scenario, &text);
    FILE *out = cli->out ? fopen(cli->out, "w") : stdout;
    bool ok = out && fputs(lg_str_text(&text), out) >= 0 && fflush(out) == 0;
    ok = (!cli->out || !out || fclose(out) == 0) && ok;
    lg_str_free(&text);
    return ok || lg_error(diags, (lg_loc){.file = cli->out}, "cannot write: %s", strerror(errno));
}

static bool prepare_kernels(lg_device_session *device, const lg_plan *plan, lg_diags *diags) {
    bool ok = true;
    for (int64_t i = 0; i < plan->n_kernels; i++) {
        ok = lg_device_prepare(device, plan->kernels[i], diags) && ok;
    }
    return ok;
}

static int shrink_case(const lg_cli *cli, lg_device_session *device, const lg_plan_case *planned,
                       lg_diags *diags) {
    lg_shrink_options options = {.device = device,
                                 .kernel = planned->what.kernel,
                                 .mode = planned->what.mode,
                                 .device_name = planned->what.device,
                                 .out_path = cli->out,
                                 .allow_paths = cli->allow_paths};
    lg_shrink_result result;
    bool ok = lg_shrink(planned->what.scenario, &options, &result, diags);
    if (ok && !result.nothing) {
        ok = write_scenario(cli, &result.scenario, diags);
        print_summary(cli->out ? stdout : stderr, planned, &result);
        print_outside(cli->out ? stdout : stderr, result.outside);
    }
    lg_shrink_free(&result);
    return ok ? LG_EXIT_OK : LG_EXIT_USAGE;
}

static int shrink(const lg_cli *cli, const lg_scenarios *scenarios, const lg_kernel_set *kernels,
                  lg_diags *diags) {
    char *cache = lg_cli_cache(cli);
    lg_session_options options = lg_cli_session(cli, lg_driver_sim(), scenarios, kernels, cache);
    lg_plan plan;
    lg_plan_build(&options, &plan);
    lg_device_session *device =
        lg_device_open(options.driver, options.nvcc, options.cache_dir, diags);
    int status = LG_EXIT_USAGE;
    if (device && prepare_kernels(device, &plan, diags)) {
        int64_t n_run = 0;
        const lg_plan_case *planned = lg_shrink_choose(device, &plan, &n_run, diags);
        if (planned) {
            status = shrink_case(cli, device, planned, diags);
        } else {
            fprintf(stderr,
                    "lossgate shrink: nothing to shrink: %" PRId64 " case%s ran and passed\n",
                    n_run, lg_s(n_run));
            status = LG_EXIT_NOTHING_PROVEN;
        }
    }
    if (device) {
        lg_device_close(device);
    }
    lg_plan_free(&plan);
    free(cache);
    return status;
}

int lg_verb_shrink(const lg_cli *cli) {
    if (cli->words.n != 1) {
        fputs("lossgate shrink: error: give one scenario file\n", stderr);
        return LG_EXIT_USAGE;
    }
    lg_diags diags = {0};
    lg_scenarios scenarios;
    lg_kernel_set kernels;
    bool ok = lg_scenarios_load(cli, &cli->words, &scenarios, &diags);
    ok = lg_kernels_load(cli, &kernels, &diags) && ok;
    int status = !ok ? LG_EXIT_USAGE
                 : !lg_cli_filters_match(cli, &scenarios, &kernels)
                     ? LG_EXIT_NOTHING_PROVEN
                     : shrink(cli, &scenarios, &kernels, &diags);
    lg_diags_print(&diags, stderr);
    status = diags.n_errors > 0 ? LG_EXIT_USAGE : status;
    lg_scenarios_free(&scenarios);
    lg_kernel_set_free(&kernels);
    lg_diags_free(&diags);
    return status;
}
