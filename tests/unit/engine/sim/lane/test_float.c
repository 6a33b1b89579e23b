// SPDX-License-Identifier: Apache-2.0
// f32 and f64 lanes against the host's own arithmetic under its rounding modes, and the halves
// against 113-bit arithmetic that rounds once.
#include "unit/engine/sim/lane/every.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static float flush(bool ftz, float x) {
    return ftz && fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x;
}

static uint64_t finish_f32(const lane_test *t, float x) {
    const lg_ptx_mods *m = &t->insn.mods;
    x = flush(m->ftz, x);
    if (m->sat) {
        x = isnan(x) || x <= 0 ? 0.0f : x >= 1 ? 1.0f : x;
    }
    return isnan(x) ? 0x7fffffffu : bits_of_float(x);
}

static void oracle_f32(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    const lg_ptx_mods *m = &t->insn.mods;
    lg_ptx_op op = t->insn.op;
    volatile float a = flush(m->ftz, float_of(s[0])), b = flush(m->ftz, float_of(s[1]));
    volatile float c = flush(m->ftz, float_of(s[2])), r;
    fesetround(fe_mode(m->round));
    if (op == LG_OP_ADD) {
        r = a + b;
    } else if (op == LG_OP_SUB) {
        r = a - b;
    } else if (op == LG_OP_MUL) {
        r = a * b;
    } else if (op == LG_OP_DIV) {
        r = a / b;
    } else if (op == LG_OP_RCP) {
        r = 1.0f / a;
    } else if (op == LG_OP_SQRT) {
        r = sqrtf(a);
    } else {
        r = fmaf(a, b, c);
    }
    fesetround(FE_TONEAREST);
    answer->d[0] = finish_f32(t, r);
}

static void oracle_f64(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_op op = t->insn.op;
    volatile double a = double_of(s[0]), b = double_of(s[1]), c = double_of(s[2]), r;
    fesetround(fe_mode(t->insn.mods.round));
    if (op == LG_OP_ADD) {
        r = a + b;
    } else if (op == LG_OP_SUB) {
        r = a - b;
    } else if (op == LG_OP_MUL) {
        r = a * b;
    } else if (op == LG_OP_DIV) {
        r = a / b;
    } else if (op == LG_OP_RCP) {
        r = 1.0 / a;
    } else if (op == LG_OP_SQRT) {
        r = sqrt(a);
    } else {
        r = fma(a, b, c);
    }
    fesetround(FE_TONEAREST);
    answer->d[0] = bits_of_double(r);
}

// Formats of 16 bits: the exact value of one, and one rounded from 113 bits.
typedef struct half_format {
    int mantissa, bias;
} half_format;

static half_format format_of(lg_ptx_type type) {
    bool bf16 = type == LG_PTX_BF16 || type == LG_PTX_BF16X2;
    return bf16 ? (half_format){7, 127} : (half_format){10, 15};
}

static bool half_is_nan(half_format f, uint64_t h) {
    return (h & 0x7fff) > ((uint64_t)(2 * f.bias + 1) << f.mantissa);
}

static __float128 power_of_2(int e) {
    return (__float128)ldexp(1.0, e); // exact: |e| stays below 1000
}

static __float128 half_value(half_format f, uint64_t h) {
    int exponent = (int)((h & 0x7fff) >> f.mantissa);
    int fraction = (int)(h & ((1u << f.mantissa) - 1));
    __float128 x;
    if (exponent == 2 * f.bias + 1) {
        x = fraction ? (__float128)NAN : (__float128)INFINITY;
    } else {
        x = (fraction + (exponent ? 1 << f.mantissa : 0)) *
            power_of_2((exponent ? exponent : 1) - f.bias - f.mantissa);
    }
    return h & 0x8000 ? -x : x;
}

static uint64_t half_nearest(half_format f, __float128 x, bool negative_zero) {
    if (x != x) {
        return 0x7fff;
    }
    uint64_t sign = x < 0 || (x == 0 && negative_zero) ? 0x8000 : 0;
    x = x < 0 ? -x : x;
    uint64_t infinity = (uint64_t)(2 * f.bias + 1) << f.mantissa;
    if (x >= power_of_2(f.bias + 1)) {
        return sign | infinity;
    }
    int e = x == 0 ? 1 - f.bias : ilogb((double)x);
    e -= x < power_of_2(e); // the double may have been rounded up to the next power
    e = e < 1 - f.bias ? 1 - f.bias : e;
    __float128 scaled = x / power_of_2(e - f.mantissa); // below 2^(mantissa + 1)
    uint64_t whole = (uint64_t)scaled;
    __float128 rest = scaled - (__float128)whole, half = (__float128)0.5;
    whole += rest > half || (rest == half && whole % 2);
    return sign | (((uint64_t)(e + f.bias - 1) << f.mantissa) + whole);
}

static uint64_t flush_half(const lane_test *t, uint64_t h) {
    return t->insn.mods.ftz && (h & 0x7c00) == 0 ? h & 0x8000 : h;
}

static uint64_t half_of(const lane_test *t, uint64_t a, uint64_t b, uint64_t c) {
    const lg_ptx_mods *m = &t->insn.mods;
    half_format f = format_of(t->insn.types[0]);
    lg_ptx_op op = t->insn.op;
    a = flush_half(t, a);
    b = flush_half(t, b);
    c = flush_half(t, c);
    b = op == LG_OP_SUB ? b ^ 0x8000 : b;
    __float128 x = half_value(f, a), y = half_value(f, b), z = half_value(f, c), r;
    bool nz; // an exact zero result is negative
    if (op == LG_OP_ADD || op == LG_OP_SUB) {
        r = x + y;
        nz = (a & b & 0x8000) != 0;
    } else if (op == LG_OP_MUL) {
        r = x * y;
        nz = ((a ^ b) & 0x8000) != 0;
    } else {
        __float128 p = x * y;
        r = p + z;
        // An operand below the last of the 113 bits still breaks a tie.
        bool finite = r - r == 0;
        if (finite && p != 0 && z != 0 && r == p) {
            r += (z > 0) == (p > 0) ? p * power_of_2(-100) : -p * power_of_2(-100);
        } else if (finite && p != 0 && z != 0 && r == z) {
            r += (z > 0) == (p > 0) ? z * power_of_2(-100) : -z * power_of_2(-100);
        }
        nz = ((a ^ b) & c & 0x8000) != 0;
        if (r == 0 && p != 0) {
            nz = false; // cancelled
        }
    }
    uint64_t h = flush_half(t, half_nearest(f, r, nz));
    if (m->sat) {
        __float128 v = half_value(f, h);
        h = v != v || v <= 0 ? 0 : v >= 1 ? half_nearest(f, 1, false) : h;
    }
    if (m->relu && !half_is_nan(f, h)) {
        h = h & 0x8000 ? 0 : h;
    }
    return h;
}

typedef uint64_t half_function(const lane_test *t, uint64_t a, uint64_t b, uint64_t c);

static void each_half(const lane_test *t, const uint64_t *s, lane_answer *answer,
                      half_function *function) {
    answer->d[0] = 0;
    for (int i = 0; i < t->form.dst_bytes[0]; i += 2) {
        answer->d[0] |= function(t, (s[0] >> (8 * i)) & 0xffff, (s[1] >> (8 * i)) & 0xffff,
                                 (s[2] >> (8 * i)) & 0xffff)
                        << (8 * i);
    }
}

static void oracle_half(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    each_half(t, s, answer, half_of);
}

// min and max on sign and magnitude: -0 < +0, one NaN loses unless .NaN, two make a canonical one.
static uint64_t extreme(const lane_test *t, uint64_t a, uint64_t b, int bits, uint64_t infinity,
                        uint64_t canonical) {
    const lg_ptx_mods *m = &t->insn.mods;
    uint64_t sign = 1ull << (bits - 1), signs = (a ^ b) & sign, r;
    if (m->xorsign) {
        a &= ~sign;
        b &= ~sign;
    }
    bool nan_a = (a & ~sign) > infinity, nan_b = (b & ~sign) > infinity;
    if ((nan_a && nan_b) || (m->nan && (nan_a || nan_b))) {
        r = canonical;
    } else if (nan_a || nan_b) {
        r = nan_a ? b : a;
    } else {
        int64_t x = a & sign ? -(int64_t)(a & ~sign) - 1 : (int64_t)a;
        int64_t y = b & sign ? -(int64_t)(b & ~sign) - 1 : (int64_t)b;
        r = (t->insn.op == LG_OP_MIN) == (x < y) ? a : b;
    }
    return m->xorsign && (r & ~sign) <= infinity ? r | signs : r;
}

static uint64_t extreme_half(const lane_test *t, uint64_t a, uint64_t b, uint64_t c) {
    (void)c;
    half_format f = format_of(t->insn.types[0]);
    return extreme(t, flush_half(t, a), flush_half(t, b), 16,
                   (uint64_t)(2 * f.bias + 1) << f.mantissa, 0x7fff);
}

static void oracle_extreme(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    if (t->insn.types[0] == LG_PTX_F32) {
        bool ftz = t->insn.mods.ftz;
        answer->d[0] =
            extreme(t, bits_of_float(flush(ftz, float_of(s[0]))),
                    bits_of_float(flush(ftz, float_of(s[1]))), 32, 0x7f800000u, 0x7fffffffu);
    } else if (t->insn.types[0] == LG_PTX_F64) {
        answer->d[0] = extreme(t, s[0], s[1], 64, 0x7ff0000000000000u, 0x7fffffffffffffffu);
    } else {
        each_half(t, s, answer, extreme_half);
    }
}

static uint64_t sign_of_half(const lane_test *t, uint64_t a, uint64_t b, uint64_t c) {
    (void)b;
    (void)c;
    a = flush_half(t, a);
    return t->insn.op == LG_OP_ABS ? a & 0x7fff : a ^ 0x8000;
}

static void oracle_sign(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lg_ptx_type type = t->insn.types[0];
    if (type != LG_PTX_F32 && type != LG_PTX_F64) {
        each_half(t, s, answer, sign_of_half);
        return;
    }
    uint64_t sign = type == LG_PTX_F32 ? 0x80000000u : 0x8000000000000000u, a = s[0];
    if (type == LG_PTX_F32 && t->insn.mods.ftz && (a & 0x7f800000u) == 0) {
        a &= sign;
    }
    answer->d[0] = t->insn.op == LG_OP_ABS        ? a & ~sign
                   : t->insn.op == LG_OP_COPYSIGN ? (s[1] & ~sign) | (a & sign)
                                                  : a ^ sign;
}

static void oracle_testp(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    int class =
        t->insn.types[0] == LG_PTX_F32 ? fpclassify(float_of(s[0])) : fpclassify(double_of(s[0]));
    lg_ptx_sub sub = t->insn.mods.sub;
    answer->d[0] = sub == LG_SUB_FINITE       ? class != FP_NAN && class != FP_INFINITE
                   : sub == LG_SUB_INFINITE   ? class == FP_INFINITE
                   : sub == LG_SUB_NUMBER     ? class != FP_NAN
                   : sub == LG_SUB_NOTANUMBER ? class == FP_NAN
                   : sub == LG_SUB_NORMAL     ? class == FP_NORMAL
                                              : class == FP_SUBNORMAL;
}

static void test_f32(void) {
    static const lane_row rows[] = {
        {"{add,sub,mul}.f32", oracle_f32},
        {"{add,sub,mul}.{ftz,sat,ftz.sat}.f32", oracle_f32},
        {"{add,sub,mul,fma,mad}.{rn,rz,rm,rp}.f32", oracle_f32},
        {"{add,sub,mul,fma,mad}.{rn,rz,rm,rp}.{ftz,sat,ftz.sat}.f32", oracle_f32},
        {"{div,rcp,sqrt}.{rn,rz,rm,rp}.f32", oracle_f32},
        {"{div,rcp,sqrt}.{rn,rz,rm,rp}.ftz.f32", oracle_f32},
    };
    lane_check_rows(rows, N(rows), 300);
}

static void test_f64(void) {
    static const lane_row rows[] = {
        {"{add,sub,mul}.f64", oracle_f64},
        {"{add,sub,mul,fma,mad,div,rcp,sqrt}.{rn,rz,rm,rp}.f64", oracle_f64},
    };
    lane_check_rows(rows, N(rows), 200);
}

static void test_halves(void) {
    static const lane_row rows[] = {
        {"{add,sub,mul}.{f16,f16x2,bf16,bf16x2}", oracle_half},
        {"{add,sub,mul}.rn.{f16,f16x2,bf16,bf16x2}", oracle_half},
        {"{add,sub,mul}.{ftz,sat,ftz.sat}.{f16,f16x2}", oracle_half},
        {"fma.rn.{f16,f16x2,bf16,bf16x2}", oracle_half},
        {"fma.rn.relu.{f16,f16x2,bf16,bf16x2}", oracle_half},
        {"fma.rn.{ftz,sat,ftz.sat,ftz.relu}.{f16,f16x2}", oracle_half},
    };
    lane_check_rows(rows, N(rows), 100);
}

static void test_min_max(void) {
    static const lane_row rows[] = {
        {"{min,max}.{f32,f64,f16,f16x2,bf16,bf16x2}", oracle_extreme},
        {"{min,max}.{NaN,xorsign.abs,NaN.xorsign.abs}.{f32,f16,f16x2,bf16,bf16x2}", oracle_extreme},
        {"{min,max}.ftz.{f32,f16,f16x2}", oracle_extreme},
        {"{min,max}.ftz.{NaN,xorsign.abs,NaN.xorsign.abs}.{f32,f16,f16x2}", oracle_extreme},
    };
    lane_check_rows(rows, N(rows), 60);
}

static void test_signs(void) {
    static const lane_row rows[] = {
        {"{abs,neg}.{f32,f64,f16,f16x2,bf16,bf16x2}", oracle_sign},
        {"{abs,neg}.ftz.{f32,f16,f16x2}", oracle_sign},
        {"copysign.{f32,f64}", oracle_sign},
        {"testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", oracle_testp},
    };
    lane_check_rows(rows, N(rows), 40);
}

// Every f16 and bf16 times, plus and minus some others: operands that random values hardly meet.
static void test_all_halves(void) {
    static const char *const names[] = {"add.f16", "mul.f16", "fma.rn.f16", "mul.bf16",
                                        "fma.rn.bf16"};
    static const uint64_t others[][2] = {{0x3555, 0x0001}, {0x0203, 0x8001}, {0x7bff, 0xfbff}};
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    for (size_t n = 0; n < N(names); n++) {
        lane_test t;
        LG_CHECK_ROW(names[n], lane_open(&t, &arena, names[n]));
        bool ok = true;
        for (uint64_t first = 0; first < 65536 && ok; first += LG_LANES) {
            lane_values in = {0}, want, got;
            const uint64_t *other = others[(first / LG_LANES) % N(others)];
            for (int i = 0; i < LG_LANES; i++) {
                in.src[0][i] = first + (uint64_t)i;
                in.src[1][i] = other[0];
                in.src[2][i] = other[1];
            }
            lane_answers(&t, &in, UINT32_MAX, oracle_half, &want);
            for (int isa = 0; isa < n_isas && ok; isa++) {
                ok = lane_run(&t, tables[isa]->select(&t.form), &in, UINT32_MAX, &got) &&
                     lane_compare(&t, lg_isa_name(tables[isa]->isa), &in, UINT32_MAX, &want, &got);
            }
        }
        LG_CHECK_ROW(names[n], ok);
    }
    lg_arena_free(&arena);
}

// Every f16 and bf16 through what has one operand.
static void test_every_sign(void) {
    int n = lane_check_every_form("{abs,neg}.{f16,f16x2,bf16,bf16x2}", oracle_sign);
    n += lane_check_every_form("{abs,neg}.ftz.{f16,f16x2}", oracle_sign);
    CU_ASSERT_EQUAL(n, 12);
}

int main(void) {
    static const lg_test tests[] = {
        {"f32 in every rounding mode, .ftz and .sat", test_f32},
        {"f64 in every rounding mode", test_f64},
        {"f16, bf16 and packed pairs round once", test_halves},
        {"every f16 and bf16 as an operand", test_all_halves},
        {"abs and neg of every f16 and bf16", test_every_sign},
        {"min and max of NaN, zeros and signs", test_min_max},
        {"abs, neg, copysign and testp", test_signs},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
