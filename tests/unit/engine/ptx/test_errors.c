// SPDX-License-Identifier: Apache-2.0
// Broken texts and exactly what is said about them: all problems of a file, from top to bottom.
#include "unit/engine/ptx/ptx_text.h"
#include "unit/testing.h"

#include <stdlib.h>

typedef struct error_row {
    const char *text;
    const char *said; // "line:column message\n" each
} error_row;

// Statements of a kernel with the registers of PTX_KERNEL; they stand on line 8.
static const error_row statements[] = {
    // Mnemonics.
    {"ad.s32 %r1, %r2, 5;", "8:1 unknown instruction 'ad'; did you mean 'add'?\n"},
    {"frobnicate.s32 %r1;", "8:1 unknown instruction 'frobnicate'\n"},
    {"setp.le.s33 %p1, %r1, 0;", "8:1 unknown modifier '.s33' of 'setp'; did you mean '.s32'?\n"},
    {"add.fzt.f32 %f1, %f2, %f3;", "8:1 unknown modifier '.fzt' of 'add'; did you mean '.ftz'?\n"},
    {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "8:1 '.e4m3x2' of 'cvt' is not supported\n"},
    {"cvt.rna.tf32.f32 %r1, %f1;", "8:1 '.tf32' of 'cvt' is not supported\n"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};",
     "8:1 instruction 'mma' is not supported\n"},
    {"cp.async.ca.shared.global [%r1], [%rd1], 16;", "8:1 instruction 'cp' is not supported\n"},
    {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f1, %f2}];",
     "8:1 instruction 'tex' is not supported\n"},
    {"mul.s32 %r1, %r2, %r3;", "8:1 'mul.s32': missing one of .lo|hi\n"},
    {"cvt.f32.s32 %f1, %r1;", "8:1 'cvt.f32.s32': missing one of .rn|rz|rm|rp\n"},
    {"div.f32 %f1, %f2, %f3;", "8:1 'div.f32': missing one of .rn|rz|rm|rp|approx|full\n"},
    {"add.sat.u32 %r1, %r2, %r3;",
     "8:1 'add.sat.u32': '.sat' does not go with this form of 'add'\n"},
    {"ld.global.v3.f32 {%f1, %f2, %f3}, [%rd1];",
     "8:1 unknown modifier '.v3' of 'ld'; did you mean '.v2'?\n"},
    {"ld.global.v4.f64 {%fd1, %fd2, %fd3, %fd4}, [%rd1];",
     "8:1 'ld.global.v4.f64': a vector access is at most 16 bytes wide\n"},
    // Operands.
    {"add.s32 %r1, %r2;", "8:1 'add.s32' takes 3 operands, not 2\n"},
    {"add.s32 %r1, %r2, %r3, %r4;", "8:1 'add.s32' takes 3 operands, not 4\n"},
    {"bar.sync;", "8:1 'bar.sync' takes 1 to 2 operands, not 0\n"},
    {"add.s32 %f1, %h2, 0f3F800000;",
     "8:9 'add.s32': %f1, a .f32 register, cannot be operand 1, which is a .s32 destination\n"
     "8:14 'add.s32': %h2, a .b16 register, cannot be operand 2, which is a .s32 source\n"
     "8:19 'add.s32': an f32 literal cannot be operand 3, which is a .s32 source\n"},
    {"add.f32 %f1, %f2, 1;",
     "8:19 'add.f32': an integer cannot be operand 3, which is a .f32 source\n"},
    {"add.f32 %s1, %f2, %f3;",
     "8:9 'add.f32': %s1, a .s32 register, cannot be operand 1, which is a .f32 destination\n"},
    {"add.s32 5, %r1, %r2;",
     "8:9 'add.s32': an integer cannot be operand 1, which is a .s32 destination\n"},
    {"add.s32 _, %r1, %r2;",
     "8:9 'add.s32': '_' cannot be operand 1, which is a .s32 destination\n"},
    {"add.s32 %r1, -%r2, 1;",
     "8:14 'add.s32': !%r2, a .b32 register, cannot be operand 2, which is a .s32 source\n"},
    {"add.s64 %rd1, g, 4;",
     "8:15 'add.s64': the address of a variable cannot be operand 2, which is a .s64 source\n"},
    {"add.u32 %r1, %tid.x, 1;",
     "8:14 'add.u32': special register %tid.x cannot be operand 2, which is a .u32 source\n"},
    {"shl.b64 %rd1, %rd2, %rd3;",
     "8:21 'shl.b64': %rd3, a .b64 register, cannot be operand 3, which is a .u32 source\n"},
    {"mul.wide.s32 %r1, %r2, %r3;", "8:14 'mul.wide.s32': %r1, a .b32 register, cannot be operand "
                                    "1, which is a .s64 destination\n"},
    {"lop3.b32 %r1, %r2, %r3, %r4, %r1;",
     "8:30 'lop3.b32': %r1, a .b32 register, cannot be operand 5, which is a literal\n"},
    {"selp.s32 %r1, 1, 0, %r2;",
     "8:21 'selp.s32': %r2, a .b32 register, cannot be operand 4, which is a predicate\n"},
    {"ld.global.v2.f32 %f1, [%rd1];",
     "8:18 'ld.global.v2.f32': %f1, a .f32 register, cannot be operand 1, which is a vector of 2 "
     "elements\n"},
    {"cvt.f32.f16 %f1, %f2;", // a float register is as wide as the type, others may be wider
     "8:18 'cvt.f32.f16': %f2, a .f32 register, cannot be operand 2, which is a .f16 source\n"},
    {"ld.global.f32 %fd1, [%rd1];",
     "8:15 'ld.global.f32': %fd1, a .f64 register, cannot be operand 1, which is a .f32 "
     "destination\n"},
    {"ld.global.f32 %h1, [%rd1];",
     "8:15 'ld.global.f32': %h1, a .b16 register, cannot be operand 1, which is a .f32 "
     "destination\n"},
    {"ld.global.u32 %r1, %rd1;",
     "8:20 'ld.global.u32': %rd1, a .b64 register, cannot be operand 2, which is an address in [ "
     "]\n"},
    {"ld.global.u32 %r1, [%r2];",
     "8:20 'ld.global.u32': a global address needs a 64-bit register\n"},
    {"ld.global.u32 %r1, [%f2];",
     "8:20 'ld.global.u32': %f2, a .f32 register, cannot hold an address\n"},
    {"ld.global.u32 %r1, [sh];",
     "8:20 'ld.global.u32': 'sh' is in .shared, not in .global memory\n"},
    {"cvta.global.u64 %rd1, sh;",
     "8:23 'cvta.global.u64': 'sh' is in .shared, not in .global memory\n"},
    {"mov.u32 %r1, g;", "8:14 'mov.u32' cannot take the address of a variable as this operand\n"},
    {"mov.f32 %f1, 0;", "8:14 'mov.f32': an integer cannot be operand 2, which is a .f32 source\n"},
    {"mov.u32 {%h1, %h2}, %r1;", "8:9 'mov.u32': packing needs a type of bits (.b32, .b64)\n"},
    {"mov.b32 %r1, {%h1, %h2, %h3};", "8:14 'mov.b32': 3 elements do not pack into 32 bits\n"},
    {"mov.b64 %rd1, {%r1, %h2};",
     "8:15 'mov.b64' cannot take %h2, a .b16 register, as this operand\n"},
    {"mov.u32 %r1;", "8:1 'mov.u32' takes 2 operands, not 1\n"},
    {"mov.u32 %r1, %envreg3;", "8:14 special register '%envreg3' is not supported\n"},
    {"mov.u32 %r1, %tid;", "8:14 special register '%tid' is not supported\n"},
    {"mov.u32 %r1, %clusterid.x;", "8:14 special register '%clusterid.x' is not supported\n"},
    {"mov.u32 %r1, %clock64;",
     "8:14 'mov.u32': special register %clock64 cannot be operand 2, which is a .u32 source\n"},
    {"mov.u64 %rd1, %laneid;",
     "8:15 'mov.u64': special register %laneid cannot be operand 2, which is a .u64 source\n"},
    // Names and labels.
    {"add.s32 %r1, %r5, %q;", "8:14 unknown name '%r5'\n"},
    {"@%r1 bra L; L:", "8:2 '%r1' is not a predicate register\n"},
    {"@%p9 bra L; L:", "8:2 unknown predicate register '%p9'\n"},
    {"bra nowhere;", "8:5 label 'nowhere' is not in this function\n"},
    {"bra %r1;", "8:5 label '%r1' is not in this function\n"},
    {"{ L: } bra L;", "8:12 label 'L' is not in this function\n"},
    {"L: L: bra L;", "8:4 'L' is already declared on line 8\n"},
    {"mov.u64 %rd1, L; L:", "8:15 unknown name 'L'\n"},
    {"brx.idx %r1, t;", "8:14 label 't' is not in this function\n"},
    {"t: .branchtargets A; brx.idx %r1, t;", "8:19 label 'A' is not in this function\n"},
    {".reg .b32 %r<3>;", "8:11 the registers '%r<…>' are already declared in this scope\n"},
    {".reg .b32 %r3;", "8:11 '%r3' is already a register of a range of this scope\n"},
    {".reg .b32 %big<1000000000>;", "8:16 more than 1048576 registers in one declaration\n"},
    {".reg .b128 %q;", "8:1 128-bit registers are not supported\n"},
    {".reg .f31 %q;", "8:6 type '.f31' is not supported here\n"},
    // Calls.
    {"call f, (%r1, %rd1);", "8:6 'call': 1 return value is wanted, not 0\n"},
    {"call (%r1), f, (%r1);", "8:16 'call': 2 arguments are wanted, not 1\n"},
    {"call (%r1), f, (%r1, %r2);", "8:16 'call': argument 2 does not have 8 bytes\n"},
    {"call (%r1), k, (%r1);", "8:13 'k' is a kernel and cannot be called\n"},
    {"call (%r1), nothing, (%r1);", "8:13 unknown name 'nothing'\n"},
    {"call %rd1;", "8:1 'call': an indirect call needs a .callprototype\n"},
    {"call %r1;", "8:1 'call' wants [(returns),] function or 64-bit register [, (arguments)]\n"},
    // Shape of a statement.
    {"add.s32 %r1, %r2, 5", "9:1 expected ';' before '}'\n"},
    {"add.s32 %r1, %r2, 5\nadd.s32 %r1, %r2, %f1;",
     "9:1 expected ';' before 'add'\n"
     "9:19 'add.s32': %f1, a .f32 register, cannot be operand 3, which is a .s32 source\n"},
    {"add.s32 %r1, , 5;", "8:14 expected an operand before ','\n"},
    {"ld.global.u32 %r1, [%rd1;", "8:25 expected ']' before ';'\n"},
    {"mov.b32 %r1, {%h1, {%h2}};", "8:20 expected a register or a number before '{'\n"},
    {"mov.u32 %r1, 0f12;", "8:14 0f must be followed by 8 hexadecimal digits\n"
                           "8:18 expected an operand before ';'\n"},
    {"mov.u64 %rd1, 18446744073709551616;",
     "8:15 the number does not fit 64 bits\n8:35 expected an operand before ';'\n"},
    {"mov.u32 %r1, 12ab;", "8:14 bad number\n8:18 expected an operand before ';'\n"},
    {"mov.u32 %r1, 1 / 0;", "8:16 division by zero\n"},
    {".frame 3;", "8:1 unknown directive '.frame' in a function\n"},
    {".loc 1 x;", "8:8 expected file, line and column of .loc before 'x'\n"},
    {"`", "8:1 a character that PTX does not use\n"},
    // Two in one body, in order, though the label is only known missing at the end.
    {"bra nowhere;\nfoo;", "8:5 label 'nowhere' is not in this function\n"
                           "9:1 unknown instruction 'foo'; did you mean 'fma'?\n"},
};

// Whole modules.
static const error_row modules[] = {
    {"", "0:0 the module has no .version\n0:0 the module has no .target\n"},
    {".version 9.0\n", "0:0 the module has no .target\n"},
    {".version 10.0\n.target sm_75\n", "1:10 PTX version 10.0 is newer than 9\n"},
    {".version x\n.target y\n",
     "1:10 expected a version such as 9.0 before 'x'\n2:9 expected a target such as sm_75\n"},
    {PTX_HEADER ".address_size 32\n", "4:15 only .address_size 64 is supported\n"},
    {PTX_HEADER "hello\n.global .u32 x\n.global .f31 y;\n",
     "4:1 expected a directive before 'hello'\n"},
    {PTX_HEADER ".global .u32 x\n.global .f31 y;\n.sampler z;",
     "5:1 expected ';' before '.global'\n5:9 type '.f31' is not supported here\n6:1 unknown "
     "directive '.sampler'\n"},
    {PTX_HEADER ".global .texref t;\n.local .u32 l;\n.reg .u32 r;",
     "4:9 type '.texref' is not supported here\n5:1 .local variables belong into a function\n"
     "6:1 registers belong into a function\n"},
    {PTX_HEADER
     ".global .pred p;\n.global .align 3 .u32 a;\n.global .u32 b[];\n.global .u32 c[0];\n"
     ".global .u32 d[4][];",
     "4:15 a variable cannot have the type .pred\n"
     "5:16 an alignment is a power of two from 1 to 4096\n"
     "6:14 'b' needs a size, an initial value or .extern\n"
     "7:16 an array needs at least one element\n"
     "8:19 only the first dimension may be left open\n"},
    {PTX_HEADER ".global .u32 x[2] = {1, 2, 3};\n.shared .u32 y = 1;\n.global .u32 z = 1.5;\n"
                ".global .u32 w = x;\n.global .u64 v = nothing;\n.global .u32 u[2] = {{1}};\n",
     "4:29 more initial values than 'x' has room for\n"
     "5:16 only .global and .const variables take initial values\n"
     "6:18 a floating-point value does not fit an element of type .u32\n"
     "7:18 an address does not fit an element of type .u32\n"
     "8:18 unknown name 'nothing'\n"
     "9:22 more braces than 'u' has dimensions\n"},
    {PTX_HEADER ".global .u8 q[2] = {0xFF00(x), 1};\n.global .u8 s[2] = {0xFF(s), 1};\n",
     "4:21 only whole addresses, byte by byte from the lowest, are supported\n"
     "5:30 an address byte by byte ends after 1 of 8 bytes\n"},
    {PTX_HEADER ".global .b8 huge[1099511627777];\n"
                ".global .b8 long[9223372036854775807][9223372036854775807];\n"
                ".global .b8 filled[1000000000] = {1};",
     "4:13 'huge' is too large\n5:13 'long' is too large\n"
     "6:37 the module has more than 268435456 bytes of initial values\n"},
    {PTX_HEADER ".entry k() { .local .b8 a[600000]; .shared .b8 b[300000]; }\n"
                ".entry l(.param .b8 p[40000]) {}\n",
     "4:25 'a' takes the function's local memory over 524288 bytes\n"
     "4:48 'b' takes the function's shared memory over 233472 bytes\n"
     "5:21 more than 32764 bytes of parameters\n"},
    {PTX_HEADER ".func f(.reg .b32 a) { ret; }\n.entry k(.param .u32) {}\n"
                ".entry (.param .u32 r) l() {}\n.func f(.param .b32 p[]) {}\n",
     "4:9 parameters in registers are not supported; use .param\n"
     "5:21 expected a name before ')'\n6:8 a kernel returns nothing\n"
     "7:21 a parameter of open size is not supported\n"},
    {PTX_HEADER ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }\n.func g() { ret; }\n"
                ".func g() { ret; }\n.global .u32 g;\n.global .u32 h;\n.func h();\n",
     "5:7 'f' is declared with other parameters on line 4\n"
     "7:7 'g' is already defined on line 6\n8:14 'g' is already declared on line 6\n"
     "10:7 'h' is already declared on line 9\n"},
    {PTX_HEADER ".entry k() .maxntid 0 { }\n.entry l() .wild 3 { }\n.extern .func m() { ret; }\n",
     "4:21 a block size is from 1 to 65535\n5:12 unknown directive '.wild'\n"
     "6:19 an .extern function has no body\n"},
    {PTX_HEADER ".entry k(.param .u64 p) { .reg .pred p; ret; }\n",
     "4:38 'p' is already declared on line 4\n"},
    {PTX_HEADER ".entry k() { ret;", "4:18 expected '}', but the file ends\n"},
    {PTX_HEADER "/* open\n", "4:1 the comment is not closed\n"},
    {PTX_HEADER ".file 1 \"open\n", "4:9 the string is not closed on its line\n"
                                    "5:1 expected the name of the file, but the file ends\n"},
    {PTX_HEADER ".file 70000 \"x\"\n", "4:7 file numbers go up to 65535\n"},
    {PTX_HEADER ".func g() { ret; }\n.alias a, g;\n.func b();\n.alias b, c;\n.alias g, g;\n",
     "5:8 'a' must be declared as a function before its .alias\n7:11 'c' is not a function\n"
     "8:8 'g' is already defined\n"},
};

static void check(const char *row, const char *text, const char *said) {
    lg_diags diags = {0};
    lg_str got = {0};
    lg_ptx_module *module = load_text(text, &diags);
    LG_CHECK_ROW(row, (module != NULL) == (said == NULL));
    for (size_t i = 0; i < diags.n; i++) {
        lg_str_printf(&got, "%d:%d %s\n", diags.items[i].line, diags.items[i].column,
                      diags.items[i].message);
        LG_CHECK_ROW(row, strcmp(diags.items[i].file, "t.ptx") == 0);
    }
    bool same = strcmp(lg_str_text(&got), said ? said : "") == 0;
    LG_CHECK_ROW(row, same);
    if (!same) {
        fprintf(stderr, "    got:\n%s", lg_str_text(&got));
    }
    lg_ptx_free(module);
    lg_diags_free(&diags);
    lg_str_free(&got);
}

static void test_statements(void) {
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        lg_str text = {0};
        lg_str_printf(&text, "%s%s\n}\n", PTX_KERNEL, statements[i].text);
        check(statements[i].text, lg_str_text(&text), statements[i].said);
        lg_str_free(&text);
    }
}

static void test_modules(void) {
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        check(modules[i].text, modules[i].text, modules[i].said);
    }
}

static void test_the_line_is_shown(void) {
    lg_diags diags = {0};
    CU_ASSERT_PTR_NULL(load_text(PTX_HEADER "\tbad line\r\n", &diags));
    CU_ASSERT_EQUAL(diags.n, 1);
    CU_ASSERT_STRING_EQUAL(diags.items[0].source_line, "\tbad line");
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {
        {"statements", test_statements},
        {"modules", test_modules},
        {"the line is shown", test_the_line_is_shown},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
