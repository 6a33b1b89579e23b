// SPDX-License-Identifier: Apache-2.0
// Integer lanes against 128-bit arithmetic and bit-by-bit definitions.
#include "unit/engine/sim/lane/testing.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static __int128 a_of(const lane_test *t, const uint64_t *s) {
    return int_of(t->insn.types[0], s[0]);
}
static __int128 b_of(const lane_test *t, const uint64_t *s) {
    return int_of(t->insn.types[0], s[1]);
}

// The low 128 bits of the product, which is all of it but for the sign of u64 * u64.
static __int128 product_of(const lane_test *t, const uint64_t *s) {
    return (__int128)((unsigned __int128)a_of(t, s) * (unsigned __int128)b_of(t, s));
}

static __int128 clamp_to(lg_ptx_type type, __int128 x) {
    int bits = type_bits(type);
    bool is_signed = type_is_signed(type);
    __int128 most = ((__int128)1 << (is_signed ? bits - 1 : bits)) - 1;
    __int128 least = is_signed ? -most - 1 : 0;
    return x < least ? least : x > most ? most : x;
}

static void put(const lane_test *t, lane_answer *answer, __int128 x) {
    x = t->insn.mods.sat ? clamp_to(t->insn.types[0], x) : x;
    answer->d[0] = low_bits((uint64_t)x, t->form.dst_bytes[0] * 8);
}

static void oracle_arithmetic(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    __int128 a = a_of(t, s), b = b_of(t, s), r = 0;
    lg_ptx_op op = t->insn.op;
    if (op == LG_OP_ADD || op == LG_OP_SUB) {
        r = op == LG_OP_ADD ? a + b : a - b;
    } else if (op == LG_OP_MIN || op == LG_OP_MAX) {
        r = (op == LG_OP_MIN) == (a < b) ? a : b;
        r = t->insn.mods.relu && r < 0 ? 0 : r;
    } else if (op == LG_OP_NEG) {
        r = -a;
    } else if (op == LG_OP_ABS) {
        r = a < 0 ? -a : a;
    } else if (op == LG_OP_SAD) {
        r = (a < b ? b - a : a - b) + int_of(t->insn.types[0], s[2]);
    } else if (b == 0) {
        r = -1; // div and rem by zero, as documented
    } else {
        r = op == LG_OP_DIV ? a / b : a % b;
    }
    put(t, answer, r);
}

static void oracle_product(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_type type = t->insn.types[0];
    int bits = type_bits(type);
    __int128 product = product_of(t, s);
    lg_ptx_sub sub = t->insn.mods.sub;
    if (t->insn.op == LG_OP_MUL24 || t->insn.op == LG_OP_MAD24) {
        __int128 mask = (1 << 24) - 1, a = a_of(t, s) & mask, b = b_of(t, s) & mask;
        a = type_is_signed(type) && a >> 23 ? a - mask - 1 : a;
        b = type_is_signed(type) && b >> 23 ? b - mask - 1 : b;
        product = (a * b) >> (sub == LG_SUB_HI ? 16 : 0);
        product = type_is_signed(type) ? (__int128)(int32_t)product : (__int128)(uint32_t)product;
    } else if (sub == LG_SUB_HI) {
        product =
            type == LG_PTX_U64 ? (__int128)((unsigned __int128)product >> 64) : product >> bits;
    }
    __int128 c = t->form.n_src < 3    ? 0
                 : t->insn.mods.sat   ? int_of(type, s[2])
                 : sub == LG_SUB_WIDE ? (__int128)s[2]
                                      : (__int128)low_bits(s[2], bits);
    put(t, answer, product + c);
}

static void oracle_dot(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    bool two = t->insn.op == LG_OP_DP2A;
    int64_t sum = (int64_t)s[2];
    for (int i = 0; i < (two ? 2 : 4); i++) {
        int width = two ? 16 : 8, byte = i + (t->insn.mods.sub == LG_SUB_HI ? 2 : 0);
        int64_t a = (int64_t)(s[0] >> (width * i)) & ((1 << width) - 1);
        int64_t b = (int64_t)(s[1] >> (8 * byte)) & 0xff;
        a = t->insn.types[0] == LG_PTX_S32 && a >> (width - 1) ? a - (1 << width) : a;
        b = t->insn.types[1] == LG_PTX_S32 && b >> 7 ? b - 256 : b;
        sum += a * b;
    }
    answer->d[0] = low_bits((uint64_t)sum, 32);
}

// Carry and borrow out of the exact 128-bit value; for u64 madc.hi that needs care with the
// product.
static void oracle_carry(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_op op = t->insn.op;
    int bits = type_bits(t->insn.types[0]);
    bool takes = op == LG_OP_ADDC || op == LG_OP_SUBC || op == LG_OP_MADC;
    unsigned __int128 k = takes ? s[LG_MAX_SRC] : 0, x;
    unsigned __int128 a = low_bits(s[0], bits), b = low_bits(s[1], bits), c = low_bits(s[2], bits);
    if (op == LG_OP_ADD || op == LG_OP_ADDC) {
        x = a + b + k;
    } else if (op == LG_OP_SUB || op == LG_OP_SUBC) {
        x = a - b - k;
    } else {
        unsigned __int128 product = (unsigned __int128)product_of(t, s);
        product = t->insn.mods.sub == LG_SUB_HI ? product >> bits : product;
        x = (unsigned __int128)low_bits((uint64_t)product, bits) + c + k;
    }
    answer->d[0] = low_bits((uint64_t)x, bits);
    answer->cc = t->insn.mods.cc ? (uint64_t)(x >> bits) & 1 : s[LG_MAX_SRC];
}

static uint64_t bit_of(uint64_t x, int i) {
    return i < 64 ? (x >> i) & 1 : 0;
}

static void oracle_bits(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_op op = t->insn.op;
    int bits = t->insn.types[0] == LG_PTX_PRED ? 1 : type_bits(t->insn.types[0]);
    uint64_t r = 0;
    for (int i = 0; i < bits; i++) {
        uint64_t a = bit_of(s[0], i), b = bit_of(s[1], i), c = bit_of(s[2], i);
        uint64_t bit = op == LG_OP_AND    ? a & b
                       : op == LG_OP_OR   ? a | b
                       : op == LG_OP_XOR  ? a != b
                       : op == LG_OP_NOT  ? !a
                       : op == LG_OP_LOP3 ? bit_of(s[3], (int)(4 * a + 2 * b + c))
                                          : i == 0 && s[0] == 0; // cnot
        r |= bit << i;
    }
    answer->d[0] = r;
    if (op == LG_OP_LOP3 && t->form.n_dst == 2) {
        answer->d[1] = t->insn.mods.bool_op == LG_SUB_AND ? r != 0 && s[4] : r != 0 || s[4];
    }
}

static void oracle_shift(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    int bits = type_bits(t->insn.types[0]);
    __int128 a = a_of(t, s);
    uint64_t n = s[1] > 64 ? 64 : s[1];
    a = t->insn.op == LG_OP_SHL ? (__int128)((unsigned __int128)a << n) : a >> n;
    answer->d[0] = low_bits((uint64_t)a, bits);
}

static void oracle_funnel(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    uint64_t n = t->insn.mods.wrap ? s[2] % 32 : s[2] > 32 ? 32 : s[2];
    uint64_t r = 0;
    for (int i = 0; i < 32; i++) {
        // Bit i of the result is bit i + 32 - n of b:a for a left shift, bit i + n for a right one.
        int from = t->insn.mods.sub == LG_SUB_L ? i + 32 - (int)n : i + (int)n;
        r |= (from < 32 ? bit_of(s[0], from) : bit_of(s[1], from - 32)) << i;
    }
    answer->d[0] = r;
}

static void oracle_prmt(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    // PTX's table of the modes, by the two low bits of c: bytes 3, 2, 1, 0.
    static const uint16_t modes[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
    };
    lg_ptx_sub sub = t->insn.mods.sub;
    uint64_t selectors = sub == LG_SUB_NONE ? s[2] : modes[sub - LG_SUB_F4E][s[2] & 3];
    uint64_t bytes = s[0] | s[1] << 32, r = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t selector = (selectors >> (4 * i)) & 15;
        uint64_t byte = (bytes >> (8 * (selector & 7))) & 255;
        r |= (selector & 8 ? (byte >= 128 ? 255u : 0u) : byte) << (8 * i);
    }
    answer->d[0] = r;
}

static void oracle_count(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    int bits = type_bits(t->insn.types[0]), n = 0, top = -1;
    uint64_t reversed = 0;
    uint64_t sign = type_is_signed(t->insn.types[0]) ? bit_of(s[0], bits - 1) : 0;
    for (int i = 0; i < bits; i++) {
        n += (int)bit_of(s[0], i);
        reversed |= bit_of(s[0], i) << (bits - 1 - i);
        top = bit_of(s[0], i) != sign ? i : top;
    }
    lg_ptx_op op = t->insn.op;
    answer->d[0] = op == LG_OP_POPC   ? (uint64_t)n
                   : op == LG_OP_BREV ? reversed
                   : op == LG_OP_CLZ  ? (uint64_t)(bits - 1 - top)
                   : top < 0          ? UINT32_MAX
                                      : (uint64_t)(t->insn.mods.shiftamt ? bits - 1 - top : top);
}

// The pseudo-code of PTX, bit by bit.
static void oracle_field(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_op op = t->insn.op;
    int bits = type_bits(t->insn.types[0]), msb = bits - 1;
    uint64_t r = 0;
    if (op == LG_OP_BFE) {
        int pos = (int)(s[1] & 255), len = (int)(s[2] & 255);
        int at = pos + len - 1 < msb ? pos + len - 1 : msb;
        uint64_t sign = !type_is_signed(t->insn.types[0]) || len == 0 ? 0 : bit_of(s[0], at);
        for (int i = 0; i <= msb; i++) {
            r |= (i < len && pos + i <= msb ? bit_of(s[0], pos + i) : sign) << i;
        }
    } else if (op == LG_OP_BFI) {
        int pos = (int)(s[2] & 255), len = (int)(s[3] & 255);
        r = s[1];
        for (int i = 0; i < len && pos + i <= msb; i++) {
            r = (r & ~(1ull << (pos + i))) | bit_of(s[0], i) << (pos + i);
        }
    } else if (op == LG_OP_SZEXT) {
        int n = (int)(t->insn.mods.wrap ? s[1] % 32 : s[1] > 32 ? 32 : s[1]);
        for (int i = 0; i < 32; i++) {
            uint64_t sign = type_is_signed(t->insn.types[0]) && n > 0 ? bit_of(s[0], n - 1) : 0;
            r |= (i < n ? bit_of(s[0], i) : sign) << i;
        }
    } else {
        uint64_t a = t->insn.mods.wrap ? s[0] % 32 : s[0], b = t->insn.mods.wrap ? s[1] % 32 : s[1];
        for (uint64_t i = a; i < 32 && i - a < b; i++) {
            r |= 1ull << i;
        }
    }
    answer->d[0] = r;
}

static void oracle_fns(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    (void)t;
    int32_t n = (int32_t)(uint32_t)s[2];
    int64_t count = n > 0 ? (int64_t)n - 1 : -(int64_t)n - 1;
    answer->d[0] = UINT32_MAX;
    if (n == 0) {
        answer->d[0] = s[1] < 32 && bit_of(s[0], (int)s[1]) ? s[1] : UINT32_MAX;
        return;
    }
    for (int64_t p = (int64_t)s[1]; p >= 0 && p<32; p += n> 0 ? 1 : -1) {
        if (bit_of(s[0], (int)p) && count-- == 0) {
            answer->d[0] = (uint64_t)p;
            return;
        }
    }
}

static void test_arithmetic(void) {
    static const lane_row rows[] = {
        {"{add,sub,div,rem,min,max,sad}.{u16,u32,u64,s16,s32,s64}", oracle_arithmetic},
        {"{add,sub}.sat.s32", oracle_arithmetic},
        {"{min,max}.relu.s32", oracle_arithmetic},
        {"{abs,neg}.{s16,s32,s64}", oracle_arithmetic},
        {"{mul,mad}.{lo,hi}.{u16,u32,u64,s16,s32,s64}", oracle_product},
        {"{mul,mad}.wide.{u16,u32,s16,s32}", oracle_product},
        {"mad.hi.sat.s32", oracle_product},
        {"{mul24,mad24}.{lo,hi}.{u32,s32}", oracle_product},
        {"mad24.hi.sat.s32", oracle_product},
        {"dp4a.{u32,s32}.{u32,s32}", oracle_dot},
        {"dp2a.{lo,hi}.{u32,s32}.{u32,s32}", oracle_dot},
    };
    lane_check_rows(rows, N(rows), 60);
}

static void test_carry(void) {
    static const lane_row rows[] = {
        {"{add,sub}.cc.{u32,s32,u64,s64}", oracle_carry},
        {"{addc,subc}.{u32,s32,u64,s64}", oracle_carry},
        {"{addc,subc}.cc.{u32,s32,u64,s64}", oracle_carry},
        {"{mad,madc}.{lo,hi}.cc.{u32,s32,u64,s64}", oracle_carry},
        {"madc.{lo,hi}.{u32,s32,u64,s64}", oracle_carry},
    };
    lane_check_rows(rows, N(rows), 100);
}

static void test_bits(void) {
    static const lane_row rows[] = {
        {"{and,or,xor,not}.{pred,b16,b32,b64}", oracle_bits},
        {"cnot.{b16,b32,b64}", oracle_bits},
        {"lop3.b32", oracle_bits},
        {"{shl,shr}.{b16,b32,b64}", oracle_shift},
        {"shr.{u16,u32,u64,s16,s32,s64}", oracle_shift},
        {"shf.{l,r}.{clamp,wrap}.b32", oracle_funnel},
        {"prmt.b32", oracle_prmt},
        {"prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16}", oracle_prmt},
        {"{popc,clz,brev}.{b32,b64}", oracle_count},
        {"bfind.{u32,s32,u64,s64}", oracle_count},
        {"bfind.shiftamt.{u32,s32,u64,s64}", oracle_count},
        {"bfe.{u32,s32,u64,s64}", oracle_field},
        {"bfi.{b32,b64}", oracle_field},
        {"szext.{clamp,wrap}.{u32,s32}", oracle_field},
        {"bmsk.{clamp,wrap}.b32", oracle_field},
        {"fns.b32", oracle_fns},
    };
    lane_check_rows(rows, N(rows), 100);
}

// lop3.and and lop3.or write a predicate beside the register.
static void test_lop3_predicate(void) {
    static const char *const names[] = {"lop3.and.b32", "lop3.or.b32"};
    lg_arena arena = {0};
    for (size_t i = 0; i < N(names); i++) {
        lane_test t;
        LG_CHECK_ROW(names[i], lane_open(&t, &arena, names[i]));
        t.form.n_dst = 2;
        t.form.dst_bytes[1] = 0;
        t.dst_types[1] = LG_PTX_PRED;
        LG_CHECK_ROW(names[i], lane_check(&t, oracle_bits, 60));
    }
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"integer arithmetic wraps, saturates and divides as PTX says", test_arithmetic},
        {"carry chains take and give the carry", test_carry},
        {"logic, shifts and bit fields, bit by bit", test_bits},
        {"lop3 with a predicate", test_lop3_predicate},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
