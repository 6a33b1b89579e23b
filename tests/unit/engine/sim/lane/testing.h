// SPDX-License-Identifier: Apache-2.0
// Drives the lane tables directly: one instruction, named by its mnemonic, on made-up registers, in
// every instruction set the machine has, against an answer computed lane by lane some other way.
#ifndef LG_TESTS_ENGINE_SIM_LANE_TESTING_H
#define LG_TESTS_ENGINE_SIM_LANE_TESTING_H

#include "engine/ptx/mnemonic.h"
#include "engine/sim/lane/lane.h"
#include "unit/engine/sim/lane/specials.h"
#include "unit/testing.h"

#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOT_BYTES = 256,
    SLOT_SRC = 1,
    SLOT_DST = 7,
    SLOT_CC = 11,
    SLOT_SCRATCH = 12,
    N_SLOTS = 14
};

// A form under test. `arena` holds the mnemonic.
typedef struct lane_test {
    const char *name;
    const lg_ptx_mnemonic *mnemonic;
    lg_ptx_insn insn;
    lg_lane_form form;
    lg_ptx_type dst_types[LG_MAX_DST], src_types[LG_MAX_SRC];
} lane_test;

// Values of 32 lanes, zero-extended; predicates are 0 or 1.
typedef struct lane_values {
    uint64_t src[LG_MAX_SRC][LG_LANES];
    uint64_t dst[LG_MAX_DST][LG_LANES];
    uint64_t cc[LG_LANES];
    uint8_t src_inverted;
    bool alias; // dst[0] is the slot of src[0], when they are of one width
} lane_values;

// One lane: what an oracle computes from its sources, s[LG_MAX_SRC] being the carry flag.
typedef struct lane_answer {
    uint64_t d[LG_MAX_DST];
    uint64_t cc;
} lane_answer;
typedef void lane_oracle(const lane_test *t, const uint64_t *s, lane_answer *answer);

typedef struct lane_row {
    const char *pattern; // "add.{u16,u32}": every combination of the braces
    lane_oracle *oracle;
} lane_row;

static inline uint64_t next_random(uint64_t *state) { // splitmix64
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int lane_isas(const lg_lane_table *tables[3]) {
    int n = 0;
    const lg_lane_table *all[3] = {lg_lane_table_baseline(), lg_lane_table_avx2(),
                                   lg_lane_table_avx512()};
    for (int i = 0; i < 3; i++) {
        if (all[i]) {
            tables[n++] = all[i];
        }
    }
    return n;
}

static inline uint8_t lane_width(lg_ptx_type type) {
    uint32_t bytes = lg_ptx_type_bytes(type);
    return (uint8_t)(type == LG_PTX_PRED ? 0 : bytes < 2 ? 2 : bytes);
}

// Fills a form from its mnemonic and the checker's table of forms; false when there is no such
// form.
static inline bool lane_open(lane_test *t, lg_arena *arena, const char *name) {
    memset(t, 0, sizeof *t);
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(arena, name, strlen(name));
    t->name = m->text;
    t->mnemonic = m;
    t->insn = (lg_ptx_insn){.op = m->op, .text = m->text, .n_types = m->n_types, .mods = m->mods};
    memcpy(t->insn.types, m->types, sizeof t->insn.types);
    t->form.insn = &t->insn;
    if (m->problem) {
        return false;
    }
    for (int i = 0; i < m->n_slots; i++) {
        const lg_ptx_slot *slot = &m->slots[i];
        if (slot->role == LG_SLOT_DEST) {
            t->dst_types[t->form.n_dst] = slot->type;
            t->form.dst_bytes[t->form.n_dst++] = lane_width(slot->type);
        } else if (slot->role == LG_SLOT_SOURCE) {
            t->src_types[t->form.n_src] = slot->type;
            t->form.src_bytes[t->form.n_src++] = lane_width(slot->type);
        } else {
            return false;
        }
    }
    return true;
}

static inline void put_slot(char *slot, const uint64_t *values, int bytes) {
    uint32_t bits = 0;
    for (int i = 0; i < LG_LANES; i++) {
        if (bytes == 0) {
            bits |= (uint32_t)(values[i] & 1) << i;
        } else {
            memcpy(slot + i * bytes, &values[i], (size_t)bytes); // little-endian
        }
    }
    if (bytes == 0) {
        memcpy(slot, &bits, sizeof bits);
    }
}

static inline void get_slot(const char *slot, uint64_t *values, int bytes) {
    uint32_t bits;
    memcpy(&bits, slot, sizeof bits);
    for (int i = 0; i < LG_LANES; i++) {
        values[i] = bytes == 0 ? (bits >> i) & 1 : 0;
        if (bytes != 0) {
            memcpy(&values[i], slot + i * bytes, (size_t)bytes);
        }
    }
}

// Runs the function on the values and returns the destinations and the carry in `out`; false when
// it wrote anything but those.
static inline bool lane_run(const lane_test *t, lg_lane_fn *fn, const lane_values *in,
                            uint32_t active, lane_values *out) {
    static char regs[N_SLOTS * SLOT_BYTES] __attribute__((aligned(64)));
    static char before[sizeof regs];
    lg_insn insn = {.lane = fn, .cc = SLOT_CC * SLOT_BYTES, .src_inverted = in->src_inverted};
    memset(regs, 0x5a, sizeof regs);
    memset(regs, 0xff, 4);
    for (int s = 0; s < LG_MAX_SRC; s++) {
        insn.src[s] = (uint32_t)(SLOT_SRC + s) * SLOT_BYTES;
        if (s < t->form.n_src) {
            put_slot(regs + insn.src[s], in->src[s], t->form.src_bytes[s]);
        }
    }
    for (int d = 0; d < LG_MAX_DST; d++) {
        insn.dst[d] = (uint32_t)(d < t->form.n_dst ? SLOT_DST + d : SLOT_SCRATCH) * SLOT_BYTES;
        if (d < t->form.n_dst) {
            put_slot(regs + insn.dst[d], in->dst[d], t->form.dst_bytes[d]);
        }
    }
    if (in->alias) {
        insn.dst[0] = insn.src[0];
    }
    put_slot(regs + insn.cc, in->cc, 0);
    memcpy(before, regs, sizeof regs);
    fn(regs, &insn, active);
    *out = *in;
    for (int d = 0; d < t->form.n_dst; d++) {
        get_slot(regs + insn.dst[d], out->dst[d], t->form.dst_bytes[d]);
        size_t bytes = t->form.dst_bytes[d] ? (size_t)t->form.dst_bytes[d] * LG_LANES : 4;
        memcpy(regs + insn.dst[d], before + insn.dst[d], bytes);
    }
    get_slot(regs + insn.cc, out->cc, 0);
    memcpy(regs + insn.cc, before + insn.cc, 4);
    memcpy(regs + SLOT_SCRATCH * SLOT_BYTES, before + SLOT_SCRATCH * SLOT_BYTES, SLOT_BYTES);
    return memcmp(regs, before, sizeof regs) == 0;
}

static inline bool is_nan_bits(lg_ptx_type type, uint64_t bits) {
    return type == LG_PTX_F64 && (bits << 1) > 0xffe0000000000000u;
}

// Whether a result is the answer. A NaN of f64 has a payload that PTX leaves open.
static inline bool lane_same(lg_ptx_type type, uint64_t got, uint64_t want) {
    return got == want || (is_nan_bits(type, got) && is_nan_bits(type, want));
}

// A value of the type, kept to `bytes`; `near` is one to be close to now and then, so that
// comparisons and sums meet equal and cancelling operands.
static inline uint64_t lane_value(uint64_t *state, lg_ptx_type type, int bytes, uint64_t near) {
    uint64_t r = next_random(state), v = next_random(state);
    if (r % 8 < 3) {
        v = lane_special(type, next_random(state));
    } else if (r % 8 == 3) {
        v = near + (r >> 8) % 3 - 1;
    } else if (r % 8 == 4 && (type == LG_PTX_F32 || type == LG_PTX_F64)) {
        // An exponent close to that of `near`, with random fraction and sign.
        uint64_t fraction = type == LG_PTX_F32 ? 0x807fffffu : 0x800fffffffffffffu;
        v = ((near & ~fraction) +
             ((r >> 8) % 5) * (fraction == 0x807fffffu ? 1u << 22 : 1ull << 51)) &
            ~fraction;
        v |= next_random(state) & fraction;
    } else if (r % 8 == 5 && bytes == 8) {
        v >>= (r >> 8) & 63;
    }
    return bytes == 0 ? v & 1 : bytes == 8 ? v : v & ((1ull << (8 * bytes)) - 1);
}

static inline void lane_fill(const lane_test *t, lane_values *values, uint64_t *state) {
    for (int i = 0; i < LG_LANES; i++) {
        uint64_t near = next_random(state);
        for (int s = 0; s < t->form.n_src; s++) {
            near = values->src[s][i] =
                lane_value(state, t->src_types[s], t->form.src_bytes[s], near);
        }
        for (int d = 0; d < t->form.n_dst; d++) {
            values->dst[d][i] = lane_value(state, LG_PTX_B64, t->form.dst_bytes[d], 0);
        }
        values->cc[i] = next_random(state) & 1;
    }
    values->src_inverted = 0;
    for (int s = 0; s < t->form.n_src; s++) {
        bool invert = t->form.src_bytes[s] == 0 && next_random(state) % 2;
        values->src_inverted |= (uint8_t)(invert << s);
    }
}

// The answers of all lanes, and the old values where the lane is not active.
static inline void lane_answers(const lane_test *t, const lane_values *in, uint32_t active,
                                lane_oracle *oracle, lane_values *want) {
    *want = *in;
    for (int i = 0; i < LG_LANES; i++) {
        uint64_t s[LG_MAX_SRC + 1] = {0};
        lane_answer answer = {.cc = in->cc[i]};
        for (int k = 0; k < t->form.n_src; k++) {
            s[k] = in->src[k][i] ^ ((in->src_inverted >> k) & 1);
        }
        s[LG_MAX_SRC] = in->cc[i];
        oracle(t, s, &answer);
        for (int d = 0; d < t->form.n_dst; d++) {
            uint64_t old = d == 0 && in->alias ? in->src[0][i] : in->dst[d][i];
            want->dst[d][i] = (active >> i) & 1 ? answer.d[d] : old;
        }
        want->cc[i] = (active >> i) & 1 ? answer.cc : in->cc[i];
    }
}

static inline bool lane_compare(const lane_test *t, const char *isa, const lane_values *in,
                                uint32_t active, const lane_values *want, const lane_values *got) {
    for (int i = 0; i < LG_LANES; i++) {
        for (int d = 0; d < t->form.n_dst; d++) {
            if (!lane_same(t->dst_types[d], got->dst[d][i], want->dst[d][i])) {
                fprintf(stderr,
                        "\n    %s, %s, active %08x, lane %d: %llx %llx %llx %llx (carry %d) gives "
                        "d[%d] = %llx, not %llx\n",
                        t->name, isa, active, i, (unsigned long long)in->src[0][i],
                        (unsigned long long)in->src[1][i], (unsigned long long)in->src[2][i],
                        (unsigned long long)in->src[3][i], (int)in->cc[i], d,
                        (unsigned long long)got->dst[d][i], (unsigned long long)want->dst[d][i]);
                return false;
            }
        }
        if (got->cc[i] != want->cc[i]) {
            fprintf(stderr, "\n    %s, %s, lane %d: wrong carry\n", t->name, isa, i);
            return false;
        }
    }
    return true;
}

// Checks one form in every instruction set on `n_batches` of 32 values, under full and partial
// masks.
static inline bool lane_check(const lane_test *t, lane_oracle *oracle, int n_batches) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    uint64_t state = 12345;
    for (int batch = 0; batch < n_batches; batch++) {
        lane_values in = {0}, want, got;
        lane_fill(t, &in, &state);
        uint64_t r = next_random(&state);
        uint32_t active = batch % 3    ? UINT32_MAX
                          : r % 5 == 0 ? 1u << (r >> 8) % 32
                                       : (uint32_t)(r >> 16);
        in.alias =
            batch % 4 == 1 && t->form.n_src > 0 && t->form.dst_bytes[0] == t->form.src_bytes[0];
        lane_answers(t, &in, active, oracle, &want);
        for (int isa = 0; isa < n_isas; isa++) {
            lg_lane_fn *fn = tables[isa]->select(&t->form);
            if (!fn) {
                fprintf(stderr, "\n    %s: no function in %s\n", t->name,
                        lg_isa_name(tables[isa]->isa));
                return false;
            }
            if (!lane_run(t, fn, &in, active, &got)) {
                fprintf(stderr, "\n    %s, %s: wrote elsewhere\n", t->name,
                        lg_isa_name(tables[isa]->isa));
                return false;
            }
            if (!lane_compare(t, lg_isa_name(tables[isa]->isa), &in, active, &want, &got)) {
                return false;
            }
        }
    }
    return true;
}

// Calls back with every combination of the braces of a pattern.
typedef void lane_visit(const char *name, void *context);
static inline void lane_expand(const char *pattern, lane_visit *visit, void *context) {
    const char *open = strchr(pattern, '{');
    if (!open) {
        visit(pattern, context);
        return;
    }
    const char *close = strchr(open, '}');
    for (const char *word = open + 1; word <= close;) {
        size_t n = strcspn(word, ",}");
        char name[256];
        snprintf(name, sizeof name, "%.*s%.*s%s", (int)(open - pattern), pattern, (int)n, word,
                 close + 1);
        lane_expand(name, visit, context);
        word += n + 1;
    }
}

typedef struct lane_sweep {
    lg_arena arena;
    lane_oracle *oracle;
    int n_batches;
    int n_forms;
} lane_sweep;

static inline void lane_check_name(const char *name, void *context) {
    lane_sweep *sweep = context;
    lane_test t;
    bool known = lane_open(&t, &sweep->arena, name);
    LG_CHECK_ROW(name, known);
    if (known) {
        LG_CHECK_ROW(name, lane_check(&t, sweep->oracle, sweep->n_batches));
        sweep->n_forms++;
    }
}

// Every combination of every row, `n_batches` of 32 values each.
static inline void lane_check_rows(const lane_row *rows, size_t n, int n_batches) {
    lane_sweep sweep = {.n_batches = n_batches};
    for (size_t i = 0; i < n; i++) {
        sweep.oracle = rows[i].oracle;
        lane_expand(rows[i].pattern, lane_check_name, &sweep);
    }
    CU_ASSERT_TRUE(sweep.n_forms >= (int)n);
    lg_arena_free(&sweep.arena);
}

// Helpers of oracles.
static inline int type_bits(lg_ptx_type type) {
    return (int)lg_ptx_type_bytes(type) * 8;
}

static inline bool type_is_signed(lg_ptx_type type) {
    return type == LG_PTX_S8 || type == LG_PTX_S16 || type == LG_PTX_S32 || type == LG_PTX_S64;
}

static inline uint64_t low_bits(uint64_t x, int bits) {
    return bits >= 64 ? x : x & ((1ull << bits) - 1);
}

// The integer that the low bits mean in a type.
static inline __int128 int_of(lg_ptx_type type, uint64_t x) {
    int bits = type_bits(type);
    __int128 v = (__int128)low_bits(x, bits);
    return type_is_signed(type) && (v >> (bits - 1)) ? v - ((__int128)1 << bits) : v;
}

static inline float float_of(uint64_t bits) {
    uint32_t u = (uint32_t)bits;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline uint64_t bits_of_float(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_of_double(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline int fe_mode(lg_ptx_round round) {
    return round == LG_ROUND_RZ || round == LG_ROUND_RZI   ? FE_TOWARDZERO
           : round == LG_ROUND_RM || round == LG_ROUND_RMI ? FE_DOWNWARD
           : round == LG_ROUND_RP || round == LG_ROUND_RPI ? FE_UPWARD
                                                           : FE_TONEAREST;
}

#endif
