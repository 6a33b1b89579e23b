// SPDX-License-Identifier: Apache-2.0
// Places as tools on a repository name them: a path relative to its root, as a URI.
#ifndef LG_REPORT_PLACE_H
#define LG_REPORT_PLACE_H

#include "result/case.h"

#include <stdbool.h>

// The folder that paths are relative to: the nearest one from the current folder upward that holds
// `.git`, else the current one. Absolute, malloc'd.
char *lg_repository_root(void);

// The file of a place of a kernel: the compiler was started in the parent of the source's folder
// (device/compile.h). Absolute where the source is known; malloc'd.
char *lg_kernel_file(const lg_kernel *kernel, const char *file);

// `path` (relative ones: to the current folder) as a URI: relative to `root` when it lies in it,
// else "file:///...". `*relative` says which. malloc'd.
char *lg_path_uri(const char *path, const char *root, bool *relative);
// An absolute path as "file:///...", malloc'd.
char *lg_file_uri(const char *path);

#endif
