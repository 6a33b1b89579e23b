// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, with its files.
#ifndef LG_TESTS_TREE_H
#define LG_TESTS_TREE_H

#include "support/alloc.h"
#include "unit/testing.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Its path, or NULL: before the tests run, where nothing can be asserted. Free with remove_tree.
static inline char *try_tree(void) {
    char *folder = lg_xstrdup("/tmp/lossgate-test-XXXXXX");
    if (!mkdtemp(folder)) {
        free(folder);
        return NULL;
    }
    return folder;
}

static inline char *make_tree(void) {
    char *folder = try_tree();
    if (!folder) {
        CU_FAIL_FATAL("no folder can be made");
        abort(); // for the compiler: the test has ended
    }
    return folder;
}

static inline int remove_entry(const char *path, const struct stat *info, int kind,
                               struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static inline void remove_tree(char *folder) {
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

// The folders that `name` has are made.
static inline void write_text(const char *folder, const char *name, const char *text) {
    char *path = lg_xasprintf("%s/%s", folder, name);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0777);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    free(path);
}

#endif
