// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct verb {
    const char *name;
    const char *arguments;
    const char *help;
    lg_verb id;
    int (*run)(const lg_cli *cli);
} verb;

#define lg_verb_function_RUN lg_verb_run
#define lg_verb_function_LIST lg_verb_list
#define lg_verb_function_CHECK lg_verb_check
#define lg_verb_function_REFERENCE lg_verb_reference
#define lg_verb_function_ASM lg_verb_asm
#define lg_verb_function_EXPLAIN lg_verb_explain
#define lg_verb_function_DIAGNOSE lg_verb_diagnose
#define lg_verb_function_REPLAY lg_verb_replay
#define lg_verb_function_SHRINK lg_verb_shrink
#define lg_verb_function_GUARDS lg_verb_guards

static const verb verbs[] = {
#define LG_VERB(id, name, arguments, help, more)                                                   \
    {name, arguments, help, LG_VERB_##id, lg_verb_function_##id},
#include "cli/verbs.def"
#undef LG_VERB
};

static void print_help(FILE *out) {
    fputs("Usage: lossgate VERB [OPTION...] [ARGUMENT...]\n"
          "Injects faults into batches, runs loss kernels on them, and says for each run whether "
          "the\n"
          "fault was detected, attributed, and kept from corrupting the loss.\n\n",
          out);
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        char usage[64];
        snprintf(usage, sizeof(usage), "%s %s", verbs[i].name, verbs[i].arguments);
        fprintf(out, "  %-22s %s\n", usage, verbs[i].help);
    }
    fprintf(out, "  %-22s %s\n", "version", "Print the version.");
    fputs("\nlossgate VERB --help describes a verb and its options.\n", out);
}

static const verb *find_verb(const char *name) {
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

static int unknown_verb(const char *name) {
    const char *names[LG_N_VERBS + 1];
    for (size_t i = 0; i < LG_N_VERBS; i++) {
        names[i] = verbs[i].name;
    }
    names[LG_N_VERBS] = "version";
    const char *near = lg_nearest(name, names, LG_N_VERBS + 1);
    fprintf(stderr, "lossgate: error: no verb '%s'", name);
    if (near) {
        fprintf(stderr, ", did you mean '%s'?", near);
    }
    fputs("\nTry 'lossgate --help'.\n", stderr);
    return LG_EXIT_USAGE;
}

static int run_verb(const verb *chosen, int argc, char **argv) {
    char *program = lg_xasprintf("lossgate %s", chosen->name);
    char **words = lg_xmalloc((size_t)argc * sizeof(*words));
    words[0] = program;
    for (int i = 2; i <= argc; i++) { // with the NULL at the end
        words[i - 1] = argv[i];
    }
    lg_cli cli;
    lg_cli_parse(chosen->id, argc - 1, words, &cli);
    int status = chosen->run(&cli);
    lg_cli_free(&cli);
    free(words);
    free(program);
    return status;
}

int main(int argc, char **argv) {
    // A reader that went away shows as a write error, which is told below.
    signal(SIGPIPE, SIG_IGN);
    int status = LG_EXIT_OK;
    if (argc < 2) {
        print_help(stderr);
        status = LG_EXIT_USAGE;
    } else if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
    } else if (strcmp(argv[1], "version") == 0 || strcmp(argv[1], "--version") == 0) {
        printf("lossgate %s\n", LG_VERSION);
    } else {
        const verb *chosen = find_verb(argv[1]);
        status = chosen ? run_verb(chosen, argc, argv) : unknown_verb(argv[1]);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "lossgate: error: cannot write to standard output: %s\n", strerror(errno));
        status = LG_EXIT_INTERNAL;
    }
    return status;
}
