// SPDX-License-Identifier: Apache-2.0
// Names and classes of types, names of special registers. Private to engine/ptx.
#ifndef LG_ENGINE_PTX_TYPES_H
#define LG_ENGINE_PTX_TYPES_H

#include "engine/ptx/ast.h"

typedef enum lg_ptx_class {
    LG_CLASS_BITS,
    LG_CLASS_INT,
    LG_CLASS_FLOAT,
    LG_CLASS_PAIR, // f16x2, bf16x2
    LG_CLASS_PRED,
} lg_ptx_class;

lg_ptx_type lg_ptx_type_from_text(const char *text, size_t n); // without the dot; NO_TYPE: none
lg_ptx_class lg_ptx_type_class(lg_ptx_type type);
lg_ptx_type lg_ptx_type_wide(lg_ptx_type type); // .u16 → .u32 …

// Index, or -1; *known tells a register that PTX has and this parser does not.
int lg_ptx_sreg_from_text(const char *text, size_t n, bool *known);
lg_ptx_type lg_ptx_sreg_type(lg_ptx_sreg sreg);

#endif
