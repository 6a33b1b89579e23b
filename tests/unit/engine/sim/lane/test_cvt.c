// SPDX-License-Identifier: Apache-2.0
// cvt between all types, in registers of their own width and wider, and mov in all its forms.
#include "unit/engine/sim/lane/every.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static bool is_int(lg_ptx_type type) {
    return type >= LG_PTX_U8 && type <= LG_PTX_S64;
}

static int mantissa_of(lg_ptx_type type) {
    return type == LG_PTX_F16 ? 10 : type == LG_PTX_BF16 ? 7 : type == LG_PTX_F32 ? 23 : 52;
}

static int bias_of(lg_ptx_type type) {
    return type == LG_PTX_F16 ? 15 : type == LG_PTX_F64 ? 1023 : 127;
}

// Sign, magnitude and kind of a value, exact: every source here fits 113 bits.
typedef struct exact {
    bool nan, negative;
    __float128 mag;
} exact;

static __float128 power_of_2(int e) {
    __float128 x = (__float128)ldexp(1.0, e < -1000 ? -1000 : e);
    for (; e < -1000; e++) {
        x /= 2;
    }
    return x;
}

static exact decode(lg_ptx_type type, uint64_t bits) {
    exact x = {0};
    if (is_int(type)) {
        __int128 v = int_of(type, bits);
        x.negative = v < 0;
        x.mag = (__float128)(v < 0 ? -v : v);
        return x;
    }
    int m = mantissa_of(type), bias = bias_of(type), width = type_bits(type);
    uint64_t fraction = low_bits(bits, m);
    int exponent = (int)(low_bits(bits, width - 1) >> m);
    x.negative = (bits >> (width - 1)) & 1;
    if (exponent == 2 * bias + 1) {
        x.nan = fraction != 0;
        x.mag = (__float128)INFINITY;
    } else {
        x.mag = (__float128)(exponent ? fraction | 1ull << m : fraction) *
                power_of_2((exponent ? exponent : 1) - bias - m);
    }
    return x;
}

// mag >= 0 rounded to a whole number below 2^70, in the mode that fe_mode names.
static __float128 round_whole(__float128 mag, int mode, bool negative) {
    if (mag >= power_of_2(112)) {
        return mag;
    }
    __float128 whole = (__float128)(unsigned __int128)mag;
    __float128 rest = mag - whole, half = (__float128)0.5;
    bool odd = (unsigned __int128)whole % 2 != 0;
    bool up = mode == FE_TONEAREST    ? rest > half || (rest == half && odd)
              : mode == FE_TOWARDZERO ? false
                                      : rest > 0 && (mode == FE_DOWNWARD) == negative;
    return up ? whole + 1 : whole;
}

static uint64_t encode_float(lg_ptx_type type, exact x, int mode) {
    int m = mantissa_of(type), bias = bias_of(type), width = type_bits(type);
    uint64_t infinity = (uint64_t)(2 * bias + 1) << m, sign = (uint64_t)x.negative << (width - 1);
    if (x.nan) {
        return low_bits(UINT64_MAX, width - 1);
    }
    if (x.mag > power_of_2(1023) * 2) {
        return sign | infinity;
    }
    int e = 1 - bias;
    if (x.mag > 0 && (double)x.mag > 0) {
        e = ilogb((double)x.mag);
        e -= x.mag < power_of_2(e);
        e = e < 1 - bias ? 1 - bias : e;
    }
    __float128 whole = round_whole(x.mag / power_of_2(e - m), mode, x.negative);
    uint64_t r = ((uint64_t)(e + bias - 1) << m) + (uint64_t)whole;
    if (r >= infinity) {
        bool to_infinity = mode == FE_TONEAREST || (mode == FE_UPWARD && !x.negative) ||
                           (mode == FE_DOWNWARD && x.negative);
        r = to_infinity ? infinity : infinity - 1;
    }
    return sign | r;
}

static uint64_t encode_int(lg_ptx_type to, lg_ptx_type from, exact x, int mode) {
    int bits = type_bits(to);
    if (x.nan) {
        return from == LG_PTX_F64 || bits == 64 ? 1ull << (bits - 1) : 0;
    }
    bool is_signed = type_is_signed(to);
    __int128 most = ((__int128)1 << (is_signed ? bits - 1 : bits)) - 1,
             least = is_signed ? -most - 1 : 0;
    __float128 whole = round_whole(x.mag, mode, x.negative);
    __int128 v = whole > (__float128)((__int128)1 << 100) ? (__int128)1 << 100 : (__int128)whole;
    v = x.negative ? -v : v;
    return low_bits((uint64_t)(v < least ? least : v > most ? most : v), 64);
}

static void flush_f32(lg_ptx_type type, exact *x) {
    if (type == LG_PTX_F32 && x->mag < power_of_2(-126)) {
        x->mag = 0;
    }
}

// What a destination of the type holds in a register of `bytes`: extended by its own signedness.
static uint64_t extended(lg_ptx_type type, uint64_t x, int bytes) {
    return low_bits(is_int(type) ? (uint64_t)int_of(type, x) : x, bytes * 8);
}

static void oracle_cvt(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    const lg_ptx_mods *m = &t->insn.mods;
    lg_ptx_type to = t->insn.types[0], from = t->insn.types[1];
    int mode = fe_mode(m->round);
    exact x = decode(from, low_bits(s[0], type_bits(from)));
    uint64_t r;
    if (is_int(to) && is_int(from)) {
        __int128 v = int_of(from, s[0]);
        r = m->sat ? encode_int(to, from, x, FE_TOWARDZERO) : (uint64_t)v;
    } else if (is_int(to)) {
        if (m->ftz) {
            flush_f32(from, &x);
        }
        r = encode_int(to, from, x, mode);
    } else {
        if (m->ftz) {
            flush_f32(from, &x);
        }
        if (to == from && m->round != LG_ROUND_DEFAULT && !x.nan) {
            x.mag = round_whole(x.mag, mode, x.negative);
        }
        if (m->relu && !x.nan && x.negative) {
            x = (exact){0};
        }
        r = encode_float(to, x, mode);
        exact y = decode(to, r);
        if (m->ftz) {
            flush_f32(to, &y);
            r = encode_float(to, y, FE_TONEAREST);
        }
        if (m->sat) {
            bool zero = y.nan || y.negative || y.mag == 0;
            y.mag = zero ? 0 : y.mag > 1 ? 1 : y.mag;
            r = encode_float(to, (exact){.mag = y.mag}, FE_TONEAREST);
        }
        uint64_t infinity = (uint64_t)(2 * bias_of(to) + 1) << mantissa_of(to);
        if (m->satfinite && (r & 0x7fff) == infinity) {
            r--;
        }
    }
    answer->d[0] = extended(to, r, t->form.dst_bytes[0]);
}

// cvt.f16x2.f32 d, a, b: a above b.
static void oracle_pack(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    lane_test one = *t;
    one.insn.types[0] = t->insn.types[0] == LG_PTX_F16X2 ? LG_PTX_F16 : LG_PTX_BF16;
    one.form.dst_bytes[0] = 2;
    lane_answer high = {0}, low = {0};
    oracle_cvt(&one, s, &high);
    oracle_cvt(&one, s + 1, &low);
    answer->d[0] = high.d[0] << 16 | low.d[0];
}

// Integers also in registers wider than their type.
typedef struct cvt_sweep {
    lg_arena arena;
    int n_batches;
} cvt_sweep;

static void check_widths(const char *name, void *context) {
    cvt_sweep *sweep = context;
    lane_test t;
    bool known = lane_open(&t, &sweep->arena, name);
    LG_CHECK_ROW(name, known);
    if (!known) {
        return;
    }
    bool ok = true;
    lg_ptx_type to = t.insn.types[0], from = t.insn.types[1];
    for (int d = lane_width(to); d <= (is_int(to) ? 8 : lane_width(to)); d *= 2) {
        for (int s = lane_width(from); s <= (is_int(from) ? 8 : lane_width(from)); s *= 2) {
            t.form.dst_bytes[0] = (uint8_t)d;
            t.form.src_bytes[0] = (uint8_t)s;
            ok = ok && lane_check(&t, oracle_cvt, sweep->n_batches);
        }
    }
    LG_CHECK_ROW(name, ok);
}

#define INT "{u8,s8,u16,s16,u32,s32,u64,s64}"

static void test_ints(void) {
    cvt_sweep sweep = {.n_batches = 8};
    lane_expand("cvt." INT "." INT, check_widths, &sweep);
    lane_expand("cvt.sat." INT "." INT, check_widths, &sweep);
    lg_arena_free(&sweep.arena);
}

static void test_to_ints(void) {
    cvt_sweep sweep = {.n_batches = 20};
    lane_expand("cvt.{rni,rzi,rmi,rpi}." INT ".{f16,bf16,f32,f64}", check_widths, &sweep);
    lane_expand("cvt.{rni,rzi}.{ftz,sat,ftz.sat}." INT ".f32", check_widths, &sweep);
    lg_arena_free(&sweep.arena);
}

static void test_from_ints(void) {
    cvt_sweep sweep = {.n_batches = 10};
    lane_expand("cvt.{rn,rz,rm,rp}.{f16,bf16,f32,f64}." INT, check_widths, &sweep);
    lane_expand("cvt.rn.sat.{f16,f32,f64}." INT, check_widths, &sweep);
    lg_arena_free(&sweep.arena);
}

static void test_floats(void) {
    static const lane_row rows[] = {
        {"cvt.{rn,rz,rm,rp}.f32.f64", oracle_cvt},
        {"cvt.{rn,rz,rm,rp}.{ftz,sat,ftz.sat}.f32.f64", oracle_cvt},
        {"cvt.{rn,rz,rm,rp}.{f16,bf16}.{f32,f64}", oracle_cvt},
        {"cvt.{rn,rz,rm,rp}.{ftz,sat,ftz.sat}.f16.f32", oracle_cvt},
        {"cvt.{rn,rz,rm,rp}.sat.f16.f64", oracle_cvt},
        {"cvt.{rn,rz,rm,rp}.{bf16.f16,f16.bf16}", oracle_cvt},
        {"cvt.{rn,rz}.{relu,satfinite,relu.satfinite}.{f16,bf16}.f32", oracle_cvt},
        {"cvt.{f32.f32,f64.f64,f16.f16,f64.f32,f32.f16,f64.f16,f32.bf16,f64.bf16}", oracle_cvt},
        {"cvt.sat.{f32.f32,f64.f64,f16.f16,f64.f32,f32.f16,f64.f16}", oracle_cvt},
        {"cvt.ftz.{f32.f32,f64.f32,sat.f32.f32,sat.f64.f32}", oracle_cvt},
        {"cvt.{rni,rzi,rmi,rpi}.{f16.f16,bf16.bf16,f32.f32,f64.f64}", oracle_cvt},
        {"cvt.{rni,rzi,rmi,rpi}.{sat.f16.f16,sat.f64.f64,ftz.f32.f32,ftz.sat.f32.f32}", oracle_cvt},
        {"cvt.{rn,rz}.{f16x2,bf16x2}.f32", oracle_pack},
        {"cvt.{rn,rz}.{relu,satfinite,relu.satfinite}.{f16x2,bf16x2}.f32", oracle_pack},
    };
    lane_check_rows(rows, N(rows), 100);
}

// Every f16, bf16 and 16-bit integer as the source of every conversion there is.
static void test_every_half(void) {
    static const char *const patterns[] = {
        "cvt.{f16.f16,f32.f16,f64.f16,f32.bf16,f64.bf16}",
        "cvt.{ftz,sat,ftz.sat}.f32.f16",
        "cvt.{sat.f16.f16,sat.f64.f16,ftz.f32.bf16}",
        "cvt.{rn,rz,rm,rp}.{bf16.f16,f16.bf16}",
        "cvt.{rni,rzi,rmi,rpi}.{f16.f16,bf16.bf16}",
        "cvt.{rni,rzi,rmi,rpi}.sat.f16.f16",
        ("cvt.{rni,rzi,rmi,rpi}." INT ".{f16,bf16}"),
        ("cvt.{rni,rzi,rmi,rpi}.sat." INT ".f16"),
        "cvt.{rn,rz,rm,rp}.{f16,bf16,f32,f64}.{u16,s16}",
        "cvt.rn.sat.{f16,f32,f64}.{u16,s16}",
    };
    int n = 0;
    for (size_t i = 0; i < N(patterns); i++) {
        n += lane_check_every_form(patterns[i], oracle_cvt);
    }
    CU_ASSERT_EQUAL(n, 5 + 3 + 3 + 8 + 8 + 4 + 64 + 32 + 32 + 6);
}

// mov carries no form table: its shapes are written here.
typedef struct move_case {
    const char *name;
    lg_ptx_type type;
    int n_dst, n_src;
    uint8_t dst_bytes, src_bytes;
} move_case;

static const move_case moves[] = {
    {"mov.b16", LG_PTX_B16, 1, 1, 2, 2},
    {"mov.u32", LG_PTX_U32, 1, 1, 4, 4},
    {"mov.f64", LG_PTX_F64, 1, 1, 8, 8},
    {"mov.pred", LG_PTX_PRED, 1, 1, 0, 0},
    {"mov.u16 of a wide special register", LG_PTX_U16, 1, 1, 2, 4},
    {"mov.u64 of a narrow one", LG_PTX_U64, 1, 1, 8, 4},
    {"mov.b32 {h,h}", LG_PTX_B32, 1, 2, 4, 2},
    {"mov.b64 {r,r}", LG_PTX_B64, 1, 2, 8, 4},
    {"mov.b64 {h,h,h,h}", LG_PTX_B64, 1, 4, 8, 2},
    {"mov.b32 into {h,h}", LG_PTX_B32, 2, 1, 2, 4},
    {"mov.b64 into {r,r}", LG_PTX_B64, 2, 1, 4, 8},
    {"mov.b64 into {h,h,h,h}", LG_PTX_B64, 4, 1, 2, 8},
};

// Seen as one long number, least significant element first.
static void oracle_move(const lane_test *t, const uint64_t *s, lane_answer *answer) {
    uint64_t whole = 0;
    for (int k = 0; k < t->form.n_src; k++) {
        whole |= s[k] << (k * t->form.src_bytes[0] * 8);
    }
    for (int k = 0; k < t->form.n_dst; k++) {
        int bits = t->form.dst_bytes[0] ? t->form.dst_bytes[0] * 8 : 1;
        answer->d[k] = low_bits(whole >> (k * bits), bits);
    }
}

static void test_moves(void) {
    for (size_t i = 0; i < N(moves); i++) {
        const move_case *c = &moves[i];
        lane_test t = {.name = c->name};
        t.insn = (lg_ptx_insn){.op = LG_OP_MOV, .text = c->name, .n_types = 1, .types = {c->type}};
        t.form = (lg_lane_form){.insn = &t.insn, .n_dst = c->n_dst, .n_src = c->n_src};
        memset(t.form.dst_bytes, c->dst_bytes, (size_t)c->n_dst);
        memset(t.form.src_bytes, c->src_bytes, (size_t)c->n_src);
        LG_CHECK_ROW(c->name, lane_check(&t, oracle_move, 30));
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"integers to integers", test_ints},
        {"floats to integers", test_to_ints},
        {"integers to floats", test_from_ints},
        {"floats to floats", test_floats},
        {"every f16, bf16 and 16-bit integer", test_every_half},
        {"mov, packing and unpacking", test_moves},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
