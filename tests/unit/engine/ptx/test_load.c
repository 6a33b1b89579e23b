// SPDX-License-Identifier: Apache-2.0
// What the AST holds for texts that load.
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>

typedef struct insn_row {
    const char *statement;
    const char *printed; // by print_insn
} insn_row;

static const insn_row insns[] = {
    // Literals.
    {"mov.u32 %r1, 5;", "mov u32: %r1, int:5"},
    {"mov.u32 %r1, -7;", "mov u32: %r1, int:-7"},
    {"mov.u32 %r1, 0xFFu;", NULL},
    {"mov.u32 %r1, 0XFFU;", "mov u32: %r1, int:255"},
    {"mov.u32 %r1, 017;", "mov u32: %r1, int:15"},
    {"mov.u32 %r1, 0b1011;", "mov u32: %r1, int:11"},
    {"mov.u64 %rd1, 18446744073709551615U;", "mov u64: %rd1, int:-1"},
    {"mov.u32 %r1, (3 + 4) * 2 - (1 << 4) / 3;", "mov u32: %r1, int:9"},
    {"mov.u32 %r1, WARP_SZ;", "mov u32: %r1, int:32"},
    {"mov.u32 %r1, ~0;", "mov u32: %r1, int:-1"},
    {"mov.u32 %r1, 1 ? 2 : 3;", "mov u32: %r1, int:2"},
    {"mov.f32 %f1, 0f3F800000;", "mov f32: %f1, f32:3f800000"},
    {"mov.f32 %f1, -0f3F800000;", "mov f32: %f1, f32:bf800000"},
    {"mov.f64 %fd1, 0dBFF0000000000000;", "mov f64: %fd1, f64:bff0000000000000"},
    {"mov.f64 %fd1, 1.5;", "mov f64: %fd1, f64:3ff8000000000000"},
    {"mov.f64 %fd1, -2.5e-1;", "mov f64: %fd1, f64:bfd0000000000000"},
    {"add.f32 %f1, %f2, 0.1;", "add f32: %f1, %f2, f32:3dcccccd"},
    {"add.f64 %fd1, %fd2, 0f3F800000;", "add f64: %fd1, %fd2, f64:3ff0000000000000"},
    {"mov.b32 %r1, 0f3F800000;", "mov b32: %r1, f32:3f800000"},
    // Registers, predicates, special registers, addresses.
    {"@%p1 add.s32 %r1, %r2, %r3;", "@%p1 add s32: %r1, %r2, %r3"},
    {"@!%p1 add.sat.s32 %r1, %r2, -1;", "@!%p1 add s32 sat: %r1, %r2, int:-1"},
    {"mov.u32 %r1, %tid.x;", "mov u32: %r1, sreg:%tid.x"},
    {"mov.u32 %r1, %lanemask_lt;", "mov u32: %r1, sreg:%lanemask_lt"},
    {"mov.u64 %rd1, %clock64;", "mov u64: %rd1, sreg:%clock64"},
    {"cvt.u16.u32 %h1, %ntid.y;", "cvt u16 u32: %h1, sreg:%ntid.y"},
    {"mov.u64 %rd1, g;", "mov u64: %rd1, sym:g+0"},
    {"mov.u64 %rd1, g+12;", "mov u64: %rd1, sym:g+12"},
    {"mov.u64 %rd1, lo-8;", "mov u64: %rd1, sym:local:lo-8"},
    {"mov.u32 %r1, sh;", "mov u32: %r1, sym:sh+0"},
    {"mov.u64 %rd1, f;", "mov u64: %rd1, func:f"},
    {"mov.pred %p1, !%p2;", "mov pred: %p1, !%p2"},
    {"mov.pred %p1, 1;", "mov pred: %p1, int:1"},
    {"mov.b32 %r1, {%h1, %h2};", "mov b32: %r1, {%h1, %h2}"},
    {"mov.b64 {%r1, _}, %rd1;", "mov b64: {%r1, _}, %rd1"},
    {"mov.b64 %rd1, {%f1, 5};", "mov b64: %rd1, {%f1, int:5}"},
    // Memory.
    {"ld.param.u64 %rd1, [p0];", "ld u64 space=param: %rd1, [p0+0]"},
    {"ld.param::entry.f32 %f1, [p1];", "ld f32 space=param entry: %f1, [p1+0]"},
    {"ld.global.nc.v4.f32 {%f1, %f2, %f3, _}, [%rd1+16];",
     "ld f32 space=global nc v4: {%f1, %f2, %f3, _}, [%rd1+16]"},
    {"ld.volatile.shared.u32 %r1, [%r2-4];", "ld u32 space=shared order=volatile: %r1, [%r2-4]"},
    {"ld.global.u8 %r1, [%rd1+-8];", "ld u8 space=global: %r1, [%rd1-8]"},
    {"ld.global.s8 %h1, [%rd1+2*4];", "ld s8 space=global: %h1, [%rd1+8]"},
    {"ld.u32 %r1, [%rd1];", "ld u32: %r1, [%rd1+0]"},
    {"ld.u32 %r1, [sh+4];", "ld u32 space=shared: %r1, [sh+4]"},
    {"ld.const.f32 %f1, [cc];", "ld f32 space=const: %f1, [cc+0]"},
    {"ld.relaxed.gpu.global.L1::evict_last.b32 %r1, [%rd1];",
     "ld b32 space=global order=relaxed scope=gpu: %r1, [%rd1+0]"},
    {"ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2;", "ld b32 space=global: %r1, [%rd1+0]"},
    {"ld.global.b32 %r1, [256];", "ld b32 space=global: %r1, [+256]"},
    {"st.global.v2.u32 [%rd1], {%r1, 7};", "st u32 space=global v2: [%rd1+0], {%r1, int:7}"},
    {"st.shared::cta.f32 [%r1], 0f3F800000;", "st f32 space=shared: [%r1+0], f32:3f800000"},
    {"st.volatile.global.f32 [%rd1], %f1;", "st f32 space=global order=volatile: [%rd1+0], %f1"},
    {"st.release.sys.u32 [%rd1], %r1;", "st u32 order=release scope=sys: [%rd1+0], %r1"},
    {"atom.global.add.f32 %f1, [%rd1], %f2;", "atom f32 sub=add space=global: %f1, [%rd1+0], %f2"},
    {"atom.acq_rel.gpu.global.cas.b32 _, [%rd1], 0, 1;",
     "atom b32 sub=cas space=global order=acq_rel scope=gpu: _, [%rd1+0], int:0, int:1"},
    {"atom.shared.min.s64 %rd1, [%r1], %rd2;",
     "atom s64 sub=min space=shared: %rd1, [%r1+0], %rd2"},
    {"red.global.add.noftz.f16x2 [%rd1], %r1;",
     "red f16x2 sub=add space=global noftz: [%rd1+0], %r1"},
    {"cvta.to.global.u64 %rd1, %rd2;", "cvta u64 space=global to: %rd1, %rd2"},
    {"cvta.shared.u64 %rd1, sh;", "cvta u64 space=shared: %rd1, sym:sh+0"},
    {"isspacep.global %p1, %rd1;", "isspacep space=global: %p1, %rd1"},
    {"prefetch.global.L2 [%rd1];", "prefetch space=global: [%rd1+0]"},
    // Arithmetic modifiers.
    {"mul.wide.s32 %rd1, %r1, 4;", "mul s32 sub=wide: %rd1, %r1, int:4"},
    {"mad.lo.cc.u32 %r1, %r2, %r3, %r4;", "mad u32 sub=lo cc: %r1, %r2, %r3, %r4"},
    {"madc.hi.u32 %r1, %r2, %r3, %r4;", "madc u32 sub=hi: %r1, %r2, %r3, %r4"},
    {"fma.rn.ftz.sat.f32 %f1, %f2, %f3, %f4;", "fma f32 round=rn ftz sat: %f1, %f2, %f3, %f4"},
    {"fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;", "fma f16x2 round=rn relu: %r1, %r2, %r3, %r4"},
    {"div.full.ftz.f32 %f1, %f2, %f3;", "div f32 ftz full: %f1, %f2, %f3"},
    {"rcp.approx.ftz.f64 %fd1, %fd2;", "rcp f64 ftz approx: %fd1, %fd2"},
    {"max.NaN.f32 %f1, %f2, %f3;", "max f32 NaN: %f1, %f2, %f3"},
    {"min.ftz.NaN.xorsign.abs.f32 %f1, %f2, %f3;", "min f32 ftz NaN xorsign: %f1, %f2, %f3"},
    {"bfind.shiftamt.u32 %r1, %r2;", "bfind u32 shiftamt: %r1, %r2"},
    {"shf.l.wrap.b32 %r1, %r2, %r3, 7;", "shf b32 sub=l wrap: %r1, %r2, %r3, int:7"},
    {"prmt.b32.f4e %r1, %r2, %r3, %r4;", "prmt b32 sub=f4e: %r1, %r2, %r3, %r4"},
    {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", "lop3 b32: %r1, %r2, %r3, %r4, int:150"},
    {"testp.notanumber.f32 %p1, %f1;", "testp f32 sub=notanumber: %p1, %f1"},
    {"dp4a.u32.s32 %r1, %r2, %r3, %r4;", "dp4a u32 s32: %r1, %r2, %r3, %r4"},
    {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;", "cvt bf16x2 f32 round=rn: %r1, %f1, %f2"},
    {"cvt.rzi.ftz.s32.f32 %r1, %f1;", "cvt s32 f32 round=rzi ftz: %r1, %f1"},
    {"cvt.rn.relu.satfinite.f16.f32 %h1, %f1;", "cvt f16 f32 round=rn relu satfinite: %h1, %f1"},
    {"cvt.s32.s8 %r1, %rd1;", "cvt s32 s8: %r1, %rd1"},
    // The same word means different things.
    {"setp.lo.u32 %p1, %r1, %r2;", "setp u32 cmp=lo: %p1, %r1, %r2"},
    {"setp.gtu.and.ftz.f32 %p1|%p2, %f1, %f2, !%p3;",
     "setp f32 cmp=gtu bool=and ftz: %p1|%p2, %f1, %f2, !%p3"},
    {"setp.nan.f32 _|%p2, %f1, %f2;", "setp f32 cmp=nan: _|%p2, %f1, %f2"},
    {"set.eq.xor.s32.f32 %r1, %f1, %f2, %p1;", "set s32 f32 cmp=eq bool=xor: %r1, %f1, %f2, %p1"},
    {"slct.ftz.s32.f32 %r1, %r2, %r3, %f1;", "slct s32 f32 ftz: %r1, %r2, %r3, %f1"},
    {"bar.sync 0;", "bar sub=sync: int:0"},
    {"bar.sync 1, 64;", "bar sub=sync: int:1, int:64"},
    {"bar.warp.sync -1;", "bar sub=warp sync: int:-1"},
    {"barrier.cta.sync.aligned 0;", "barrier sub=sync scope=cta aligned: int:0"},
    {"bar.red.popc.u32 %r1, 0, %p1;", "bar u32 sub=red bool=popc: %r1, int:0, %p1"},
    {"bar.red.and.pred %p2, 0, 64, !%p1;", "bar pred sub=red bool=and: %p2, int:0, int:64, !%p1"},
    {"membar.cta;", "membar scope=cta:"},
    {"fence.acq_rel.sys;", "fence order=acq_rel scope=sys:"},
    {"shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
     "shfl b32 sub=bfly sync: %r1|%p1, %r2, int:16, int:31, int:-1"},
    {"vote.sync.ballot.b32 %r1, !%p1, -1;", "vote b32 sub=ballot sync: %r1, !%p1, int:-1"},
    {"vote.sync.uni.pred %p1, %p2, %r1;", "vote pred sub=uni sync: %p1, %p2, %r1"},
    {"match.all.sync.b64 %r1|%p1, %rd1, -1;", "match b64 sub=all sync: %r1|%p1, %rd1, int:-1"},
    {"redux.sync.and.b32 %r1, %r2, -1;", "redux b32 sub=and sync: %r1, %r2, int:-1"},
    {"activemask.b32 %r1;", "activemask b32: %r1"},
    {"nanosleep.u32 100;", "nanosleep u32: int:100"},
    // Modifiers in another order, blanks inside the mnemonic.
    {"ld.u32.global %r1, [%rd1];", "ld u32 space=global: %r1, [%rd1+0]"},
    {"add.f32.ftz %f1, %f2, %f3;", "add f32 ftz: %f1, %f2, %f3"},
    {"ld\n\t.global .u32 %r1, [%rd1];", "ld u32 space=global: %r1, [%rd1+0]"},
    // Control.
    {"exit;", "exit:"},
    {"@%p1 ret.uni;", "@%p1 ret uni:"},
    {"bra.uni L; L:", "bra uni: label:1"},
    {"L: @!%p1 bra L;", "@!%p1 bra: label:0"},
    {"t: .branchtargets A, B, A; brx.idx %r1, t; A: B:",
     "brx sub=idx: %r1, (label:1, label:1, label:1)"},
    {"call.uni (%r1), f, (%r2, %rd1);", "call uni: (%r1), func:f, (%r2, %rd1)"},
    {"{ .param .b32 x; .param .b64 y; .param .b32 z; call (z), f, (x, y); }",
     "call: (sym:local:z+0), func:f, (sym:local:x+0, sym:local:y+0)"},
    {"P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[8]);"
     " call (%r1), %rd1, (%r2, 7), P;",
     "call: (%r1), %rd1, (%r2, int:7)"},
    {"Q: .callprototype _ (); call %rd1, Q;", "call: %rd1"},
};

static void test_instructions(void) {
    for (size_t i = 0; i < sizeof insns / sizeof *insns; i++) {
        lg_str text = {0};
        lg_str printed = {0};
        lg_diags diags = {0};
        lg_str_printf(&text, "%s%s\n}\n", PTX_KERNEL, insns[i].statement);
        lg_ptx_module *module = load_text(lg_str_text(&text), &diags);
        LG_CHECK_ROW(insns[i].statement, (module != NULL) == (insns[i].printed != NULL));
        if (module) {
            const lg_ptx_function *function = &module->functions[lg_ptx_find_function(module, "k")];
            print_insn(module, function, 0, &printed);
            LG_CHECK_ROW(insns[i].statement,
                         insns[i].printed && strcmp(lg_str_text(&printed), insns[i].printed) == 0);
            if (insns[i].printed && strcmp(lg_str_text(&printed), insns[i].printed) != 0) {
                fprintf(stderr, "    got '%s'\n", lg_str_text(&printed));
            }
        } else if (insns[i].printed) {
            lg_diags_print(&diags, stderr);
        }
        lg_ptx_free(module);
        lg_diags_free(&diags);
        lg_str_free(&text);
        lg_str_free(&printed);
    }
}

// Every variable of a module and of its function k as "name space bytes@offset align".
static void print_symbols(const lg_ptx_symbol *symbols, int n, lg_str *out) {
    static const char *const spaces[] = {"generic", "global", "shared", "local", "const", "param"};
    for (int i = 0; i < n; i++) {
        const lg_ptx_symbol *symbol = &symbols[i];
        lg_str_printf(out, "%s %s %llu@%llu a%u%s; ", symbol->name, spaces[symbol->space],
                      (unsigned long long)symbol->bytes, (unsigned long long)symbol->offset,
                      symbol->align, symbol->is_extern ? " extern" : "");
    }
}

typedef struct layout_row {
    const char *name;
    const char *text; // behind the header; the function of interest is k
    const char *module_symbols;
    const char *symbols;
    const char *totals; // "params call local shared regs"
} layout_row;

static const layout_row layouts[] = {
    {"entry parameters keep their alignment",
     ".entry k(.param .u8 a, .param .u64 b, .param .u16 c, .param .align 8 .b8 s[24],"
     " .param .f32 d) {}",
     "", "a param 1@0 a1; b param 8@8 a8; c param 2@16 a2; s param 24@24 a8; d param 4@48 a4; ",
     "52 0 0 0 0"},
    {"pointer attributes change nothing",
     ".entry k(.param .u64 .ptr .global .align 16 p, .param .u32 n, .param .u64 .ptr q) {}", "",
     "p param 8@0 a8; n param 4@8 a4; q param 8@16 a8; ", "24 0 0 0 0"},
    {"returns come before parameters",
     ".func (.param .align 8 .b8 r[12]) k(.param .b32 a) { ret; }", "",
     "r param 12@0 a8; a param 4@12 a4; ", "16 0 0 0 0"},
    {"call sequences lie behind the parameters and share their bytes",
     ".func k(.param .b32 a) { { .param .b32 p; .param .b64 r; { .param .b8 q[3]; } }"
     " { .param .align 16 .b8 p[40]; } }",
     "", "a param 4@0 a4; p param 4@4 a4; r param 8@8 a8; q param 3@16 a1; p param 40@16 a16; ",
     "4 52 0 0 0"},
    {"local and shared frames",
     ".entry k() { .local .align 16 .b8 d[20]; .shared .f32 x; .shared .f64 y[3]; .local .u8 e;"
     " .local .v4 .f32 v; }",
     "",
     "d local 20@0 a16; x shared 4@0 a4; y shared 24@8 a8; e local 1@20 a1; v local 16@32 a16; ",
     "0 0 48 32 0"},
    {"module variables have no offset",
     ".global .u32 a; .const .align 8 .f32 b[2][3]; .shared .u64 c; .extern .shared .b8 d[];"
     " .extern .global .u32 e; .global .attribute(.managed) .u16 m, n; .entry k() {}",
     "a global 4@0 a4; b const 24@0 a8; c shared 8@0 a8; d shared 0@0 a1 extern; "
     "e global 4@0 a4 extern; m global 2@0 a2; n global 2@0 a2; ",
     "", "0 0 0 0 0"},
    {"a declaration and its definition are one variable",
     ".extern .global .u32 e; .global .u32 e; .entry k() {}", "e global 4@0 a4; ", "", "0 0 0 0 0"},
    {"dynamic shared memory declared inside a kernel",
     ".entry k() { .extern .shared .align 16 .b8 s[]; .reg .u32 %r; mov.u32 %r, s; }",
     "s shared 0@0 a16 extern; ", "", "0 0 0 0 1"},
    {"only used registers of a range exist",
     ".entry k() { .reg .b32 %r<100000>; add.s32 %r1, %r99999, 5; }", "", "", "0 0 0 0 2"},
    {"inner registers hide outer ones",
     ".entry k() { .reg .b32 %r<5>; .reg .b64 %r1<2>; mov.b32 %r1, 0; { .reg .b64 %r<3>;"
     " mov.b64 %r1, 0; mov.b32 %r3, 0; mov.b64 %r11, 0; } mov.b32 %r1, 0; }",
     "", "", "0 0 0 0 4"},
    {"vector registers are registers",
     ".entry k() { .reg .v4 .f32 v; .reg .v2 .u32 w; mov.f32 v.x, v.w; mov.u32 w.y, w.x; }", "", "",
     "0 0 0 0 6"},
};

static void test_layouts(void) {
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout_row *row = &layouts[i];
        lg_str text = {0};
        lg_str_printf(&text, "%s%s\n", PTX_HEADER, row->text);
        lg_ptx_module *module = load_or_print(lg_str_text(&text));
        LG_CHECK_ROW(row->name, module != NULL);
        if (module) {
            const lg_ptx_function *k = &module->functions[lg_ptx_find_function(module, "k")];
            lg_str globals = {0};
            lg_str locals = {0};
            lg_str totals = {0};
            print_symbols(module->symbols, module->n_symbols, &globals);
            print_symbols(k->symbols, k->n_symbols, &locals);
            lg_str_printf(&totals, "%llu %llu %llu %llu %d", (unsigned long long)k->param_bytes,
                          (unsigned long long)k->call_param_bytes,
                          (unsigned long long)k->local_bytes, (unsigned long long)k->shared_bytes,
                          k->n_regs);
            LG_CHECK_ROW(row->name, strcmp(lg_str_text(&globals), row->module_symbols) == 0);
            LG_CHECK_ROW(row->name, strcmp(lg_str_text(&locals), row->symbols) == 0);
            LG_CHECK_ROW(row->name, strcmp(lg_str_text(&totals), row->totals) == 0);
            lg_str_free(&globals);
            lg_str_free(&locals);
            lg_str_free(&totals);
        }
        lg_ptx_free(module);
        lg_str_free(&text);
    }
}

typedef struct init_row {
    const char *declaration; // of x, the first variable
    const char *bytes;       // hexadecimal; "zero": no initial value
    const char *relocs;      // "offset:name+addend[g]"
} init_row;

static const init_row inits[] = {
    {".global .u32 x;", "zero", ""},
    {".global .u32 x = 7;", "07000000", ""},
    {".global .b8 x[4] = {1, 0xFF, -1};", "01ffff00", ""},
    {".global .b16 x[] = {1, 2, 3};", "010002000300", ""},
    {".global .s32 x[2][2] = {{1}, {2, 3}};", "01000000000000000200000003000000", ""},
    {".global .s16 x[][2] = {{1, 2}, {3}};", "0100020003000000", ""},
    {".const .f32 x[3] = {1.0, -0f3F800000, 0f7FC00001};", "0000803f000080bf0100c07f", ""},
    {".const .f64 x = 0d3FF8000000000000;", "000000000000f83f", ""},
    {".global .f64 x = -1.5;", "000000000000f8bf", ""},
    {".global .b32 x = 0f3F800000;", "0000803f", ""},
    {".global .b8 x[] = \"a\\n\\\"\";", "610a22", ""},
    {".global .b8 x[4] = {\"ab\", 0};", "61620000", ""},
    {".global .v2 .u16 x = {1, 2};", "01000200", ""},
    {".global .u64 x = y;", "0000000000000000", "0:y+0 "},
    {".global .u64 x[3] = {generic(y)+4, 5, f};",
     "000000000000000005000000000000000000000000000000", "0:y+4g 16:f+0 "},
    {".global .u64 x = generic(x)-8;", "0000000000000000", "0:x-8g "},
    {".global .u8 x[10] = {1, 0xFF(generic(y)), 0xFF00(generic(y)), 0xFF0000(generic(y)),"
     " 0xFF000000(generic(y)), 0xFF00000000(generic(y)), 0xFF0000000000(generic(y)),"
     " 0xFF000000000000(generic(y)), 0xFF00000000000000(generic(y)), 2};",
     "01000000000000000002", "1:y+0g "},
    {".global .u32 x = (1 << 4) | 3;", "13000000", ""},
};

static void print_init(const lg_ptx_module *module, lg_str *bytes, lg_str *relocs) {
    const lg_ptx_symbol *x = &module->symbols[0];
    for (uint64_t i = 0; x->init && i < x->bytes; i++) {
        lg_str_printf(bytes, "%02x", x->init[i]);
    }
    if (!x->init) {
        lg_str_add(bytes, "zero");
    }
    for (int i = 0; i < x->n_relocs; i++) {
        const char *name = x->relocs[i].symbol >= 0 ? module->symbols[x->relocs[i].symbol].name
                                                    : module->functions[x->relocs[i].function].name;
        lg_str_printf(relocs, "%llu:%s%+lld%s ", (unsigned long long)x->relocs[i].offset, name,
                      (long long)x->relocs[i].addend, x->relocs[i].generic ? "g" : "");
    }
}

static void test_initial_values(void) {
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        const init_row *row = &inits[i];
        lg_str text = {0};
        // y and f stand behind x: addresses are looked up at the end.
        lg_str_printf(&text, "%s%s .global .u32 y; .func f(); \n", PTX_HEADER, row->declaration);
        lg_ptx_module *module = load_or_print(lg_str_text(&text));
        LG_CHECK_ROW(row->declaration, module != NULL);
        if (module) {
            lg_str bytes = {0};
            lg_str relocs = {0};
            print_init(module, &bytes, &relocs);
            LG_CHECK_ROW(row->declaration, strcmp(lg_str_text(&bytes), row->bytes) == 0);
            LG_CHECK_ROW(row->declaration, strcmp(lg_str_text(&relocs), row->relocs) == 0);
            lg_str_free(&bytes);
            lg_str_free(&relocs);
        }
        lg_ptx_free(module);
        lg_str_free(&text);
    }
}

static void test_functions(void) {
    static const char text[] =
        ".version 8.3\n.target sm_90a, debug\n.address_size 64\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".func f(.param .b32 a) .noreturn;\n"
        ".func g(.param .b32 a) { ret; }\n"
        ".alias f, g;\n"
        ".visible .entry k() .maxntid 256, 2 .minnctapersm 2\n"
        "{ .pragma \"nounroll\"; }\n"
        ".weak .entry l() .reqntid 64 { trap; L: }\n"
        ".visible .func h() { L: bra L; }\n";
    lg_ptx_module *module = load_or_print(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    CU_ASSERT_EQUAL(module->version_major, 8);
    CU_ASSERT_EQUAL(module->version_minor, 3);
    CU_ASSERT_EQUAL(module->sm, 90);
    CU_ASSERT_EQUAL(module->n_functions, 6);
    const lg_ptx_function *functions = module->functions;
    CU_ASSERT_TRUE(functions[0].is_extern && functions[0].n_returns == 1);
    CU_ASSERT_EQUAL(functions[0].n_params, 2);
    // The alias has the code of what it stands for, under its own name.
    CU_ASSERT_STRING_EQUAL(functions[1].name, "f");
    CU_ASSERT_TRUE(!functions[1].is_extern && functions[1].n_insns == 1);
    const lg_ptx_function *k = &functions[lg_ptx_find_function(module, "k")];
    CU_ASSERT_TRUE(k->is_entry && k->max_threads[0] == 256 && k->max_threads[1] == 2);
    CU_ASSERT_TRUE(k->max_threads[2] == 1 && k->req_threads[0] == 0);
    CU_ASSERT_TRUE(k->n_insns == 1 && k->insns[0].op == LG_OP_RET);
    const lg_ptx_function *l = &functions[lg_ptx_find_function(module, "l")];
    CU_ASSERT_TRUE(l->req_threads[0] == 64 && l->req_threads[2] == 1);
    CU_ASSERT_TRUE(l->n_insns == 2 && l->insns[1].op == LG_OP_RET);
    const lg_ptx_function *h = &functions[lg_ptx_find_function(module, "h")];
    CU_ASSERT_TRUE(h->n_insns == 1 && h->insns[0].op == LG_OP_BRA);
    CU_ASSERT_EQUAL(lg_ptx_find_function(module, "nothing"), -1);
    lg_ptx_free(module);
}

static const char clang_style[] =
    "//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 7.8\n.target sm_75\n.address_size 64\n"
    "\t// .globl\tsum\n.extern .shared .align 16 .b8 global_smem[];\n"
    ".visible .entry sum(\n\t.param .u64 .ptr .global .align 1 sum_param_0,\n"
    "\t.param .u32 sum_param_1\n)\n.reqntid 128\n{\n"
    "\t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<20>;\n\t.reg .b64 \t%rd<6>;\n"
    "$L__func_begin0:\n// %bb.0:\n\tld.param.b64 \t%rd1, [sum_param_0];\n"
    "\tld.param.b32 \t%r1, [sum_param_1];\n\tmov.u32 \t%r2, %tid.x;\n"
    "\tsetp.lt.s32 \t%p1, %r2, %r1;\n\tmul.wide.s32 \t%rd2, %r2, 16;\n"
    "\tadd.s64 \t%rd3, %rd1, %rd2;\n\t// begin inline asm\n"
    "\tmov.u32 %r3, 0x0;\n\t@%p1 ld.global.v4.b32 { %r3, %r4, %r5, %r6 }, [ %rd3 + 0 ];\n"
    "\t// end inline asm\n\t{\n\t\t.reg .pred %p<2>; .reg .b32 t;\n"
    "\t\tsetp.ne.u32 %p1, %r4, 0;\n\t\tselp.b32 t, 1, 0, %p1;\n\t\tadd.u32 %r7, %r3, t;\n\t}\n"
    "\tshfl.sync.bfly.b32 \t%r8, %r7, 16, 31, -1;\n\tmov.b32 \t%r9, global_smem;\n"
    "\tadd.s32 %r10, %r9, %r8;\n\t@%p1 st.shared.b32 [ %r10 + 0 ], %r8;\n\tbar.sync \t0;\n"
    "\tret;\n$L__tmp1:\n$L__func_end0:\n}\n"
    "\t.section\t.debug_abbrev\n\t{\n.b8 1\n.b8 17\n.b64 $L__func_begin0\n\t}\n"
    "\t.section\t.debug_loc\t{\t}\n";

static void test_clang_style_loads(void) {
    lg_ptx_module *module = load_or_print(clang_style);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    const lg_ptx_function *sum = &module->functions[0];
    CU_ASSERT_EQUAL(sum->param_bytes, 12);
    // %p1 of the block is another register than %p1 of the kernel.
    int n_p1 = 0;
    for (int i = 0; i < sum->n_regs; i++) {
        n_p1 += strcmp(sum->regs[i].name, "%p1") == 0;
    }
    CU_ASSERT_EQUAL(n_p1, 2);
    CU_ASSERT_EQUAL(sum->insns[sum->n_insns - 1].op, LG_OP_RET);
    lg_ptx_free(module);
}

int main(void) {
    static const lg_test tests[] = {
        {"instructions", test_instructions},     {"layouts", test_layouts},
        {"initial values", test_initial_values}, {"functions", test_functions},
        {"clang style", test_clang_style_loads},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
