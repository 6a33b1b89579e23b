// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle.h"
#include "cli/cli.h"

#include "support/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A run that fails everywhere must not fill the disk with bundles; cases.jsonl has every case.
enum { MAX_BUNDLES = 1000, ID_LENGTH = 16 };

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

bool lg_lock_folder(const char *folder, int *lock, lg_diags *diags) {
    char *path = lg_xasprintf("%s/.lock", folder);
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    bool ok = *lock >= 0 ||
              lg_error(diags, (lg_loc){.file = path}, "cannot be opened: %s", strerror(errno));
    free(path);
    // A file system without locks refuses with other errors: there the user has to see to it.
    if (ok && flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        ok = lg_error(diags, (lg_loc){.file = folder},
                      "another run is writing there: wait for it, or give an --out of your own");
    }
    if (!ok && *lock >= 0) {
        close(*lock);
        *lock = -1;
    }
    return ok;
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
            char *bundle = lg_xasprintf("%s/%s", folder, entry->d_name);
            lg_bundle_remove(bundle);
            free(bundle);
        }
    }
    closedir(dir);
    rmdir(folder);
}

static void add_case(void *context, const lg_case_result *result) {
    evidence *e = context;
    if (result->as_expected || e->n >= MAX_BUNDLES || e->diags->n_errors > 0) {
        return;
    }
    e->n++;
    char *folder = lg_xasprintf("%s/%s", e->folder, result->what->id);
    lg_bundle_write(folder, result, e->diags);
    free(folder);
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
