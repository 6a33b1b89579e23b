// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "diagnose/diagnose.h"
#include "support/str.h"

#include <string.h>

static int complain(const char *text) {
    fprintf(stderr, "lossgate diagnose: error: %s\n", text);
    return LG_EXIT_USAGE;
}

// The short names, or the losses' own.
static bool parse_loss(const char *text, lg_loss_kind *out) {
    static const struct {
        const char *name;
        lg_loss_kind kind;
    } names[] = {{"nll", LG_NLL_LOSS},
                 {"ce", LG_CROSS_ENTROPY},
                 {"bce", LG_BCE},
                 {"bce_logits", LG_BCE_WITH_LOGITS}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i].name) == 0) {
            *out = names[i].kind;
            return true;
        }
    }
    return lg_loss_kind_parse(text, out);
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
    lg_loss_kind loss = 0;
    if (cli->loss && !parse_loss(cli->loss, &loss)) {
        return complain("--loss takes nll, ce, bce or bce_logits");
    }
    bool binary = loss == LG_BCE || loss == LG_BCE_WITH_LOGITS;
    int n_widths = (cli->logits != NULL) + (cli->head_width > 0);
    if (n_widths != 1 && !(binary && n_widths == 0)) { // binary targets alone say their shape
        return complain("give one of --logits and --head-width");
    }
    lg_diagnose_options options = {.targets = cli->targets,
                                   .logits = cli->logits,
                                   .weight = cli->weight,
                                   .head_width = cli->head_width > 0 ? cli->head_width : 1,
                                   .loss = loss,
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
