// SPDX-License-Identifier: Apache-2.0
// setp, set, selp and slct: every comparison of every type, with the boolean operations.
#include "unit/engine/sim/lane/testing.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static float flush(bool ftz, float x) {
    return ftz && fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

// A 16-bit float by its fields.
static double half_value(lg_ptx_type type, bool ftz, uint64_t h) {
    bool bf16 = type == LG_PTX_BF16 || type == LG_PTX_BF16X2;
    int mantissa = bf16 ? 7 : 10, bias = bf16 ? 127 : 15;
    int exponent = (int)((h & 0x7fff) >> mantissa), fraction = (int)(h & ((1u << mantissa) - 1));
    double x;
    if (exponent == 2 * bias + 1) {
        x = fraction ? NAN : INFINITY;
    } else if (exponent == 0) {
        x = ftz ? 0 : ldexp(fraction, 1 - bias - mantissa);
    } else {
        x = ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
    }
    return h & 0x8000 ? -x : x;
}

static bool holds(lg_ptx_cmp cmp, int order, bool unordered) {
    switch (cmp) {
    case LG_CMP_NUM:
        return !unordered;
    case LG_CMP_NAN:
        return unordered;
    case LG_CMP_EQ:
        return !unordered && order == 0;
    case LG_CMP_NE:
        return !unordered && order != 0;
    case LG_CMP_LT:
    case LG_CMP_LO:
        return !unordered && order < 0;
    case LG_CMP_LE:
    case LG_CMP_LS:
        return !unordered && order <= 0;
    case LG_CMP_GT:
    case LG_CMP_HI:
        return !unordered && order > 0;
    case LG_CMP_GE:
    case LG_CMP_HS:
        return !unordered && order >= 0;
    case LG_CMP_EQU:
        return unordered || order == 0;
    case LG_CMP_NEU:
        return unordered || order != 0;
    case LG_CMP_LTU:
        return unordered || order < 0;
    case LG_CMP_LEU:
        return unordered || order <= 0;
    case LG_CMP_GTU:
        return unordered || order > 0;
    case LG_CMP_GEU:
        return unordered || order >= 0;
    case LG_CMP_NONE:
        break;
    }
    return false;
}

// Compares part `half` (0 unless packed) of two values of a type.
static bool compare(const lane_test *t, lg_ptx_type type, uint64_t a, uint64_t b, int half) {
    bool ftz = t->insn.mods.ftz;
    double x = 0, y = 0;
    if (type == LG_PTX_F32) {
        x = flush(ftz, float_of(a));
        y = flush(ftz, float_of(b));
    } else if (type == LG_PTX_F64) {
        x = double_of(a);
        y = double_of(b);
    } else if (type >= LG_PTX_F16 && type <= LG_PTX_BF16X2) {
        x = half_value(type, ftz, (a >> (16 * half)) & 0xffff);
        y = half_value(type, ftz, (b >> (16 * half)) & 0xffff);
    } else {
        __int128 p = int_of(type, a), q = int_of(type, b);
        return holds(t->insn.mods.cmp, p < q ? -1 : p > q, false);
    }
    return holds(t->insn.mods.cmp, x < y ? -1 : x > y, x != x || y != y);
}

static bool combine(const lane_test *t, bool x, bool c) {
    lg_ptx_sub op = t->insn.mods.bool_op;
    return op == LG_SUB_AND ? x && c : op == LG_SUB_OR ? x || c : op == LG_SUB_XOR ? x != c : x;
}

static bool is_packed(lg_ptx_type type) {
    return type == LG_PTX_F16X2 || type == LG_PTX_BF16X2;
}

static void oracle_setp(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_type type = t->insn.types[0];
    bool p = compare(t, type, s[0], s[1], 0);
    bool q = is_packed(type) ? compare(t, type, s[0], s[1], 1) : !p;
    answer->d[0] = combine(t, p, s[2] != 0);
    answer->d[1] = combine(t, q, s[2] != 0);
}

static void oracle_set(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_type to = t->insn.types[0], from = t->insn.types[1];
    int n = is_packed(from) ? 2 : 1, bits = is_packed(from) ? 16 : type_bits(to);
    answer->d[0] = 0;
    for (int i = 0; i < n; i++) {
        bool yes = combine(t, compare(t, from, s[0], s[1], i), s[2] != 0);
        uint64_t one = to == LG_PTX_F32                           ? 0x3f800000u
                       : to == LG_PTX_F16 || to == LG_PTX_F16X2   ? 0x3c00u
                       : to == LG_PTX_BF16 || to == LG_PTX_BF16X2 ? 0x3f80u
                                                                  : low_bits(UINT64_MAX, bits);
        answer->d[0] |= (yes ? one : 0) << (16 * i);
    }
}

static void oracle_choice(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    bool first = t->insn.op == LG_OP_SELP         ? s[2] != 0
                 : t->insn.types[1] == LG_PTX_S32 ? (int32_t)(uint32_t)s[2] >= 0
                                                  : flush(t->insn.mods.ftz, float_of(s[2])) >= 0;
    answer->d[0] = first ? s[0] : s[1];
}

#define FLOAT_CMP "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define BOOL "{and,or,xor}"

static void test_setp(void) {
    static const lane_row rows[] = {
        {"setp.{eq,ne}.{b16,b32,b64}", oracle_setp},
        {"setp.{eq,ne,lt,le,gt,ge}.{s16,s32,s64,u16,u32,u64}", oracle_setp},
        {"setp.{lo,ls,hi,hs}.{u16,u32,u64}", oracle_setp},
        {"setp." FLOAT_CMP ".{f32,f64,f16,f16x2,bf16,bf16x2,ftz.f32,ftz.f16,ftz.f16x2}",
         oracle_setp},
        {"setp.{eq,ne}." BOOL ".{b16,b32,b64}", oracle_setp},
        {"setp.{eq,ne,lt,le,gt,ge}." BOOL ".{s16,s32,s64,u16,u32,u64}", oracle_setp},
        {"setp." FLOAT_CMP "." BOOL ".{f32,f64,f16,f16x2,bf16,bf16x2,ftz.f32,ftz.f16,ftz.f16x2}",
         oracle_setp},
    };
    lane_check_rows(rows, N(rows), 16);
}

// The form p|q, which the mnemonic alone does not show.
static void check_pair(const char *name, void *context) {
    lane_test t;
    LG_CHECK_ROW(name, lane_open(&t, context, name));
    t.form.n_dst = 2;
    t.dst_types[1] = LG_PTX_PRED;
    LG_CHECK_ROW(name, lane_check(&t, oracle_setp, 16));
}

static void test_setp_pair(void) {
    lg_arena arena = {0};
    lane_expand("setp.{eq,lt,ge}.{s16,s32,s64,u16,u32,u64}", check_pair, &arena);
    lane_expand("setp.{lt,nan,geu}.{f32,f64,f16,f16x2,bf16,bf16x2}", check_pair, &arena);
    lane_expand("setp.lt." BOOL ".{s32,f32,f64,f16,f16x2,bf16x2}", check_pair, &arena);
    lg_arena_free(&arena);
}

static void test_set(void) {
    static const lane_row rows[] = {
        {"set.{eq,ne}.{u32,s32,f32,f16,bf16}.{b16,b32,b64}", oracle_set},
        {"set.{eq,ne,lt,le,gt,ge}.{u32,s32,f32,f16,bf16}.{s16,s32,s64,u16,u32,u64}", oracle_set},
        {"set.{lo,ls,hi,hs}.{u32,s32,f32,f16,bf16}.{u16,u32,u64}", oracle_set},
        {"set." FLOAT_CMP ".{u32,s32,f32}.{f32,f64}", oracle_set},
        {"set." FLOAT_CMP ".ftz.{u32,s32,f32}.f32", oracle_set},
        {"set." FLOAT_CMP ".{f16,u16,s16,u32,s32}.f16", oracle_set},
        {"set." FLOAT_CMP ".ftz.{f16,u32}.f16", oracle_set},
        {"set." FLOAT_CMP ".{bf16,u16,s16,u32,s32}.bf16", oracle_set},
        {"set." FLOAT_CMP ".{f16x2,u32,s32}.f16x2", oracle_set},
        {"set." FLOAT_CMP ".{bf16x2,u32,s32}.bf16x2", oracle_set},
        {"set.{lt,geu}." BOOL ".{u32,f32}.{f32,f64}", oracle_set},
        {"set.{lt,geu}." BOOL ".{u16,f16,u32}.f16", oracle_set},
        {"set.{lt,geu}." BOOL ".f16x2.f16x2", oracle_set},
        {"set.{lt,ge}." BOOL ".{u32,f32,f16,bf16}.{s16,s32,s64,u16,u32,u64}", oracle_set},
    };
    lane_check_rows(rows, N(rows), 16);
}

static void test_choice(void) {
    static const lane_row rows[] = {
        {"selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}", oracle_choice},
        {"slct.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.{s32,f32}", oracle_choice},
        {"slct.ftz.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.f32", oracle_choice},
    };
    lane_check_rows(rows, N(rows), 40);
}

int main(void) {
    static const lg_test tests[] = {
        {"setp of every type, comparison and boolean operation", test_setp},
        {"setp into two predicates", test_setp_pair},
        {"set into integers and floats", test_set},
        {"selp and slct", test_choice},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
