// SPDX-License-Identifier: Apache-2.0
// CUDA source → PTX through nvcc, kept in a cache.
//
// The key is a hash over everything the PTX depends on: the bytes of the source and of each local
// header it includes, the flags, the path as the compiler is given it, and what `nvcc --version`
// says. The compiler runs in the parent of the source's folder and gets `folder/file.cu`, and line
// tables are rewritten the same way, so that assert lines and coverage say `kernels/nll_loss.cu`
// wherever the tree lies. Threads and processes may share a cache: one compiles, the others wait
// for it.
#ifndef LG_DEVICE_COMPILE_H
#define LG_DEVICE_COMPILE_H

#include "support/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct lg_compiler lg_compiler;

// `nvcc`: a path, or a name to be found on PATH. NULL with an error when it does not run. The cache
// folder is made if need be.
lg_compiler *lg_compiler_open(const char *nvcc, const char *cache_dir, lg_diags *diags);
void lg_compiler_close(lg_compiler *compiler);
// Calls `notice` with the source's path before nvcc starts on it.
void lg_compiler_notify(lg_compiler *compiler, void (*notice)(void *context, const char *source),
                        void *context);

typedef struct lg_compiled {
    char *path; // of the PTX in the cache
    char *ptx;  // the text, NUL-terminated, not to be written to
    size_t n_bytes;
    size_t mapped;   // bytes of address space at `ptx` where the file is mapped; 0: malloc'd
    bool from_cache; // no compiler ran for this call
} lg_compiled;

// False with the compiler's errors in `diags`, each at its own file and line (as the compiler names
// the file). Warnings of a compilation that succeeds are added as warnings, once: not when it is
// cached.
bool lg_compile(lg_compiler *compiler, const char *source, const char *const *flags, int n_flags,
                lg_compiled *out, lg_diags *diags);
void lg_compiled_free(lg_compiled *compiled);
// The text will not be read for a while: its pages need not stay in memory till then.
void lg_compiled_rest(const lg_compiled *compiled);

#endif
