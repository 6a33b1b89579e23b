// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "support/alloc.h"
#include "support/strparse.h"

#include <argp.h>
#include <stdlib.h>

enum option_id {
    OPTION_NONE,
#define LG_OPTION(id, name, key, arg, verbs, help) OPTION_##id,
#include "cli/options.def"
#undef LG_OPTION
    N_OPTIONS
};

typedef struct option_row {
    const char *name;
    const char *arg;
    const char *help;
    int key;
    unsigned verbs;
} option_row;

static const option_row options[] = {
    {0},
#define LG_OPTION(id, name, key, arg, verbs, help) {name, arg, help, key, verbs},
#include "cli/options.def"
#undef LG_OPTION
};

typedef struct verb_text {
    const char *arguments;
    const char *doc; // help, then a vertical tab, then what goes below the options
} verb_text;

static const verb_text verbs_text[] = {
#define LG_VERB(id, name, arguments, help, more) {arguments, help "\v" more},
#include "cli/verbs.def"
#undef LG_VERB
};

void lg_str_list_add(lg_str_list *list, const char *item) {
    list->items = lg_xrealloc(list->items, ((size_t)list->n + 1) * sizeof(*list->items));
    list->items[list->n++] = item;
}

static enum option_id find_option(int key, lg_verb verb) {
    for (int i = 1; i < N_OPTIONS; i++) {
        if (options[i].key == key && (options[i].verbs & (unsigned)verb)) {
            return (enum option_id)i;
        }
    }
    return OPTION_NONE;
}

static void parse_jobs(lg_cli *cli, const char *text, const struct argp_state *state) {
    int64_t jobs;
    if (!lg_parse_i64(text, &jobs) || jobs < 1 || jobs > 256) {
        argp_error(state, "--jobs takes a number from 1 to 256, not '%s'", text);
        return;
    }
    cli->jobs = (int)jobs;
}

static void parse_count(int64_t *count, const char *option, const char *text,
                        const struct argp_state *state) {
    if (!lg_parse_i64(text, count) || *count < 1) {
        argp_error(state, "%s takes a number from 1 on, not '%s'", option, text);
    }
}

static void take_option(lg_cli *cli, enum option_id id, char *text,
                        const struct argp_state *state) {
    switch (id) {
    case OPTION_KERNEL:
        lg_str_list_add(&cli->kernel_globs, text);
        break;
    case OPTION_MODE:
        lg_str_list_add(&cli->mode_globs, text);
        break;
    case OPTION_SEED:
    case OPTION_SEED_GUARDS:
        cli->has_seed = true;
        if (!lg_parse_u64(text, &cli->seed)) {
            argp_error(state, "--seed takes a number from 0 to 2^64-1, not '%s'", text);
        }
        break;
    case OPTION_JOBS:
        parse_jobs(cli, text, state);
        break;
    case OPTION_OUT:
    case OPTION_OUT_FILE:
    case OPTION_OUT_GUARDS:
        cli->out = text;
        break;
    case OPTION_KERNELS:
        lg_str_list_add(&cli->kernel_paths, text);
        break;
    case OPTION_ROOT:
        cli->root = text;
        break;
    case OPTION_ALLOW_PATH:
        lg_str_list_add(&cli->allow_paths, text);
        break;
    case OPTION_NVCC:
        cli->nvcc = text;
        break;
    case OPTION_CACHE:
        cli->cache = text;
        break;
    case OPTION_DEVICE:
        cli->device = text;
        break;
    case OPTION_CASE:
        cli->only_case = text;
        break;
    case OPTION_SARIF:
        cli->sarif = text;
        break;
    case OPTION_VERBOSE:
        cli->verbose = true;
        break;
    case OPTION_DTYPE:
        cli->dtype = text;
        break;
    case OPTION_TARGET:
        cli->target = text;
        break;
    case OPTION_SCENARIO:
        cli->scenario = text;
        break;
    case OPTION_TARGETS:
        cli->targets = text;
        break;
    case OPTION_LOGITS:
        cli->logits = text;
        break;
    case OPTION_HEAD_WIDTH:
        parse_count(&cli->head_width, "--head-width", text, state);
        break;
    case OPTION_CLASSES:
        parse_count(&cli->classes, "--classes", text, state);
        break;
    case OPTION_IGNORE_INDEX:
        cli->has_ignore_index = true;
        if (!lg_parse_i64(text, &cli->ignore_index)) {
            argp_error(state, "--ignore-index takes a 64-bit integer, not '%s'", text);
        }
        break;
    case OPTION_LOSS:
        cli->loss = text;
        break;
    case OPTION_WEIGHT:
        cli->weight = text;
        break;
    case OPTION_COMPILE:
        cli->compile = true;
        break;
    case OPTION_SCHEMA:
        cli->schema = true;
        break;
    case OPTION_REFERENCE_PAGE:
        cli->reference_page = true;
        break;
    case OPTION_NONE:
    case N_OPTIONS:
        break;
    }
}

static error_t parse_word(int key, char *text, struct argp_state *state) {
    lg_cli *cli = state->input;
    if (key == ARGP_KEY_ARG) {
        lg_str_list_add(&cli->words, text);
        return 0;
    }
    enum option_id id = find_option(key, cli->verb);
    if (id == OPTION_NONE) {
        return ARGP_ERR_UNKNOWN;
    }
    take_option(cli, id, text, state);
    return 0;
}

void lg_cli_parse(lg_verb verb, int argc, char **argv, lg_cli *cli) {
    *cli = (lg_cli){.verb = verb};
    struct argp_option table[N_OPTIONS + 1] = {{0}};
    int n = 0;
    for (int i = 1; i < N_OPTIONS; i++) {
        if (options[i].verbs & (unsigned)verb) {
            table[n++] = (struct argp_option){.name = options[i].name,
                                              .key = options[i].key,
                                              .arg = options[i].arg,
                                              .doc = options[i].help};
        }
    }
    int index = __builtin_ctz((unsigned)verb);
    struct argp parser = {.options = table,
                          .parser = parse_word,
                          .args_doc = verbs_text[index].arguments,
                          .doc = verbs_text[index].doc};
    argp_err_exit_status = LG_EXIT_USAGE;
    argp_parse(&parser, argc, argv, 0, NULL, cli);
}

void lg_cli_free(lg_cli *cli) {
    free(cli->words.items);
    free(cli->kernel_globs.items);
    free(cli->mode_globs.items);
    free(cli->kernel_paths.items);
    free(cli->allow_paths.items);
    *cli = (lg_cli){0};
}
