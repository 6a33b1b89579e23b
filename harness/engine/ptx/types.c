// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/types.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
    lg_ptx_class class;
    lg_ptx_type wide;
} types[] = {{.name = ""},
#define LG_PTX_TYPE(id, suffix, bytes, class, wide)                                                \
    {suffix, bytes, LG_CLASS_##class, LG_PTX_##wide},
             LG_PTX_TYPES(LG_PTX_TYPE)
#undef LG_PTX_TYPE
};

static const struct {
    const char *name;
    lg_ptx_type type;
} sregs[] = {
#define LG_PTX_SREG(id, name, type) {name, LG_PTX_##type},
#include "engine/ptx/sregs.def"
#undef LG_PTX_SREG
};

// Families of special registers of PTX ISA 9.0 that the AST has no place for.
static const char *const other_sregs[] = {
    "%tid",           "%ntid",           "%ctaid",
    "%nctaid",        "%envreg",         "%pm",
    "%cluster",       "%nclusterid",     "%is_explicit_cluster",
    "%globaltimer_",  "%aggr_smem_size", "%reserved_smem_offset",
    "%current_graph", "%gridid",
};

const char *lg_ptx_type_name(lg_ptx_type type) {
    return types[type < LG_PTX_N_TYPES ? type : 0].name;
}

uint32_t lg_ptx_type_bytes(lg_ptx_type type) {
    return types[type < LG_PTX_N_TYPES ? type : 0].bytes;
}

lg_ptx_type lg_ptx_type_from_text(const char *text, size_t n) {
    for (int type = 1; type < LG_PTX_N_TYPES; type++) {
        if (strlen(types[type].name) == n && memcmp(types[type].name, text, n) == 0) {
            return (lg_ptx_type)type;
        }
    }
    return LG_PTX_NO_TYPE;
}

lg_ptx_class lg_ptx_type_class(lg_ptx_type type) {
    return types[type < LG_PTX_N_TYPES ? type : 0].class;
}

lg_ptx_type lg_ptx_type_wide(lg_ptx_type type) {
    return types[type < LG_PTX_N_TYPES ? type : 0].wide;
}

const char *lg_ptx_sreg_name(lg_ptx_sreg sreg) {
    return sreg < LG_N_SREGS ? sregs[sreg].name : "%unknown";
}

lg_ptx_type lg_ptx_sreg_type(lg_ptx_sreg sreg) {
    return sreg < LG_N_SREGS ? sregs[sreg].type : LG_PTX_U32;
}

int lg_ptx_sreg_from_text(const char *text, size_t n, bool *known) {
    *known = true;
    for (int sreg = 0; sreg < LG_N_SREGS; sreg++) {
        if (strlen(sregs[sreg].name) == n && memcmp(sregs[sreg].name, text, n) == 0) {
            return sreg;
        }
    }
    for (size_t i = 0; i < sizeof other_sregs / sizeof *other_sregs; i++) {
        size_t length = strlen(other_sregs[i]);
        if (n >= length && memcmp(other_sregs[i], text, length) == 0) {
            return -1;
        }
    }
    *known = false;
    return -1;
}
