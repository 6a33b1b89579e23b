// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/types.h"

#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[] = {{"", 0},
#define LG_PTX_TYPE(id, suffix, bytes) {suffix, bytes},
             LG_PTX_TYPES(LG_PTX_TYPE)
#undef LG_PTX_TYPE
};

static const struct {
    const char *name;
    lg_ptx_type type;
} sregs[] = {
    [LG_SREG_TID_X] = {"%tid.x", LG_PTX_U32},
    [LG_SREG_TID_Y] = {"%tid.y", LG_PTX_U32},
    [LG_SREG_TID_Z] = {"%tid.z", LG_PTX_U32},
    [LG_SREG_NTID_X] = {"%ntid.x", LG_PTX_U32},
    [LG_SREG_NTID_Y] = {"%ntid.y", LG_PTX_U32},
    [LG_SREG_NTID_Z] = {"%ntid.z", LG_PTX_U32},
    [LG_SREG_CTAID_X] = {"%ctaid.x", LG_PTX_U32},
    [LG_SREG_CTAID_Y] = {"%ctaid.y", LG_PTX_U32},
    [LG_SREG_CTAID_Z] = {"%ctaid.z", LG_PTX_U32},
    [LG_SREG_NCTAID_X] = {"%nctaid.x", LG_PTX_U32},
    [LG_SREG_NCTAID_Y] = {"%nctaid.y", LG_PTX_U32},
    [LG_SREG_NCTAID_Z] = {"%nctaid.z", LG_PTX_U32},
    [LG_SREG_LANEID] = {"%laneid", LG_PTX_U32},
    [LG_SREG_WARPID] = {"%warpid", LG_PTX_U32},
    [LG_SREG_NWARPID] = {"%nwarpid", LG_PTX_U32},
    [LG_SREG_SMID] = {"%smid", LG_PTX_U32},
    [LG_SREG_NSMID] = {"%nsmid", LG_PTX_U32},
    [LG_SREG_GRIDID] = {"%gridid", LG_PTX_U64},
    [LG_SREG_LANEMASK_EQ] = {"%lanemask_eq", LG_PTX_U32},
    [LG_SREG_LANEMASK_LE] = {"%lanemask_le", LG_PTX_U32},
    [LG_SREG_LANEMASK_LT] = {"%lanemask_lt", LG_PTX_U32},
    [LG_SREG_LANEMASK_GE] = {"%lanemask_ge", LG_PTX_U32},
    [LG_SREG_LANEMASK_GT] = {"%lanemask_gt", LG_PTX_U32},
    [LG_SREG_CLOCK] = {"%clock", LG_PTX_U32},
    [LG_SREG_CLOCK_HI] = {"%clock_hi", LG_PTX_U32},
    [LG_SREG_CLOCK64] = {"%clock64", LG_PTX_U64},
    [LG_SREG_GLOBALTIMER] = {"%globaltimer", LG_PTX_U64},
    [LG_SREG_DYNAMIC_SMEM_SIZE] = {"%dynamic_smem_size", LG_PTX_U32},
    [LG_SREG_TOTAL_SMEM_SIZE] = {"%total_smem_size", LG_PTX_U32},
};
_Static_assert(sizeof sregs / sizeof *sregs == LG_N_SREGS, "a name for every special register");

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
    switch (type) {
    case LG_PTX_U8:
    case LG_PTX_U16:
    case LG_PTX_U32:
    case LG_PTX_U64:
    case LG_PTX_S8:
    case LG_PTX_S16:
    case LG_PTX_S32:
    case LG_PTX_S64:
        return LG_CLASS_INT;
    case LG_PTX_F16:
    case LG_PTX_BF16:
    case LG_PTX_F32:
    case LG_PTX_F64:
        return LG_CLASS_FLOAT;
    case LG_PTX_F16X2:
    case LG_PTX_BF16X2:
        return LG_CLASS_PAIR;
    case LG_PTX_PRED:
        return LG_CLASS_PRED;
    case LG_PTX_NO_TYPE:
    case LG_PTX_B8:
    case LG_PTX_B16:
    case LG_PTX_B32:
    case LG_PTX_B64:
    case LG_PTX_B128:
    case LG_PTX_N_TYPES:
        break;
    }
    return LG_CLASS_BITS;
}

lg_ptx_type lg_ptx_type_wide(lg_ptx_type type) {
    switch (type) {
    case LG_PTX_U16:
        return LG_PTX_U32;
    case LG_PTX_S16:
        return LG_PTX_S32;
    case LG_PTX_U32:
        return LG_PTX_U64;
    case LG_PTX_S32:
        return LG_PTX_S64;
    case LG_PTX_B16:
        return LG_PTX_B32;
    case LG_PTX_B32:
        return LG_PTX_B64;
    case LG_PTX_NO_TYPE:
    case LG_PTX_B8:
    case LG_PTX_B64:
    case LG_PTX_B128:
    case LG_PTX_U8:
    case LG_PTX_U64:
    case LG_PTX_S8:
    case LG_PTX_S64:
    case LG_PTX_F16:
    case LG_PTX_F16X2:
    case LG_PTX_BF16:
    case LG_PTX_BF16X2:
    case LG_PTX_F32:
    case LG_PTX_F64:
    case LG_PTX_PRED:
    case LG_PTX_N_TYPES:
        break;
    }
    return LG_PTX_NO_TYPE;
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
