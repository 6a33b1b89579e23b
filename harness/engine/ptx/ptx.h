// SPDX-License-Identifier: Apache-2.0
// PTX text → checked module. The only entrance to engine/ptx for the layers above.
#ifndef LG_ENGINE_PTX_PTX_H
#define LG_ENGINE_PTX_PTX_H

#include "engine/ptx/ast.h"
#include "support/error.h"
#include "support/str.h"

// Parses `n` bytes (a NUL ends it earlier), checks types, operands, labels and forms, lays out
// parameters and frames, and computes the reconvergence points. Lists *all* problems it can, with
// line and column of the PTX; NULL when there is any. Never crashes or hangs on hostile input
// (nesting, counts and sizes are bounded). Free with lg_ptx_free.
lg_ptx_module *lg_ptx_load(const char *name, const char *text, size_t n, lg_diags *diags);
void lg_ptx_free(lg_ptx_module *module);

// Index of a function by name, -1 when there is none.
int lg_ptx_find_function(const lg_ptx_module *module, const char *name);

// The innermost source position of an instruction ("kernels/nll_loss.cu", 41); false when unknown.
bool lg_ptx_source(const lg_ptx_module *module, const lg_ptx_function *function, int insn,
                   const char **file, int *line, int *column);

// The same, but of code inlined from a header of the toolkit (in a folder `include`) the call site:
// atomicAdd and __shfl_sync are functions there.
bool lg_ptx_caller_source(const lg_ptx_module *module, const lg_ptx_function *function, int insn,
                          const char **file, int *line, int *column);

// A listing for people: each instruction with index, source file:line when it changes, PTX line and
// the reconvergence point of branches.
void lg_ptx_dump(const lg_ptx_module *module, const lg_ptx_function *function, lg_str *out);

#endif
