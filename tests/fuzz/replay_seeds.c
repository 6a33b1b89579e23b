// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target once over each file of a folder: what libFuzzer does with its seeds, for
// builds without it. Fails when there is no file.
#include "support/str.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int main(int argc, char **argv) {
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int n_files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        size_t n;
        char *content = entry->d_name[0] == '.' ? NULL : lg_read_file(path, &n);
        if (content) {
            LLVMFuzzerTestOneInput((const uint8_t *)content, n);
            n_files++;
        }
        free(content);
    }
    closedir(folder);
    printf("%d seeds\n", n_files);
    return n_files > 0 ? 0 : 1;
}
