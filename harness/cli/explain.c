// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "explain/explain.h"
#include "scenario/scenario.h"
#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

// Reads to the end; false with errno set when that fails.
static bool read_log(int fd, lg_log_reader *reader) {
    char *bytes = lg_xmalloc(READ_BYTES);
    ssize_t got;
    do {
        got = read(fd, bytes, READ_BYTES);
        if (got > 0) {
            lg_log_feed(reader, bytes, (size_t)got);
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    free(bytes);
    return got == 0;
}

// What is written must be a scenario: one that the reader refuses would be a fault of ours.
static bool is_scenario(const char *path, const lg_str *text, lg_diags *diags) {
    lg_read_options options = {0};
    lg_scenario_set set = {0};
    bool ok = lg_scenario_read_text(path, text->text, text->n, &options, &set, diags);
    lg_scenario_set_free(&set);
    return ok;
}

static int write_scenario(const lg_log_finding *finding, const char *name, const char *path) {
    lg_str text = {0};
    lg_diags diags = {0};
    int status = LG_EXIT_OK;
    if (!lg_log_scenario(finding, name, &text)) {
        fprintf(stderr, "lossgate explain: no scenario is written: %s\n",
                finding->conclusion == LG_LOG_LOSS_FAULT
                    ? "the likeliest cause is none that a scenario can inject"
                    : "the log shows no fault of a loss");
    } else if (!is_scenario(path, &text, &diags)) {
        lg_diags_print(&diags, stderr);
        status = LG_EXIT_INTERNAL;
    } else {
        FILE *file = fopen(path, "w");
        bool ok = file && fwrite(text.text, 1, text.n, file) == text.n;
        ok = (!file || fclose(file) == 0) && ok;
        if (!ok) {
            fprintf(stderr, "lossgate explain: error: cannot write %s: %s\n", path,
                    strerror(errno));
            status = LG_EXIT_USAGE;
        }
    }
    lg_diags_free(&diags);
    lg_str_free(&text);
    return status;
}

static int status_of(lg_log_conclusion conclusion) {
    switch (conclusion) {
    case LG_LOG_QUIET:
    case LG_LOG_OTHER_FAULT:
        return LG_EXIT_OK;
    case LG_LOG_LOSS_FAULT:
        return LG_EXIT_NOT_EXPECTED;
    case LG_LOG_PACKED_FILE:
        return LG_EXIT_USAGE;
    case LG_LOG_NO_TEXT:
    case LG_LOG_EMPTY:
    case LG_LOG_UNKNOWN_CHECK:
    case LG_LOG_ORIGIN_LOST:
        break;
    }
    return LG_EXIT_NOTHING_PROVEN;
}

static int explain(const lg_cli *cli, lg_log_reader *reader, const char *name) {
    lg_log_finding finding;
    lg_str text = {0};
    lg_log_finish(reader, &finding);
    lg_log_finding_text(&finding, name, &text);
    if (finding.conclusion == LG_LOG_PACKED_FILE) {
        fprintf(stderr, "lossgate explain: error: %s", lg_str_text(&text));
    } else {
        fputs(lg_str_text(&text), stdout);
    }
    fflush(stdout);
    int status = status_of(finding.conclusion);
    if (cli->scenario && finding.conclusion != LG_LOG_PACKED_FILE) {
        int written = write_scenario(&finding, name, cli->scenario);
        status = written != LG_EXIT_OK ? written : status;
    }
    lg_str_free(&text);
    lg_log_finding_free(&finding);
    return status;
}

int lg_verb_explain(const lg_cli *cli) {
    if (cli->words.n > 1) {
        fputs("lossgate explain: error: give one log, or none to read standard input\n", stderr);
        return LG_EXIT_USAGE;
    }
    const char *path = cli->words.n ? cli->words.items[0] : "-";
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    lg_log_reader *reader = lg_log_open();
    int status = LG_EXIT_USAGE;
    if (fd >= 0 && read_log(fd, reader)) {
        status = explain(cli, reader, name);
    } else {
        fprintf(stderr, "lossgate explain: error: cannot read %s: %s\n", name, strerror(errno));
    }
    lg_log_free(reader);
    if (fd >= 0 && !is_stdin) {
        close(fd);
    }
    return status;
}
