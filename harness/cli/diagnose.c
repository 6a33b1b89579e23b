// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "pipeline/diagnose.h"
#include "support/str.h"

static int complain(const char *text) {
    fprintf(stderr, "lossgate diagnose: error: %s\n", text);
    return LG_EXIT_USAGE;
}

// A warning is worth saying, but the loss can be computed.
static int status_of(const lg_diagnose_result *result) {
    if (result->finding.cause == LG_CAUSE_NONE && result->n_rows == 0) {
        return LG_EXIT_NOTHING_PROVEN;
    }
    bool wrong = result->finding.cause != LG_CAUSE_NONE && !result->finding.warning;
    return wrong ? LG_EXIT_NOT_EXPECTED : LG_EXIT_OK;
}

int lg_verb_diagnose(const lg_cli *cli) {
    if (cli->words.n > 0) {
        return complain("it takes no argument: give the labels as --targets FILE");
    }
    if (!cli->targets) {
        return complain("--targets is missing");
    }
    if ((cli->logits != NULL) + (cli->head_width > 0) != 1) {
        return complain("give one of --logits and --head-width");
    }
    lg_diagnose_options options = {.targets = cli->targets,
                                   .logits = cli->logits,
                                   .weight = cli->weight,
                                   .head_width = cli->head_width,
                                   .classes = cli->classes,
                                   .ignore_index =
                                       cli->has_ignore_index ? cli->ignore_index : -100};
    lg_diagnose_result result;
    lg_diags diags = {0};
    int status = LG_EXIT_USAGE;
    if (lg_diagnose(&options, &result, &diags)) {
        lg_str text = {0};
        lg_diagnose_text(&result, &text);
        fputs(lg_str_text(&text), stdout);
        fflush(stdout);
        lg_str_free(&text);
        status = status_of(&result);
    }
    lg_diags_print(&diags, stderr);
    lg_diagnose_free(&result);
    lg_diags_free(&diags);
    return status;
}
