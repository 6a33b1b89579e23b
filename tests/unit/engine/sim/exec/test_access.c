// SPDX-License-Identifier: Apache-2.0
// Loads and stores that succeed: every width and extension, vectors, strides, generic addresses,
// local, constant and parameter memory, initialisers and relocations.
#include "unit/engine/sim/rig.h"

static int64_t as_u8(const uint8_t *at) {
    return *at;
}
static int64_t as_s8(const uint8_t *at) {
    return (int8_t)*at;
}
#define DEFINE(name, type)                                                                         \
    static int64_t as_##name(const uint8_t *at) {                                                  \
        type value;                                                                                \
        memcpy(&value, at, sizeof value);                                                          \
        return (int64_t)value;                                                                     \
    }
DEFINE(u16, uint16_t)
DEFINE(s16, int16_t)
DEFINE(u32, uint32_t)
DEFINE(s32, int32_t)
DEFINE(u64, uint64_t)

// Thread t loads from in + 1024 + t * stride and stores 8 bytes to out + 8 * t.
static const struct {
    const char *name;
    const char *load; // into %rd9 from [%rd3]
    int stride;
    int64_t (*expected)(const uint8_t *at);
} rows[] = {
    {"u8 to 16 bits", "ld.global.u8 %h1, [%rd3];\n cvt.u64.u16 %rd9, %h1;", 1, as_u8},
    {"s8 to 16 bits", "ld.global.s8 %h1, [%rd3];\n cvt.s64.s16 %rd9, %h1;", 3, as_s8},
    {"u8 to 32 bits", "ld.global.u8 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 2, as_u8},
    {"s8 to 32 bits", "ld.global.s8 %r9, [%rd3];\n cvt.s64.s32 %rd9, %r9;", 1, as_s8},
    {"s8 to 64 bits", "ld.global.s8 %rd9, [%rd3];", 5, as_s8},
    {"u16", "ld.global.u16 %h1, [%rd3];\n cvt.u64.u16 %rd9, %h1;", 2, as_u16},
    {"s16 to 32 bits", "ld.global.s16 %r9, [%rd3];\n cvt.s64.s32 %rd9, %r9;", 4, as_s16},
    {"s16 to 64 bits", "ld.global.s16 %rd9, [%rd3];", 6, as_s16},
    {"u32", "ld.global.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 4, as_u32},
    {"u32 by stride", "ld.global.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 12, as_u32},
    {"u32 from one place", "ld.global.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 0, as_u32},
    {"s32 to 64 bits", "ld.global.s32 %rd9, [%rd3];", 4, as_s32},
    {"u64", "ld.global.u64 %rd9, [%rd3];", 8, as_u64},
    {"u64 by stride", "ld.global.u64 %rd9, [%rd3];", 24, as_u64},
    {"u64 from one place", "ld.global.u64 %rd9, [%rd3];", 0, as_u64},
    {"backwards", "ld.global.u32 %r9, [%rd3+512];\n cvt.u64.u32 %rd9, %r9;", -4, as_u32},
    {"volatile", "ld.volatile.global.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 4, as_u32},
    {"read-only cache", "ld.global.nc.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 4, as_u32},
    {"ldu", "ldu.global.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 0, as_u32},
    {"generic", "ld.u32 %r9, [%rd3];\n cvt.u64.u32 %rd9, %r9;", 4, as_u32},
    {"second of a pair", "ld.global.v2.u32 {%r8, %r9}, [%rd3+-8];\n cvt.u64.u32 %rd9, %r9;", 8,
     NULL},
};

static void test_loads(void) {
    uint8_t in[4096];
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)(i * 151 + 17);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_str body = {0};
        lg_str_printf(
            &body,
            "ld.param.u64 %%rd1, [p];\n ld.param.u64 %%rd2, [q];\n mov.u32 %%r1, %%tid.x;\n"
            "mad.wide.s32 %%rd3, %%r1, %d, %%rd1;\n mad.wide.u32 %%rd4, %%r1, 8, %%rd2;\n"
            "%s\n st.global.u64 [%%rd4], %%rd9;\n ret;",
            rows[i].stride, rows[i].load);
        rig r = rig_kernel("", ".param .u64 p, .param .u64 q", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t base = rig_buffer(&r, in, sizeof in);
        uint64_t params[2] = {base + 1024, rig_buffer(&r, NULL, 50 * 8)};
        int64_t got[50];
        for (uint32_t threads = 50; threads >= 16; threads -= 18) { // whole and partial warps
            lg_sim_launch launch = rig_launch(1, threads, params, sizeof params);
            rig_ok(&r, &launch);
            rig_read(&r, params[1], got, sizeof got);
            for (int t = 0; t < (int)threads; t++) {
                const uint8_t *at = in + 1024 + t * rows[i].stride;
                at += strstr(rows[i].load, "+512") ? 512 : 0;
                int64_t want = rows[i].expected ? rows[i].expected(at) : as_u32(at - 4);
                LG_CHECK_ROW(rows[i].name, got[t] == want);
            }
        }
        rig_close(&r);
    }
}

static const struct {
    const char *name;
    const char *store; // of %rd9 to [%rd4]
    int bytes;
    int stride;
} store_rows[] = {
    {"u8 from 16 bits", "cvt.u16.u64 %h1, %rd9;\n st.global.u8 [%rd4], %h1;", 1, 1},
    {"u8 from 32 bits", "cvt.u32.u64 %r9, %rd9;\n st.global.u8 [%rd4], %r9;", 1, 3},
    {"u8 from 64 bits", "st.global.u8 [%rd4], %rd9;", 1, 1},
    {"u16", "cvt.u16.u64 %h1, %rd9;\n st.global.u16 [%rd4], %h1;", 2, 2},
    {"u16 from 32 bits", "cvt.u32.u64 %r9, %rd9;\n st.global.u16 [%rd4], %r9;", 2, 4},
    {"u32", "cvt.u32.u64 %r9, %rd9;\n st.global.u32 [%rd4], %r9;", 4, 4},
    {"u32 by stride", "cvt.u32.u64 %r9, %rd9;\n st.global.u32 [%rd4], %r9;", 4, 20},
    {"u64", "st.global.u64 [%rd4], %rd9;", 8, 8},
    {"u64 by stride", "st.global.u64 [%rd4], %rd9;", 8, 16},
    {"generic", "st.u64 [%rd4], %rd9;", 8, 8},
    {"volatile", "st.volatile.global.u64 [%rd4], %rd9;", 8, 8},
};

static void test_stores(void) {
    for (size_t i = 0; i < sizeof store_rows / sizeof *store_rows; i++) {
        lg_str body = {0};
        lg_str_printf(&body,
                      "ld.param.u64 %%rd1, [p];\n mov.u32 %%r1, %%tid.x;\n"
                      "mad.wide.u32 %%rd4, %%r1, %d, %%rd1;\n cvt.u64.u32 %%rd8, %%r1;\n"
                      "mul.lo.u64 %%rd9, %%rd8, 0x0123456789abcdef;\n%s\n ret;",
                      store_rows[i].stride, store_rows[i].store);
        rig r = rig_kernel("", ".param .u64 p", lg_str_text(&body));
        lg_str_free(&body);
        uint8_t got[50 * 20], want[sizeof got] = {0};
        uint64_t address = rig_buffer(&r, want, sizeof want);
        lg_sim_launch launch = rig_launch(1, 50, &address, 8);
        rig_ok(&r, &launch);
        for (uint64_t t = 0; t < 50; t++) {
            uint64_t value = t * UINT64_C(0x0123456789abcdef);
            memcpy(want + t * (uint64_t)store_rows[i].stride, &value, (size_t)store_rows[i].bytes);
        }
        rig_read(&r, address, got, sizeof got);
        LG_CHECK_ROW(store_rows[i].name, memcmp(got, want, sizeof got) == 0);
        rig_close(&r);
    }
}

// Copies 32 elements of 16 bytes through registers in each vector form and space.
static void test_vectors(void) {
    static const struct {
        const char *name, *body;
    } vectors[] = {
        {"v4.u32", "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n"
                   "st.global.v4.u32 [%rd4], {%r2,%r3,%r4,%r5};"},
        {"v4.f32", "ld.global.nc.v4.f32 {%f2,%f3,%f4,%f5}, [%rd3];\n"
                   "st.global.v4.f32 [%rd4], {%f2,%f3,%f4,%f5};"},
        {"v2.u64", "ld.global.v2.u64 {%rd5,%rd6}, [%rd3];\n st.global.v2.u64 [%rd4], {%rd5,%rd6};"},
        {"v2.f64", "ld.global.v2.f64 {%fd5,%fd6}, [%rd3];\n st.global.v2.f64 [%rd4], {%fd5,%fd6};"},
        {"v4.u16", "ld.global.v4.u16 {%h2,%h3,%h4,%h5}, [%rd3];\n"
                   "st.global.v4.u16 [%rd4], {%h2,%h3,%h4,%h5};\n"
                   "ld.global.v2.u32 {%r2,%r3}, [%rd3+8];\n st.global.v2.u32 [%rd4+8], {%r2,%r3};"},
        {"v4.u8", "ld.global.v4.u8 {%h2,%h3,%h4,%h5}, [%rd3];\n"
                  "st.global.v4.u8 [%rd4], {%h2,%h3,%h4,%h5};\n"
                  "ld.global.v2.u8 {%h2,%h3}, [%rd3+4];\n st.global.v2.u8 [%rd4+4], {%h2,%h3};\n"
                  "ld.global.u16 %h2, [%rd3+6];\n st.global.u16 [%rd4+6], %h2;\n"
                  "ld.global.u64 %rd5, [%rd3+8];\n st.global.u64 [%rd4+8], %rd5;"},
        {"through shared",
         "mov.u32 %r6, s;\n mad.lo.u32 %r6, %r1, 16, %r6;\n"
         "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n st.shared.v4.u32 [%r6], "
         "{%r2,%r3,%r4,%r5};\n"
         "ld.shared.v2.f64 {%fd5,%fd6}, [%r6];\n st.global.v2.f64 [%rd4], {%fd5,%fd6};"},
        {"through local",
         "mov.u64 %rd7, l;\n ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n"
         "st.local.v4.u32 [%rd7+16], {%r2,%r3,%r4,%r5};\n ld.local.v2.u64 {%rd5,%rd6}, [%rd7+16];\n"
         "st.global.v2.u64 [%rd4], {%rd5,%rd6};"},
        {"through local, generic",
         "mov.u64 %rd7, l;\n cvta.local.u64 %rd8, %rd7;\n"
         "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n st.v4.u32 [%rd8], {%r2,%r3,%r4,%r5};\n"
         "ld.local.v2.u64 {%rd5,%rd6}, [%rd7];\n st.global.v2.u64 [%rd4], {%rd5,%rd6};"},
        {"through shared, generic",
         "mov.u64 %rd7, s;\n cvta.shared.u64 %rd8, %rd7;\n mad.wide.u32 %rd8, %r1, 16, %rd8;\n"
         "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n st.v4.u32 [%rd8], {%r2,%r3,%r4,%r5};\n"
         "cvta.to.shared.u64 %rd9, %rd8;\n ld.shared.v2.u64 {%rd5,%rd6}, [%rd9];\n"
         "st.global.v2.u64 [%rd4], {%rd5,%rd6};"},
        {"through local by halves and bytes",
         "mov.u64 %rd7, l;\n ld.global.v4.u32 {%r2,%r3,%r4,%r5}, [%rd3];\n"
         "st.local.v2.u32 [%rd7], {%r2,%r3};\n st.local.u32 [%rd7+8], %r4;\n"
         "cvt.u16.u32 %h2, %r5;\n st.local.u16 [%rd7+12], %h2;\n shr.u32 %r5, %r5, 16;\n"
         "st.local.u8 [%rd7+14], %r5;\n shr.u32 %r5, %r5, 8;\n st.local.u8 [%rd7+15], %r5;\n"
         "ld.local.u64 %rd5, [%rd7];\n ld.local.u64 %rd6, [%rd7+8];\n"
         "st.global.v2.u64 [%rd4], {%rd5,%rd6};"},
        {"local by another index a lane",
         "mov.u64 %rd7, l;\n and.b32 %r7, %r1, 3;\n mad.wide.u32 %rd7, %r7, 16, %rd7;\n"
         "ld.global.v2.u64 {%rd5,%rd6}, [%rd3];\n st.local.u64 [%rd7], %rd5;\n"
         "st.local.u64 [%rd7+8], %rd6;\n ld.local.v4.u32 {%r2,%r3,%r4,%r5}, [%rd7];\n"
         "st.global.v4.u32 [%rd4], {%r2,%r3,%r4,%r5};"},
    };
    uint8_t in[40 * 16], got[sizeof in];
    for (size_t i = 0; i < sizeof in; i++) {
        in[i] = (uint8_t)(i * 37 + 11);
    }
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        lg_str body = {0};
        lg_str_printf(
            &body,
            ".shared .align 16 .b8 s[1024];\n.local .align 16 .b8 l[64];\n"
            "ld.param.u64 %%rd1, [p];\n ld.param.u64 %%rd2, [q];\n mov.u32 %%r1, %%tid.x;\n"
            "mad.wide.u32 %%rd3, %%r1, 16, %%rd1;\n mad.wide.u32 %%rd4, %%r1, 16, %%rd2;\n"
            "%s\n ret;",
            vectors[i].body);
        rig r = rig_kernel("", ".param .u64 p, .param .u64 q", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t params[2] = {rig_buffer(&r, in, sizeof in), rig_buffer(&r, NULL, sizeof in)};
        lg_sim_launch launch = rig_launch(1, 40, params, sizeof params);
        for (int turn = 0; turn < 2; turn++) { // first looked up, then remembered
            rig_ok(&r, &launch);
            rig_read(&r, params[1], got, sizeof got);
            LG_CHECK_ROW(vectors[i].name, memcmp(in, got, sizeof in) == 0);
            uint8_t zero = 0;
            lg_sim_fill(r.sim, params[1], &zero, 1, sizeof in);
        }
        rig_close(&r);
    }
}

static void test_dynamic_shared_memory(void) {
    rig r = rig_kernel(".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 fixed[12];",
                       ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, dyn;\n"
                       "mad.lo.u32 %r3, %r1, 4, %r2;\n st.shared.u32 [fixed+8], 77;\n"
                       "st.shared.u32 [%r3], %r1;\n bar.sync 0;\n xor.b32 %r4, %r1, 63;\n"
                       "mad.lo.u32 %r5, %r4, 4, %r2;\n ld.shared.u32 %r6, [%r5];\n"
                       "ld.shared.u32 %r7, [fixed+8];\n add.u32 %r6, %r6, %r7;\n"
                       "mov.u32 %r8, %dynamic_smem_size;\n add.u32 %r6, %r6, %r8;\n"
                       "mad.wide.u32 %rd3, %r1, 4, %rd1;\n st.global.u32 [%rd3], %r6;\n ret;");
    uint32_t got[64];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(2, 64, &address, 8);
    launch.shared_bytes = 256;
    rig_ok(&r, &launch);
    rig_read(&r, address, got, sizeof got);
    for (uint32_t t = 0; t < 64; t++) {
        CU_ASSERT_EQUAL(got[t], (t ^ 63) + 77 + 256);
    }
    CU_ASSERT_EQUAL(lg_sim_static_shared(r.module, lg_ptx_find_function(r.ptx, "k")), 12);
    launch.shared_bytes = 252; // the last thread's element is gone
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(result.fault.thread[0], 63);
    CU_ASSERT_EQUAL(result.fault.distance, 1);
    lg_sim_result_free(&result);
    rig_close(&r);
}

// Only the shared variables an entry can reach count for it, through calls too.
static void test_shared_memory_of_an_entry(void) {
    rig r = rig_open(PTX_HEADER ".shared .align 4 .b8 a[1000];\n.shared .align 4 .b8 b[40000];\n"
                                ".shared .align 4 .b8 c[20000];\n"
                                ".func f() { .reg .b32 %r<2>; ld.shared.u32 %r1, [c]; ret; }\n"
                                ".entry none() { ret; }\n"
                                ".entry one() { .reg .b32 %r<2>; ld.shared.u32 %r1, [a]; ret; }\n"
                                ".entry big() { .reg .b32 %r<2>; ld.shared.u32 %r1, [b]; ret; }\n"
                                ".entry calls() { .shared .align 4 .b8 own[24]; .reg .b32 %r<2>;\n"
                                " st.shared.u32 [own], 1; call.uni f; ret; }\n");
    static const struct {
        const char *name;
        uint64_t bytes;
    } entries[] = {{"none", 0}, {"one", 1000}, {"big", 40000}, {"calls", 20024}};
    for (size_t i = 0; i < 4; i++) {
        uint64_t got = lg_sim_static_shared(r.module, lg_ptx_find_function(r.ptx, entries[i].name));
        // Between two pieces there may be alignment.
        LG_CHECK_ROW(entries[i].name, got >= entries[i].bytes && got < entries[i].bytes + 128);
        lg_sim_launch launch = rig_launch(1, 32, NULL, 0);
        lg_sim_result result = rig_run(&r, entries[i].name, &launch);
        LG_CHECK_ROW(entries[i].name, result.status == LG_SIM_OK);
        lg_sim_result_free(&result);
    }
    rig_close(&r);
}

static void test_constants_and_relocations(void) {
    rig r = rig_kernel(".const .align 4 .u32 c[4] = {5, 6, 7, 8};\n.global .u32 g = 9;\n"
                       ".global .align 8 .u64 pointers[2] = {generic(g), generic(c)+8};",
                       ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u64 %rd2, c;\n"
                       "mad.wide.u32 %rd3, %r1, 4, %rd2;\n ld.const.u32 %r2, [%rd3];\n"
                       "ld.global.u64 %rd4, [pointers];\n ld.u32 %r3, [%rd4];\n"
                       "ld.global.u64 %rd4, [pointers+8];\n ld.u32 %r4, [%rd4];\n"
                       "ld.const.u32 %r5, [c+4];\n"
                       "mad.lo.u32 %r2, %r3, 100, %r2;\n mad.lo.u32 %r2, %r4, 10000, %r2;\n"
                       "mad.lo.u32 %r2, %r5, 1000000, %r2;\n"
                       "mad.wide.u32 %rd3, %r1, 4, %rd1;\n st.global.u32 [%rd3], %r2;\n ret;");
    uint32_t got[4], six = 16;
    uint64_t out = rig_buffer(&r, NULL, sizeof got), address, bytes;
    lg_sim_launch launch = rig_launch(1, 4, &out, 8);
    rig_ok(&r, &launch);
    rig_read(&r, out, got, sizeof got);
    for (uint32_t t = 0; t < 4; t++) {
        CU_ASSERT_EQUAL(got[t], 6070900 + 5 + t);
    }
    CU_ASSERT_TRUE(lg_sim_global(r.module, "c", &address, &bytes)); // cudaMemcpyToSymbol
    CU_ASSERT_EQUAL(bytes, 16);
    CU_ASSERT_TRUE(lg_sim_write(r.sim, address + 4, &six, 4));
    rig_ok(&r, &launch);
    rig_read(&r, out, got, sizeof got);
    CU_ASSERT_EQUAL(got[1], 16000000 + 70900 + 16);
    CU_ASSERT_FALSE(lg_sim_global(r.module, "k", &address, &bytes));
    rig_close(&r);
}

static void test_parameters_and_spaces(void) {
    rig r =
        rig_kernel("", ".param .u64 p, .param .align 4 .b8 s[16], .param .u8 byte",
                   ".shared .align 4 .b8 sh[4];\n.local .align 4 .b8 lo[4];\n"
                   "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n and.b32 %r2, %r1, 3;\n"
                   "mov.b64 %rd2, s;\n mad.wide.u32 %rd3, %r2, 4, %rd2;\n"
                   "ld.param.u32 %r3, [%rd3];\n ld.param.u8 %r4, [byte];\n"
                   "add.u32 %r3, %r3, %r4;\n ld.param.u32 %r5, [s+4];\n add.u32 %r3, %r3, %r5;\n"
                   "mov.u64 %rd4, sh;\n cvta.shared.u64 %rd4, %rd4;\n"
                   "isspacep.shared %p1, %rd4;\n isspacep.global %p2, %rd4;\n"
                   "isspacep.global %p3, %rd1;\n mov.u64 %rd5, lo;\n"
                   "cvta.local.u64 %rd5, %rd5;\n isspacep.local %p4, %rd5;\n"
                   "selp.u32 %r6, 1, 0, %p1;\n selp.u32 %r7, 2, 0, %p2;\n"
                   "selp.u32 %r8, 4, 0, %p3;\n selp.u32 %r9, 8, 0, %p4;\n"
                   "add.u32 %r6, %r6, %r7;\n add.u32 %r6, %r6, %r8;\n add.u32 %r6, %r6, %r9;\n"
                   "mad.lo.u32 %r3, %r6, 1000, %r3;\n"
                   "mad.wide.u32 %rd3, %r1, 4, %rd1;\n st.global.u32 [%rd3], %r3;\n ret;");
    struct {
        uint64_t p;
        uint32_t s[4];
        uint8_t byte;
    } params = {0, {10, 20, 30, 40}, 200};
    uint32_t got[32];
    params.p = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = rig_launch(1, 32, &params, 25);
    rig_ok(&r, &launch);
    rig_read(&r, params.p, got, sizeof got);
    for (uint32_t t = 0; t < 32; t++) {
        CU_ASSERT_EQUAL(got[t], 13000 + 10 * (t % 4 + 1) + 200 + 20);
    }
    rig_close(&r);
}

static void test_special_registers(void) {
    rig r =
        rig_kernel("", ".param .u64 p",
                   "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n mov.u32 %r2, %tid.y;\n"
                   "mov.u32 %r3, %tid.z;\n mov.u32 %r4, %ntid.x;\n mov.u32 %r5, %ntid.y;\n"
                   "mov.u32 %r6, %ctaid.x;\n mov.u32 %r7, %ctaid.y;\n mov.u32 %r8, %ctaid.z;\n"
                   "mov.u32 %r9, %nctaid.x;\n mov.u32 %r10, %nctaid.y;\n mov.u32 %r16, %ntid.z;\n"
                   "mad.lo.u32 %r11, %r3, %r5, %r2;\n mad.lo.u32 %r11, %r11, %r4, %r1;\n"
                   "mad.lo.u32 %r12, %r8, %r10, %r7;\n mad.lo.u32 %r12, %r12, %r9, %r6;\n"
                   "mul.lo.u32 %r13, %r4, %r5;\n mul.lo.u32 %r13, %r13, %r16;\n"
                   "mad.lo.u32 %r14, %r12, %r13, %r11;\n"
                   "mov.u32 %r15, %laneid;\n mov.u32 %r16, %lanemask_lt;\n"
                   "popc.b32 %r17, %r16;\n mov.u32 %r18, %warpid;\n"
                   "mad.lo.u32 %r19, %r18, 32, %r17;\n mad.lo.u32 %r19, %r14, 1000, %r19;\n"
                   "sub.u32 %r20, %r15, %r17;\n add.u32 %r19, %r19, %r20;\n"
                   "mad.wide.u32 %rd3, %r14, 4, %rd1;\n st.global.u32 [%rd3], %r19;\n ret;");
    enum { THREADS = 5 * 4 * 3, BLOCKS = 2 * 3 * 2 };
    uint32_t got[THREADS * BLOCKS];
    uint64_t address = rig_buffer(&r, NULL, sizeof got);
    lg_sim_launch launch = {
        .grid = {2, 3, 2}, .block = {5, 4, 3}, .params = &address, .param_bytes = 8};
    for (uint64_t schedule = 0; schedule < 3; schedule++) {
        launch.schedule = schedule;
        rig_ok(&r, &launch);
        rig_read(&r, address, got, sizeof got);
        for (uint32_t i = 0; i < THREADS * BLOCKS; i++) {
            CU_ASSERT_EQUAL(got[i], i * 1000 + i % THREADS);
        }
    }
    rig_close(&r);
}

int main(void) {
    static const lg_test tests[] = {
        {"loads", test_loads},
        {"stores", test_stores},
        {"vectors", test_vectors},
        {"dynamic shared memory", test_dynamic_shared_memory},
        {"shared memory of an entry", test_shared_memory_of_an_entry},
        {"constants and relocations", test_constants_and_relocations},
        {"parameters and spaces", test_parameters_and_spaces},
        {"special registers", test_special_registers},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
