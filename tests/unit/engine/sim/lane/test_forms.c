// SPDX-License-Identifier: Apache-2.0
// Which forms the lane tables have: every register instruction that nvcc 13 emits for ordinary
// programs, every one of the checker's forms that the lanes are to execute, and none that is
// malformed.
#include "unit/engine/sim/lane/testing.h"

#define N(rows) (sizeof(rows) / sizeof((rows)[0]))

static const char *const emitted[] = {
#define LG_EMITTED(name, n_programs, count) name,
#include "unit/emitted.def"
#undef LG_EMITTED
};
enum { N_LANE = 257 }; // of them are for the lanes

// mov has no form of its own in the checker's table.
static bool open_any(lane_test *t, lg_arena *arena, const char *name) {
    if (strncmp(name, "mov.", 4) != 0) {
        return lane_open(t, arena, name);
    }
    const lg_ptx_mnemonic *m = lg_ptx_read_mnemonic(arena, name, strlen(name));
    memset(t, 0, sizeof *t);
    t->name = m->text;
    t->insn = (lg_ptx_insn){.op = m->op, .text = m->text, .n_types = m->n_types, .mods = m->mods};
    memcpy(t->insn.types, m->types, sizeof t->insn.types);
    t->form = (lg_lane_form){.insn = &t->insn, .n_dst = 1, .n_src = 1};
    t->form.dst_bytes[0] = t->form.src_bytes[0] = lane_width(m->types[0]);
    return !m->problem;
}

// Memory, branches and barriers are the interpreter's.
static bool is_lane(lane_test *t, lg_arena *arena, const char *name) {
    return open_any(t, arena, name) && t->form.n_dst > 0;
}

static bool selects(const lane_test *t) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    for (int isa = 0; isa < n_isas; isa++) {
        if (!tables[isa]->select(&t->form)) {
            fprintf(stderr, "\n    %s has no %s\n", lg_isa_name(tables[isa]->isa), t->name);
            return false;
        }
    }
    return true;
}

static void test_emitted(void) {
    lg_arena arena = {0};
    int n = 0;
    for (size_t i = 0; i < N(emitted); i++) {
        lane_test t;
        if (is_lane(&t, &arena, emitted[i])) {
            LG_CHECK_ROW(emitted[i], selects(&t));
            n++;
        }
    }
    CU_ASSERT_EQUAL(n, N_LANE);
    lg_arena_free(&arena);
}

// The slots that the decoder makes for immediates have the widths of the checker's forms.
static void test_immediate_widths(void) {
    lg_arena arena = {0};
    for (size_t i = 0; i < N(emitted); i++) {
        lane_test t;
        bool ok = true;
        if (!is_lane(&t, &arena, emitted[i])) {
            continue;
        }
        for (int s = 0; s < t.form.n_src; s++) {
            ok = ok && lg_lane_immediate_bytes(&t.insn, s) == t.form.src_bytes[s];
        }
        for (int d = 0; d < t.form.n_dst; d++) {
            ok = ok && lg_lane_result_bytes(&t.insn, d) == t.form.dst_bytes[d];
        }
        LG_CHECK_ROW(emitted[i], ok);
    }
    lg_ptx_operand elements[2] = {{.kind = LG_OPERAND_REG}, {.kind = LG_OPERAND_INT}};
    lg_ptx_insn pack = {.op = LG_OP_MOV, .n_types = 1, .types = {LG_PTX_B64}, .n_operands = 2};
    pack.operands[1] =
        (lg_ptx_operand){.kind = LG_OPERAND_VECTOR, .n_elements = 2, .elements = elements};
    CU_ASSERT_EQUAL(lg_lane_immediate_bytes(&pack, 1), 4);
    lg_arena_free(&arena);
}

// Every combination of modifiers and types that the checker's table accepts.
static const struct {
    lg_ptx_op op;
    const char *modifiers;
} forms[] = {
#define LG_PTX_FORM(op, modifiers, operands) {LG_OP_##op, modifiers},
#include "engine/ptx/forms.def"
#undef LG_PTX_FORM
};

// What memory.c, branches and barriers do, or nobody: not for the lanes.
static bool is_for_lanes(lg_ptx_op op) {
    static const lg_ptx_op others[] = {
        LG_OP_MOV,      LG_OP_CVTA,      LG_OP_ISSPACEP,      LG_OP_LD,
        LG_OP_LDU,      LG_OP_ST,        LG_OP_ATOM,          LG_OP_RED,
        LG_OP_PREFETCH, LG_OP_PREFETCHU, LG_OP_APPLYPRIORITY, LG_OP_DISCARD,
        LG_OP_ALLOCA,   LG_OP_STACKSAVE, LG_OP_STACKRESTORE,  LG_OP_BRA,
        LG_OP_BRX,      LG_OP_CALL,      LG_OP_RET,           LG_OP_EXIT,
        LG_OP_TRAP,     LG_OP_BRKPT,     LG_OP_PMEVENT,       LG_OP_NANOSLEEP,
        LG_OP_BAR,      LG_OP_BARRIER,   LG_OP_MEMBAR,        LG_OP_FENCE,
    };
    for (size_t i = 0; i < N(others); i++) {
        if (others[i] == op) {
            return false;
        }
    }
    return true;
}

typedef struct form_walk {
    lg_arena arena;
    int n, n_missing;
} form_walk;

static void check_form(form_walk *walk, const char *name) {
    lane_test t;
    bool ok = lane_open(&t, &walk->arena, name);
    if (t.insn.op == LG_OP_ELECT || (t.insn.op == LG_OP_LOP3 && t.insn.mods.bool_op)) {
        t.form.n_dst = 2; // d|p, not d
    }
    ok = ok && selects(&t);
    walk->n++;
    walk->n_missing += !ok;
    LG_CHECK_ROW(name, ok);
}

// `rest`: slots that `name` has no words of yet.
static void expand_form(form_walk *walk, const char *name, const char *rest) {
    rest += strspn(rest, " ");
    if (!*rest) {
        check_form(walk, name);
        return;
    }
    size_t n = strcspn(rest, " ");
    const char *next = rest + n;
    bool optional = rest[n - 1] == '?', type = rest[0] == ':';
    if (optional) {
        expand_form(walk, name, next);
    }
    const char *end = next - optional;
    for (const char *word = rest + type; word < end;) {
        size_t length = strcspn(word, "| ?");
        char longer[128];
        snprintf(longer, sizeof longer, "%s.%.*s", name, (int)length, word);
        expand_form(walk, longer, next);
        word += length + 1;
    }
}

static void test_all_forms(void) {
    form_walk walk = {0};
    for (size_t i = 0; i < N(forms); i++) {
        if (is_for_lanes(forms[i].op)) {
            expand_form(&walk, lg_ptx_op_name(forms[i].op), forms[i].modifiers);
        }
    }
    CU_ASSERT_TRUE(walk.n > 3000);
    CU_ASSERT_EQUAL(walk.n_missing, 0);
    lg_arena_free(&walk.arena);
}

// A form spoilt in one way: it must not be selected.
typedef struct broken_row {
    const char *what;
    const char *name; // sound
    void (*spoil)(lane_test *t);
} broken_row;

static void wide_destination(lane_test *t) {
    t->form.dst_bytes[0] = 8;
}
static void narrow_source(lane_test *t) {
    t->form.src_bytes[1] = 2;
}
static void predicate_source(lane_test *t) {
    t->form.src_bytes[0] = 0;
}
static void more_sources(lane_test *t) {
    t->form.src_bytes[t->form.n_src] = t->form.src_bytes[0];
    t->form.n_src++;
}
static void fewer_sources(lane_test *t) {
    t->form.n_src--;
}
static void no_destination(lane_test *t) {
    t->form.n_dst = 0;
}
static void too_many(lane_test *t) {
    t->form.n_src = LG_MAX_SRC + 1;
}
static void no_type(lane_test *t) {
    t->insn.n_types = 0;
    t->insn.types[0] = LG_PTX_NO_TYPE;
}
static void saturate(lane_test *t) {
    t->insn.mods.sat = true;
}
static void flush(lane_test *t) {
    t->insn.mods.ftz = true;
}
static void relu(lane_test *t) {
    t->insn.mods.relu = true;
}
static void carry(lane_test *t) {
    t->insn.mods.cc = true;
}
static void approximate(lane_test *t) {
    t->insn.mods.approx = true;
}
static void boolean_min(lane_test *t) {
    t->insn.mods.bool_op = LG_SUB_MIN;
}
static void nearest_away(lane_test *t) {
    t->insn.mods.round = LG_ROUND_RNA;
}
static void no_rounding(lane_test *t) {
    t->insn.mods.round = LG_ROUND_DEFAULT;
}
static void no_comparison(lane_test *t) {
    t->insn.mods.cmp = LG_CMP_NONE;
}
static void unordered(lane_test *t) {
    t->insn.mods.cmp = LG_CMP_LTU;
}
static void both_wrap_and_clamp(lane_test *t) {
    t->insn.mods.wrap = t->insn.mods.clamp = true;
}
static void a_load(lane_test *t) {
    t->insn.op = LG_OP_LD;
}
static void unknown(lane_test *t) {
    t->insn.op = LG_OP_UNKNOWN;
}
static void no_opcode(lane_test *t) {
    t->insn.op = LG_N_OPS;
}
static void as_b32(lane_test *t) {
    t->insn.types[0] = LG_PTX_B32;
}

static const broken_row broken[] = {
    {"a wide destination", "add.s32", wide_destination},
    {"a narrow source", "add.s32", narrow_source},
    {"a predicate as a number", "add.s32", predicate_source},
    {"one source too many", "add.s32", more_sources},
    {"a source missing", "mad.lo.s32", fewer_sources},
    {"no destination", "add.f32", no_destination},
    {"more sources than there are", "add.s32", too_many},
    {"no type", "add.s32", no_type},
    {"an untyped sum", "add.s32", as_b32},
    {".sat on u32", "add.u32", saturate},
    {".sat on mul.lo", "mul.lo.s32", saturate},
    {".sat on f64", "add.f64", saturate},
    {".sat on bf16", "add.bf16", saturate},
    {".ftz on an integer", "add.s32", flush},
    {".ftz on bf16", "fma.rn.bf16", flush},
    {".ftz on f64", "setp.lt.f64", flush},
    {".ftz on cvt of f64", "cvt.rzi.s32.f64", flush},
    {".relu on f32", "fma.rn.f32", relu},
    {".relu on u32", "min.u32", relu},
    {"a carry of 16 bits", "add.s16", carry},
    {".approx on a sum", "add.f32", approximate},
    {".approx on f64", "sqrt.rn.f64", approximate},
    {"setp.lt.min", "setp.lt.and.s32", boolean_min},
    {".rna on fma", "fma.rn.f32", nearest_away},
    {".rna on cvt", "cvt.rn.f16.f32", nearest_away},
    {"narrowing without a rounding", "cvt.rn.f32.f64", no_rounding},
    {"cvt to an integer without a rounding", "cvt.rzi.s32.f32", no_rounding},
    {"setp without a comparison", "setp.lt.s32", no_comparison},
    {"an unordered comparison of integers", "setp.lt.s32", unordered},
    {"shf.wrap.clamp", "shf.l.wrap.b32", both_wrap_and_clamp},
    {"mov with a modifier", "mov.b32", flush},
    {"shfl without its mask", "shfl.sync.idx.b32", fewer_sources},
    {"a load", "add.s32", a_load},
    {"no known opcode", "add.s32", unknown},
    {"an opcode out of range", "add.s32", no_opcode},
};

static void test_broken(void) {
    const lg_lane_table *tables[3];
    int n_isas = lane_isas(tables);
    lg_arena arena = {0};
    for (size_t i = 0; i < N(broken); i++) {
        lane_test t;
        LG_CHECK_ROW(broken[i].what, open_any(&t, &arena, broken[i].name) && selects(&t));
        broken[i].spoil(&t);
        for (int isa = 0; isa < n_isas; isa++) {
            LG_CHECK_ROW(broken[i].what, tables[isa]->select(&t.form) == NULL);
        }
    }
    lg_arena_free(&arena);
}

static void test_choice_of_table(void) {
    CU_ASSERT_EQUAL(lg_lane_table_baseline()->isa, LG_ISA_BASELINE);
    setenv("LOSSGATE_ISA", "baseline", 1);
    CU_ASSERT_EQUAL(lg_lane_table_best()->isa, LG_ISA_BASELINE);
    setenv("LOSSGATE_ISA", "avx2", 1);
    const lg_lane_table *avx2 = lg_lane_table_avx2();
    CU_ASSERT_TRUE(!avx2 || lg_lane_table_best() == avx2);
    unsetenv("LOSSGATE_ISA");
    const lg_lane_table *avx512 = lg_lane_table_avx512();
    CU_ASSERT_TRUE(lg_lane_table_best() == (avx512 ? avx512
                                            : avx2 ? avx2
                                                   : lg_lane_table_baseline()));
}

int main(void) {
    static const lg_test tests[] = {
        {"what nvcc emits is there", test_emitted},
        {"what the checker accepts is there", test_all_forms},
        {"widths agree with the checker's forms", test_immediate_widths},
        {"malformed instructions are refused", test_broken},
        {"the table follows the CPU and LOSSGATE_ISA", test_choice_of_table},
    };
    return lg_run_tests(LG_SUITE, tests, N(tests));
}
