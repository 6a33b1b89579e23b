// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/decode/fuse.h"

#include <string.h>

// A run being matched: the instructions that are not dropped, in order, up to where another path
// comes in.
typedef struct run {
    const lg_decoder *d;
    int last; // PTX instruction matched last
} run;

// The next instruction of the run when it is this operation, unguarded, on this type; NULL else.
static const lg_ptx_insn *next_insn(run *r, lg_ptx_op op, lg_ptx_type type) {
    const lg_ptx_function *f = r->d->ptx;
    int i = r->last + 1;
    while (i < f->n_insns && r->d->fold.dropped[i] && !r->d->fold.starts[i]) {
        i++;
    }
    if (i >= f->n_insns || r->d->fold.starts[i]) {
        return NULL;
    }
    const lg_ptx_insn *insn = &f->insns[i];
    if (insn->op != op || insn->guard >= 0 || insn->n_types < 1 || insn->types[0] != type) {
        return NULL;
    }
    r->last = i;
    return insn;
}

// The register that is read for an operand, -1 when it is none.
static int32_t read_reg(const run *r, const lg_ptx_operand *operand) {
    return operand->kind == LG_OPERAND_REG && !operand->negated ? r->d->fold.copies[operand->reg]
                                                                : -1;
}

static bool reads(const run *r, const lg_ptx_insn *insn, int k, int32_t reg) {
    return k < insn->n_operands && reg >= 0 && read_reg(r, &insn->operands[k]) == reg;
}

// Does the operand give this constant of 32 bits?
static bool is_bits(const run *r, const lg_ptx_insn *insn, int k, uint32_t bits) {
    if (k >= insn->n_operands) {
        return false;
    }
    const lg_ptx_operand *operand = &insn->operands[k];
    int32_t reg = read_reg(r, operand);
    operand = reg >= 0 && r->d->fold.constants[reg] ? r->d->fold.constants[reg] : operand;
    return (operand->kind == LG_OPERAND_F32 || operand->kind == LG_OPERAND_INT) &&
           (uint32_t)operand->imm_bits == bits;
}

// The register written, -1 unless it is plain, written only there and read so many times.
static int32_t written(const run *r, const lg_ptx_insn *insn, int n_reads) {
    const lg_ptx_operand *to = &insn->operands[0];
    return to->kind == LG_OPERAND_REG && r->d->fold.n_writes[to->reg] == 1 &&
                   r->d->fold.n_reads[to->reg] == n_reads
               ? to->reg
               : -1;
}

static bool has_mods(const lg_ptx_insn *insn, lg_ptx_mods mods) {
    const lg_ptx_mods *m = &insn->mods;
    bool nearest = mods.round == LG_ROUND_RN && m->round == LG_ROUND_DEFAULT;
    return (m->round == mods.round || nearest) && m->ftz == mods.ftz && m->sat == mods.sat &&
           m->approx == mods.approx && !m->cc;
}

static const lg_ptx_insn *next_f32(run *r, lg_ptx_op op, lg_ptx_mods mods) {
    const lg_ptx_insn *insn = next_insn(r, op, LG_PTX_F32);
    return insn && has_mods(insn, mods) ? insn : NULL;
}

// s of the formula below; -1 when it is not that.
static int32_t match_shifted(run *r, int32_t x) {
    const lg_ptx_mods nearest = {.round = LG_ROUND_RN};
    const lg_ptx_insn *scaled = next_f32(r, LG_OP_FMA, nearest);
    if (!scaled || !reads(r, scaled, 1, x) || !is_bits(r, scaled, 2, 0x3bbb989d) ||
        !is_bits(r, scaled, 3, 0x3f000000)) {
        return -1;
    }
    const lg_ptx_insn *sat = next_f32(r, LG_OP_CVT, (lg_ptx_mods){.sat = true});
    if (!sat || sat->n_types != 2 || sat->types[1] != LG_PTX_F32 ||
        !reads(r, sat, 1, written(r, scaled, 1))) {
        return -1;
    }
    const lg_ptx_insn *shifted = next_f32(r, LG_OP_FMA, (lg_ptx_mods){.round = LG_ROUND_RM});
    if (!shifted || !reads(r, shifted, 1, written(r, sat, 1)) ||
        !is_bits(r, shifted, 2, 0x437c0000) || !is_bits(r, shifted, 3, 0x4b400001)) {
        return -1;
    }
    return written(r, shifted, 2);
}

// nvcc's expf behind the difference, if any, that it is taken of:
//   t = sat(fma(x, 0x3bbb989d, 1/2));  s = fma.rm(t, 252, 12582913);  n = s + -12583039;
//   y = fma(x, 0x32a57060, fma(x, 0x3fb8aa3b, -n));  d = ex2(y) * (s << 23)
// or, where it is added to something, d = fma(ex2(y), s << 23, that).
// Returns the last instruction, NULL when it is not that. Everything on the way has no other
// reader.
static const lg_ptx_insn *match_exp(run *r, int32_t x) {
    const lg_ptx_mods nearest = {.round = LG_ROUND_RN}, plain = {0};
    int32_t s = match_shifted(r, x);
    const lg_ptx_insn *n = next_f32(r, LG_OP_ADD, nearest);
    if (!n || !reads(r, n, 1, s) || !is_bits(r, n, 2, 0xcb40007f)) {
        return NULL;
    }
    const lg_ptx_insn *minus = next_f32(r, LG_OP_NEG, plain);
    if (!minus || !reads(r, minus, 1, written(r, n, 1))) {
        return NULL;
    }
    const lg_ptx_insn *high = next_f32(r, LG_OP_FMA, nearest);
    if (!high || !reads(r, high, 1, x) || !is_bits(r, high, 2, 0x3fb8aa3b) ||
        !reads(r, high, 3, written(r, minus, 1))) {
        return NULL;
    }
    const lg_ptx_insn *low = next_f32(r, LG_OP_FMA, nearest);
    if (!low || !reads(r, low, 1, x) || !is_bits(r, low, 2, 0x32a57060) ||
        !reads(r, low, 3, written(r, high, 1))) {
        return NULL;
    }
    const lg_ptx_insn *scale = next_insn(r, LG_OP_SHL, LG_PTX_B32);
    if (!scale || !reads(r, scale, 1, s) || !is_bits(r, scale, 2, 23)) {
        return NULL;
    }
    const lg_ptx_insn *power = next_f32(r, LG_OP_EX2, (lg_ptx_mods){.approx = true, .ftz = true});
    if (!power || !reads(r, power, 1, written(r, low, 1))) {
        return NULL;
    }
    const lg_ptx_insn *product = next_f32(r, LG_OP_MUL, nearest);
    product = product ? product : next_f32(r, LG_OP_FMA, nearest);
    return product && reads(r, product, 1, written(r, power, 1)) &&
                   reads(r, product, 2, written(r, scale, 1)) &&
                   product->operands[0].kind == LG_OPERAND_REG
               ? product
               : NULL;
}

static lg_insn *decoded(const lg_decoder *d, int at) {
    lg_insn *insn = &d->code->insns[d->index_of[at]];
    return insn->kind == LG_KIND_RECONVERGE ? insn + 1 : insn;
}

// Makes the instruction `at` the fused one for all up to the run's last.
static void replace(lg_decoder *d, const run *r, int at, lg_fused_kind kind, const lg_insn *fused) {
    lg_code *code = d->code;
    lg_insn *first = decoded(d, at);
    const lg_insn *last = decoded(d, r->last);
    code->single[code->n_fused].at = (uint32_t)(first - code->insns);
    code->single[code->n_fused++].insn = *first;
    *first = *fused;
    first->lane = d->lanes->fused(kind);
    first->step = (uint16_t)(last - first + last->step);
}

// Returns the last instruction of the run that was replaced, -1 when there was none.
static int fuse_exp(lg_decoder *d, int at) {
    run r = {d, at};
    const lg_ptx_insn *insn = &d->ptx->insns[at];
    bool is_sub = insn->op == LG_OP_SUB;
    int32_t x;
    if (is_sub) {
        x = insn->n_types == 1 && insn->types[0] == LG_PTX_F32 &&
                    has_mods(insn, (lg_ptx_mods){.round = LG_ROUND_RN})
                ? written(&r, insn, 3)
                : -1;
    } else {
        r.last = at - 1;
        x = insn->op == LG_OP_FMA && insn->n_operands == 4 ? read_reg(&r, &insn->operands[1]) : -1;
    }
    const lg_ptx_insn *product = x >= 0 ? match_exp(&r, x) : NULL;
    if (!product) {
        return -1;
    }
    static const lg_fused_kind kinds[2][2] = {{LG_FUSED_EXP, LG_FUSED_EXP_PLUS},
                                              {LG_FUSED_EXP_OF_SUB, LG_FUSED_EXP_OF_SUB_PLUS}};
    bool adds = product->op == LG_OP_FMA;
    lg_insn fused = *decoded(d, at);
    fused.dst[0] = d->reg_slots[product->operands[0].reg];
    if (adds) {
        fused.src[is_sub ? 2 : 1] = decoded(d, r.last)->src[2];
    }
    replace(d, &r, at, kinds[is_sub][adds], &fused);
    return r.last;
}

static bool is_add_64(const lg_ptx_insn *insn) {
    return insn && (insn->types[0] == LG_PTX_S64 || insn->types[0] == LG_PTX_U64) &&
           !insn->mods.cc && insn->n_operands == 3;
}

// i = a + b;  o = i << constant;  d = base + o: an element's address.
static int fuse_index(lg_decoder *d, int at) {
    run r = {d, at};
    const lg_ptx_insn *sum = &d->ptx->insns[at];
    if (sum->op != LG_OP_ADD || sum->n_types != 1 || !is_add_64(sum)) {
        return -1;
    }
    const lg_ptx_insn *shift = next_insn(&r, LG_OP_SHL, LG_PTX_B64);
    if (!shift || !reads(&r, shift, 1, written(&r, sum, 1)) || shift->n_operands != 3 ||
        shift->operands[2].kind != LG_OPERAND_INT || shift->operands[2].imm_bits > 63) {
        return -1;
    }
    const lg_ptx_insn *add = next_insn(&r, LG_OP_ADD, sum->types[0]);
    int32_t offset = shift->operands[0].kind == LG_OPERAND_REG ? shift->operands[0].reg : -1;
    if (!is_add_64(add) || add->operands[0].kind != LG_OPERAND_REG || offset < 0) {
        return -1;
    }
    int base = reads(&r, add, 2, offset) ? 1 : reads(&r, add, 1, offset) ? 2 : 0;
    // The offset must not be what the sum is added to, nor the result a part of it.
    if (base == 0 || reads(&r, add, base, offset) || add->operands[0].reg == offset) {
        return -1;
    }
    bool kept = written(&r, shift, 1) < 0;
    lg_insn fused = *decoded(d, at);
    const lg_insn *first = decoded(d, (int)(shift - d->ptx->insns));
    const lg_insn *second = decoded(d, (int)(add - d->ptx->insns));
    fused.dst[0] = second->dst[0];
    fused.dst[1] = first->dst[0];
    fused.src[2] = second->src[base - 1];
    fused.src[3] = first->src[1];
    replace(d, &r, at, kept ? LG_FUSED_INDEX_KEPT : LG_FUSED_INDEX, &fused);
    return r.last;
}

// A guarded branch over a short run of lane instructions to where its paths meet: the interpreter
// runs those for the lanes that stay, without taking the paths apart. aux[1] tells it how many.
static void mark_short_branches(lg_code *code) {
    enum { LONGEST = 64 };
    for (int i = 0; i < code->n_insns; i++) {
        lg_insn *insn = &code->insns[i];
        int64_t n = (int64_t)insn->imm - 1;
        if (insn->kind != LG_KIND_BRA || !insn->guard || n < 1 || n > LONGEST ||
            (int64_t)insn->imm != (int32_t)insn->aux[0]) {
            continue;
        }
        bool plain = true;
        for (int k = 1; k <= n; k++) {
            plain = plain && insn[k].lane && !insn[k].guard;
        }
        insn->aux[1] = plain ? (uint32_t)n : 0;
    }
}

void lg_fuse(lg_decoder *d) {
    const lg_ptx_function *f = d->ptx;
    lg_code *code = d->code;
    code->single = lg_arena_array(&d->module->arena, (size_t)f->n_insns, sizeof *code->single);
    for (int at = 0; at < f->n_insns; at++) {
        const lg_ptx_insn *insn = &f->insns[at];
        // A run that starts where another path comes in is one: only its inside must not.
        if (insn->guard >= 0 || d->fold.dropped[at]) {
            continue;
        }
        int last = insn->op == LG_OP_SUB || insn->op == LG_OP_FMA ? fuse_exp(d, at)
                   : insn->op == LG_OP_ADD                        ? fuse_index(d, at)
                                                                  : -1;
        at = last > at ? last : at;
    }
    mark_short_branches(code);
}

void lg_unfuse(lg_code *code) {
    for (int i = 0; i < code->n_fused; i++) {
        code->insns[code->single[i].at] = code->single[i].insn;
    }
    code->n_fused = 0;
}
