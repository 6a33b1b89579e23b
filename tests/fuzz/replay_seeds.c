// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once over each file of the folders given: what libFuzzer does with its seeds,
// for builds without it. Fails when one has no file.
#include "support/str.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int run_over(const char *name) {
    DIR *folder = opendir(name);
    int n_files = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
        size_t n;
        char *content = entry->d_name[0] == '.' ? NULL : lg_read_file(path, &n);
        if (content) {
            LLVMFuzzerTestOneInput((const uint8_t *)content, n);
            n_files++;
        }
        free(content);
    }
    if (folder) {
        closedir(folder);
    }
    printf("%s: %d seeds\n", name, n_files);
    return n_files;
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    for (int i = 1; i < argc; i++) {
        ok = run_over(argv[i]) > 0 && ok;
    }
    return ok ? 0 : 1;
}
