// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "model/scenario_read.h"
#include "report/report.h"
#include "support/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A run that fails everywhere must not fill the disk with bundles; cases.jsonl has every case.
enum { MAX_BUNDLES = 1000, ID_LENGTH = 16 };

static const char *const bundle_files[] = {"scenario.yaml", "finding.txt", "device.log"};
enum { N_BUNDLE_FILES = sizeof(bundle_files) / sizeof(bundle_files[0]) };

typedef struct evidence {
    char *folder; // DIR/cases
    lg_diags *diags;
    int64_t n;
} evidence;

bool lg_make_folder(const char *path, lg_diags *diags) {
    char *copy = lg_xstrdup(path);
    bool ok = true;
    for (char *at = copy; ok && at;) {
        char *slash = strchr(at + 1, '/');
        if (slash) {
            *slash = '\0';
        }
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) {
            ok = lg_error(diags, (lg_loc){.file = path}, "cannot make the folder: %s",
                          strerror(errno));
        }
        if (slash) {
            *slash = '/';
        }
        at = slash;
    }
    free(copy);
    struct stat s;
    if (ok && (stat(path, &s) != 0 || !S_ISDIR(s.st_mode))) {
        ok = lg_error(diags, (lg_loc){.file = path}, "is not a folder");
    }
    return ok;
}

static void remove_bundle(const char *folder, const char *id) {
    for (int i = 0; i < N_BUNDLE_FILES; i++) {
        char *path = lg_xasprintf("%s/%s/%s", folder, id, bundle_files[i]);
        unlink(path);
        free(path);
    }
    char *path = lg_xasprintf("%s/%s", folder, id);
    rmdir(path);
    free(path);
}

// Bundles of an earlier run would be taken for this one's. Only what a run writes is removed.
static void remove_old(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir) {
        return;
    }
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (strspn(entry->d_name, "0123456789abcdef") == ID_LENGTH &&
            entry->d_name[ID_LENGTH] == '\0') {
            remove_bundle(folder, entry->d_name);
        }
    }
    closedir(dir);
    rmdir(folder);
}

static FILE *open_file(evidence *e, const char *id, const char *name) {
    char *path = lg_xasprintf("%s/%s/%s", e->folder, id, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        lg_error(e->diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
    }
    free(path);
    return file;
}

static void close_file(evidence *e, const char *id, const char *name, FILE *file) {
    bool bad = ferror(file) != 0;
    if (fclose(file) != 0 || bad) {
        char *path = lg_xasprintf("%s/%s/%s", e->folder, id, name);
        lg_error(e->diags, (lg_loc){.file = path}, "cannot write: %s", strerror(errno));
        free(path);
    }
}

static void write_text(evidence *e, const char *id, const char *name, const char *text) {
    FILE *file = open_file(e, id, name);
    if (file) {
        fputs(text, file);
        close_file(e, id, name, file);
    }
}

static void add_case(void *context, const lg_case_result *result) {
    evidence *e = context;
    if (result->as_expected || e->n >= MAX_BUNDLES || e->diags->n_errors > 0) {
        return;
    }
    e->n++;
    const char *id = result->what->id;
    char *folder = lg_xasprintf("%s/%s", e->folder, id);
    bool made = lg_make_folder(folder, e->diags);
    free(folder);
    if (!made) {
        return;
    }
    lg_str scenario = {0};
    lg_scenario_write(result->what->scenario, &scenario);
    write_text(e, id, "scenario.yaml", lg_str_text(&scenario));
    lg_str_free(&scenario);
    FILE *file = open_file(e, id, "finding.txt");
    if (file) {
        lg_finding_text(result, file, false);
        close_file(e, id, "finding.txt", file);
    }
    if (result->observation.log && *result->observation.log) {
        write_text(e, id, "device.log", result->observation.log);
    }
}

lg_observer lg_evidence_open(const char *dir, lg_diags *diags) {
    evidence *e = lg_xcalloc(1, sizeof(*e));
    *e = (evidence){.folder = lg_xasprintf("%s/cases", dir), .diags = diags};
    remove_old(e->folder);
    return (lg_observer){.context = e, .case_done = add_case};
}

void lg_evidence_close(lg_observer *observer) {
    evidence *e = observer->context;
    if (e) {
        free(e->folder);
        free(e);
    }
    *observer = (lg_observer){0};
}
