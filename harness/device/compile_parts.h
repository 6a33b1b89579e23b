// SPDX-License-Identifier: Apache-2.0
// Parts of compile.c that are tested on their own.
#ifndef LG_DEVICE_COMPILE_PARTS_H
#define LG_DEVICE_COMPILE_PARTS_H

#include "support/error.h"
#include "support/str.h"

#include <stdbool.h>
#include <stddef.h>

// Runs a program without a shell, its standard input empty, standard output and error together into
// `output`. `cwd` NULL: here. False with errno when it could not be started; otherwise `*status` is
// the exit code, or 128 + signal.
bool lg_run_program(const char *const argv[], const char *cwd, lg_str *output, int *status);

// Appends path and contents of every local file that `source` reaches through #include lines,
// itself first, each once. Local: found beside the includer or in one of the folders (`-I`). An
// include that is not found is a system header and left out. `*opaque` is set when an include names
// a macro, so that what it reads cannot be known. Paths are relative to `cwd` when below it.
bool lg_collect_sources(const char *source, const char *const *folders, size_t n_folders,
                        const char *cwd, lg_str *out, bool *opaque, lg_diags *diags);

// Compiler output → diagnostics: `file(line): error: text` with the source line and caret below it,
// and `file:line:column: error: text`. Returns the number of errors found.
size_t lg_parse_compiler_output(const char *output, lg_diags *diags);

// Rewrites the `.file` lines of a PTX text: paths below `folder` become relative to it.
void lg_shorten_ptx_paths(const char *ptx, const char *folder, lg_str *out);

#endif
