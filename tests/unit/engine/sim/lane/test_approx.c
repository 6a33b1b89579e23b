// SPDX-License-Identifier: Apache-2.0
// The .approx and .full functions: the error over dense inputs stays within PTX's bound and within
// what lane/approx.c says it is, special values are those of PTX's tables, and all instruction sets
// agree.
#include "unit/engine/sim/lane/every.h"

#include <float.h>

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

typedef long double function(long double x);

static long double reciprocal(long double x) {
    return 1 / x;
}
static long double reciprocal_root(long double x) {
    return 1 / sqrtl(x);
}

// How an error is counted: relative; absolute; PTX's rule for lg2, which is absolute within (1/2,
// 2).
typedef enum measure { RELATIVE, ABSOLUTE, LOG_RULE } measure;

typedef struct bound_row {
    const char *name;
    function *exact;
    measure measure;
    double bound;         // must not be exceeded
    uint32_t first, last; // bit patterns of f32, f16 or bf16 inputs; both signs when `signs`
    bool signs;
    uint32_t step;
} bound_row;

static const bound_row bounds[] = {
    {"ex2.approx.f32", exp2l, RELATIVE, 0x1p-23, 0x00000001, 0x42fc0000, true, 4099},
    {"ex2.approx.ftz.f32", exp2l, RELATIVE, 0x1p-23, 0x00800000, 0x42fc0000, true, 4099},
    {"lg2.approx.f32", log2l, LOG_RULE, 0x1p-22, 0x00000001, 0x7f7fffff, false, 4099},
    {"lg2.approx.f32", log2l, LOG_RULE, 0x1p-22, 0x3f000000, 0x40000000, false, 101},
    {"lg2.approx.ftz.f32", log2l, LOG_RULE, 0x1p-22, 0x00800000, 0x7f7fffff, false, 4099},
    {"sin.approx.f32", sinl, ABSOLUTE, 0x1p-24, 0x00000000, 0x40c90fdb, true, 4099}, // 2 pi
    {"cos.approx.f32", cosl, ABSOLUTE, 0x1p-24, 0x00000000, 0x40c90fdb, true, 4099},
    {"sin.approx.ftz.f32", sinl, ABSOLUTE, 0x1p-24, 0x00000000, 0x439d1463, true, 4099}, // 100 pi
    {"cos.approx.ftz.f32", cosl, ABSOLUTE, 0x1p-24, 0x00000000, 0x439d1463, true, 4099},
    {"sin.approx.f32", sinl, ABSOLUTE, 0x1p-24, 0x439d1463, 0x49742400, true, 997}, // 10^6
    {"tanh.approx.f32", tanhl, RELATIVE, 0x1p-21, 0x00000001, 0x7f7fffff, true, 4099},
    {"tanh.approx.f32", tanhl, RELATIVE, 0x1p-21, 0x3d000000, 0x41200000, true, 211},
    {"rsqrt.approx.f32", reciprocal_root, RELATIVE, 0x1.8p-24, 0x00000001, 0x7f7fffff, false, 4099},
    {"rsqrt.approx.ftz.f32", reciprocal_root, RELATIVE, 0x1.8p-24, 0x00800000, 0x7f7fffff, false,
     4099},
    {"rcp.approx.f32", reciprocal, RELATIVE, 0x1p-24, 0x00200001, 0x7e800000, true, 4099},
    {"rcp.approx.ftz.f32", reciprocal, RELATIVE, 0x1p-24, 0x00800000, 0x7e800000, true, 4099},
    {"sqrt.approx.f32", sqrtl, RELATIVE, 0x1p-24, 0x00000001, 0x7f7fffff, false, 4099},
    {"sqrt.approx.ftz.f32", sqrtl, RELATIVE, 0x1p-24, 0x00800000, 0x7f7fffff, false, 4099},
    {"ex2.approx.f16", exp2l, RELATIVE, 0x1p-9, 0x0000, 0x4a00, true, 1},
    {"ex2.approx.f16x2", exp2l, RELATIVE, 0x1p-9, 0x0000, 0x4a00, true, 1},
    {"ex2.approx.ftz.bf16", exp2l, RELATIVE, 0x1p-7, 0x0080, 0x42f8, true, 1},
    {"ex2.approx.ftz.bf16x2", exp2l, RELATIVE, 0x1p-7, 0x0080, 0x42f8, true, 1},
    {"tanh.approx.f16", tanhl, ABSOLUTE, 0x1p-11, 0x0000, 0x7bff, true, 1},
    {"tanh.approx.f16x2", tanhl, ABSOLUTE, 0x1p-11, 0x0000, 0x7bff, true, 1},
    {"tanh.approx.bf16", tanhl, ABSOLUTE, 0x1p-8, 0x0000, 0x7f7f, true, 1},
    {"tanh.approx.bf16x2", tanhl, ABSOLUTE, 0x1p-8, 0x0000, 0x7f7f, true, 1},
};

// The value of f32, f16 or bf16 bits (of the low half when packed).
static double value_of(lg_ptx_type type, uint64_t bits) {
    if (type == LG_PTX_F32) {
        return float_of(bits);
    }
    if (type == LG_PTX_BF16 || type == LG_PTX_BF16X2) {
        return float_of((bits & 0xffff) << 16);
    }
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double x = exponent == 31  ? (fraction ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -x : x;
}

// The error as the row counts it; subnormal results are measured in their own last place.
static double error_of(const bound_row *row, lg_ptx_type type, double x, double got) {
    long double exact = row->exact(x), error = fabsl(got - exact);
    bool near_one = x > 0.5 && x < 2;
    if (row->measure == ABSOLUTE || (row->measure == LOG_RULE && near_one)) {
        return (double)error;
    }
    bool f16 = type == LG_PTX_F16 || type == LG_PTX_F16X2;
    double least = f16 ? 0x1p-14 : (double)FLT_MIN;
    return (double)(error / fmaxl(fabsl(exact), least));
}

// The worst error over the row's inputs, on one instruction set.
static double worst_error(const bound_row *row, const lane_test *t, lg_lane_fn *fn, double *at) {
    lg_ptx_type type = t->insn.types[0];
    bool half = type != LG_PTX_F32, packed = type == LG_PTX_F16X2 || type == LG_PTX_BF16X2;
    double worst = 0;
    bool failed = false;
    for (uint64_t next = row->first; next <= row->last;) {
        lane_values in = {0}, got;
        for (int i = 0; i < LG_LANES; i++) {
            uint64_t bits = next <= row->last ? next : row->last;
            if (row->signs && i % 2) {
                bits |= half ? 0x8000u : 0x80000000u;
            }
            next += !row->signs || i % 2 ? row->step : 0;
            in.src[0][i] = packed ? bits | bits << 16 : bits;
        }
        failed = failed || !lane_run(t, fn, &in, UINT32_MAX, &got);
        for (int i = 0; i < LG_LANES && !failed; i++) {
            double x = value_of(type, in.src[0][i]), y = value_of(type, got.dst[0][i]);
            double error = error_of(row, type, x, y);
            failed = failed || (packed && got.dst[0][i] >> 16 != (got.dst[0][i] & 0xffff));
            if (!(error <= worst)) {
                worst = error;
                *at = x;
            }
        }
    }
    return failed ? INFINITY : worst;
}

static void test_bounds(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    for (size_t r = 0; r < N(bounds); r++) {
        lane_test t;
        LG_CHECK_ROW(bounds[r].name, lane_open(&t, &arena, bounds[r].name));
        for (int isa = 0; isa < n_isas; isa++) {
            double at = 0, worst = worst_error(&bounds[r], &t, tables[isa]->select(&t.form), &at);
            if (!(worst <= bounds[r].bound)) {
                fprintf(stderr, "\n    %s, %s: error 2^%.2f at %a\n", t.name,
                        lg_isa_name(tables[isa]->isa), log2(worst), at);
            } else if (isa == 0 && getenv("LANE_SHOW")) {
                fprintf(stderr, "\n    %s: 2^%.2f at %a", t.name, log2(worst), at);
            }
            LG_CHECK_ROW(bounds[r].name, worst <= bounds[r].bound);
        }
    }
    lg_arena_free(&arena);
}

// Every f16 and bf16, those that overflow, vanish or are no numbers with them.
static bool is_right(const bound_row *row, const lane_test *t, uint64_t a, uint64_t d) {
    lg_ptx_type type = t->insn.types[0];
    bool f16 = type == LG_PTX_F16 || type == LG_PTX_F16X2, ftz = t->insn.mods.ftz;
    double x = value_of(type, a), y = value_of(type, d), least = f16 ? 0x1p-14 : (double)FLT_MIN;
    if (isnan(x)) {
        return d == 0x7fff;
    }
    x = ftz && fabs(x) < least ? 0 : x;
    long double exact = row->exact(x), most = f16 ? 65520.0L : 0x1.ffp127L;
    if (isinf(y) || fabsl(exact) >= most) {
        return isinf(y) && (y > 0) == (exact > 0) && fabsl(exact) >= most * (1 - row->bound);
    }
    if (ftz && exact < least * (1 - row->bound)) {
        return d == 0;
    }
    return error_of(row, type, x, y) <= row->bound;
}

static bool check_every(const bound_row *row, const lane_test *t, lg_lane_fn *fn) {
    bool packed = t->form.src_bytes[0] == 4;
    for (uint64_t first = 0; first < 65536; first += LG_LANES) {
        lane_values in = {0}, got;
        lane_fill_every(t, &in, first);
        if (!lane_run(t, fn, &in, UINT32_MAX, &got)) {
            return false;
        }
        for (int i = 0; i < LG_LANES; i++) {
            uint64_t a = in.src[0][i], d = got.dst[0][i];
            if (!is_right(row, t, a & 0xffff, d & 0xffff) ||
                (packed && !is_right(row, t, a >> 16, d >> 16))) {
                fprintf(stderr, "\n    %s of %llx gives %llx\n", t->name, (unsigned long long)a,
                        (unsigned long long)d);
                return false;
            }
        }
    }
    return true;
}

static void test_every_half(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables), n = 0;
    lg_arena arena = {0};
    for (size_t r = 0; r < N(bounds); r++) {
        lane_test t;
        LG_CHECK_ROW(bounds[r].name, lane_open(&t, &arena, bounds[r].name));
        if (t.insn.types[0] == LG_PTX_F32) {
            continue;
        }
        for (int isa = 0; isa < n_isas; isa++) {
            bool ok = check_every(&bounds[r], &t, tables[isa]->select(&t.form));
            LG_CHECK_ROW(bounds[r].name, ok);
        }
        n++;
    }
    CU_ASSERT_EQUAL(n, 8); // ex2 and tanh of both types, single and packed
    lg_arena_free(&arena);
}

typedef struct special_row {
    const char *name;
    uint64_t a, b, want;
} special_row;

#define INF 0x7f800000u
#define MINUS 0x80000000u
#define NAN32 0x7fffffffu
#define ONE 0x3f800000u
static const special_row specials[] = {
    {"ex2.approx.f32", MINUS | INF, 0, 0},
    {"ex2.approx.f32", INF, 0, INF},
    {"ex2.approx.f32", 0x7fc00000, 0, NAN32},
    {"ex2.approx.f32", MINUS, 0, ONE},
    {"ex2.approx.f32", 0x43000000, 0, INF},        // 128
    {"ex2.approx.f32", 0xc3150000, 0, 0x00000001}, // -149
    {"ex2.approx.f32", 0xc3170000, 0, 0},          // -151
    {"ex2.approx.f32", 0xc2fe0000, 0, 0x00400000}, // -127
    {"ex2.approx.ftz.f32", 0xc2fe0000, 0, 0},
    {"ex2.approx.ftz.f32", 0x40400000, 0, 0x41000000}, // 3
    {"lg2.approx.f32", 0, 0, MINUS | INF},
    {"lg2.approx.f32", MINUS, 0, MINUS | INF},
    {"lg2.approx.f32", INF, 0, INF},
    {"lg2.approx.f32", MINUS | INF, 0, NAN32},
    {"lg2.approx.f32", 0xbf800000, 0, NAN32},
    {"lg2.approx.f32", ONE, 0, 0},
    {"lg2.approx.f32", 0x00000001, 0, 0xc3150000},
    {"lg2.approx.ftz.f32", 0x00000001, 0, MINUS | INF},
    {"lg2.approx.ftz.f32", 0x80000001, 0, MINUS | INF},
    {"sin.approx.f32", MINUS, 0, MINUS},
    {"sin.approx.f32", 0, 0, 0},
    {"sin.approx.f32", INF, 0, NAN32},
    {"sin.approx.ftz.f32", 0x80000001, 0, MINUS},
    {"cos.approx.f32", MINUS, 0, ONE},
    {"cos.approx.f32", MINUS | INF, 0, NAN32},
    {"tanh.approx.f32", INF, 0, ONE},
    {"tanh.approx.f32", MINUS | INF, 0, MINUS | ONE},
    {"tanh.approx.f32", MINUS, 0, MINUS},
    {"tanh.approx.f32", 0xffc00000, 0, NAN32},
    {"rsqrt.approx.f32", 0, 0, INF},
    {"rsqrt.approx.f32", MINUS, 0, MINUS | INF},
    {"rsqrt.approx.f32", INF, 0, 0},
    {"rsqrt.approx.f32", 0xbf800000, 0, NAN32},
    {"rsqrt.approx.ftz.f32", 0x80000001, 0, MINUS | INF},
    {"rcp.approx.f32", MINUS | INF, 0, MINUS},
    {"rcp.approx.f32", MINUS, 0, MINUS | INF},
    {"rcp.approx.ftz.f32", 0x00000001, 0, INF},
    {"rcp.approx.ftz.f32", 0x7f000000, 0, 0}, // the reciprocal of 2^127 is subnormal
    {"sqrt.approx.f32", MINUS, 0, MINUS},
    {"sqrt.approx.f32", 0xbf800000, 0, NAN32},
    {"div.approx.f32", ONE, 0x40400000, 0x3eaaaaab},
    {"div.approx.f32", 0x7f000000, 0x7f000000, 0}, // |b| > 2^126
    {"div.approx.f32", INF, 0xff000000, NAN32},    // and an infinite a
    {"div.full.f32", 0x7f000000, 0x7f000000, ONE},
    {"div.full.ftz.f32", 0x00000001, ONE, 0},
    {"div.approx.ftz.f32", ONE, 0x80000001, MINUS | INF},
    {"rcp.approx.ftz.f64", 0x4008000000000123, 0, 0x3fd5555500000000},
    {"rcp.approx.ftz.f64", 0x000fffffffffffff, 0, 0x7ff0000000000000},
    {"rsqrt.approx.ftz.f64", 0x4010000000000000, 0, 0x3fe0000000000000},
    {"rsqrt.approx.f64", 0x4000000000000000, 0, 0x3fe6a09e667f3bcc},
};

static void test_specials(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    for (size_t r = 0; r < N(specials); r++) {
        const special_row *row = &specials[r];
        lane_test t;
        LG_CHECK_ROW(row->name, lane_open(&t, &arena, row->name));
        for (int isa = 0; isa < n_isas; isa++) {
            lane_values in = {0}, got;
            for (int i = 0; i < LG_LANES; i++) {
                in.src[0][i] = row->a;
                in.src[1][i] = row->b;
            }
            bool ran = lane_run(&t, tables[isa]->select(&t.form), &in, UINT32_MAX, &got);
            if (got.dst[0][7] != row->want) {
                fprintf(stderr, "\n    %s of %llx gives %llx", row->name,
                        (unsigned long long)row->a, (unsigned long long)got.dst[0][7]);
            }
            LG_CHECK_ROW(row->name, ran && got.dst[0][7] == row->want);
        }
    }
    lg_arena_free(&arena);
}

// What a launch gives must not hang on the CPU: every form, on random inputs and partial masks, has
// the same bits in every instruction set.
static void check_agreement(const char *name, void *context) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lane_test t;
    bool ok = n_isas > 0 && lane_open(&t, context, name);
    LG_CHECK_ROW(name, ok);
    uint64_t state = 7;
    for (int batch = 0; batch < 400 && ok; batch++) {
        lane_values in = {0}, first, got;
        lane_fill(&t, &in, &state);
        uint32_t active = batch % 2 ? UINT32_MAX : (uint32_t)next_random(&state);
        ok = lane_run(&t, tables[0]->select(&t.form), &in, active, &first);
        for (int i = 0; i < LG_LANES; i++) {
            ok = ok && ((active >> i & 1) || first.dst[0][i] == in.dst[0][i]);
        }
        for (int isa = 1; isa < n_isas && ok; isa++) {
            ok = lane_run(&t, tables[isa]->select(&t.form), &in, active, &got) &&
                 lane_compare(&t, lg_isa_name(tables[isa]->isa), &in, active, &first, &got);
        }
    }
    LG_CHECK_ROW(name, ok);
}

static void test_agreement(void) {
    lg_arena arena = {0};
    lane_expand("{ex2,lg2,sin,cos,rsqrt,rcp,sqrt}.approx.{f32,ftz.f32}", check_agreement, &arena);
    lane_expand("div.{approx,full}.{f32,ftz.f32}", check_agreement, &arena);
    lane_expand("tanh.approx.{f32,f16,f16x2,bf16,bf16x2}", check_agreement, &arena);
    lane_expand("ex2.approx.{f16,f16x2,ftz.bf16,ftz.bf16x2}", check_agreement, &arena);
    lane_expand("{rcp.approx.ftz,rsqrt.approx,rsqrt.approx.ftz}.f64", check_agreement, &arena);
    lg_arena_free(&arena);
}

int main(void) {
    static const lg_test tests[] = {
        {"errors stay within their bounds", test_bounds},
        {"every f16 and bf16", test_every_half},
        {"special values", test_specials},
        {"all instruction sets give the same bits", test_agreement},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
