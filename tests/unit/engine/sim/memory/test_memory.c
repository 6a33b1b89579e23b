// SPDX-License-Identifier: Apache-2.0
// Device memory seen from the host, and what each kind of bad access of a kernel is reported as.
#include "unit/engine/sim/rig.h"

static void test_allocations_sit_apart(void) {
    static const size_t sizes[] = {1, 400, 4096, 100000, 3 << 20, 8};
    enum { N = sizeof sizes / sizeof *sizes };
    lg_sim *sim = lg_sim_create();
    uint64_t at[N];
    for (int i = 0; i < N; i++) {
        at[i] = lg_sim_alloc(sim, sizes[i]);
        CU_ASSERT_NOT_EQUAL(at[i], 0);
        CU_ASSERT_EQUAL(at[i] % 256, 0);
    }
    for (int i = 1; i < N; i++) {
        uint64_t gap = at[i] - (at[i - 1] + sizes[i - 1]);
        size_t larger = sizes[i] > sizes[i - 1] ? sizes[i] : sizes[i - 1];
        CU_ASSERT_TRUE(gap >= 4096);
        CU_ASSERT_TRUE(gap >= (larger < 1 << 20 ? larger : 1 << 20));
    }
    CU_ASSERT_EQUAL(lg_sim_bytes_in_use(sim), 1 + 400 + 4096 + 100000 + (3 << 20) + 8);
    CU_ASSERT_EQUAL(lg_sim_alloc(sim, 0), 0);
    CU_ASSERT_EQUAL(lg_sim_alloc(sim, SIZE_MAX / 2), 0);
    CU_ASSERT_EQUAL(lg_sim_map(sim, NULL, 8), 0);
    lg_sim_destroy(sim);
}

static void test_host_access_is_checked(void) {
    lg_sim *sim = lg_sim_create();
    uint64_t a = lg_sim_alloc(sim, 16);
    uint32_t values[4] = {1, 2, 3, 4}, got[4] = {0}, pattern = 0xabcd;
    CU_ASSERT_TRUE(lg_sim_write(sim, a, values, 16));
    CU_ASSERT_TRUE(lg_sim_read(sim, a, got, 16));
    CU_ASSERT_EQUAL(memcmp(values, got, 16), 0);
    CU_ASSERT_TRUE(lg_sim_fill(sim, a + 4, &pattern, 4, 2));
    CU_ASSERT_TRUE(lg_sim_read(sim, a, got, 16));
    CU_ASSERT_TRUE(got[0] == 1 && got[1] == 0xabcd && got[2] == 0xabcd && got[3] == 4);
    CU_ASSERT_FALSE(lg_sim_write(sim, a, values, 17));
    CU_ASSERT_FALSE(lg_sim_read(sim, a + 1, got, 16));
    CU_ASSERT_FALSE(lg_sim_read(sim, a - 1, got, 1));
    CU_ASSERT_FALSE(lg_sim_fill(sim, a, &pattern, 4, SIZE_MAX / 2));
    CU_ASSERT_FALSE(lg_sim_read(sim, 0, got, 1));
    CU_ASSERT_FALSE(lg_sim_free(sim, a + 4));
    CU_ASSERT_TRUE(lg_sim_free(sim, a));
    CU_ASSERT_FALSE(lg_sim_free(sim, a));
    CU_ASSERT_FALSE(lg_sim_read(sim, a, got, 1));
    CU_ASSERT_EQUAL(lg_sim_bytes_in_use(sim), 0);
    CU_ASSERT_NOT_EQUAL(lg_sim_alloc(sim, 16), a); // freed addresses are not used again
    lg_sim_destroy(sim);
}

static void test_mapped_memory_is_shared_with_the_host(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n"
                       "mul.wide.u32 %rd2, %r1, 4;\n add.s64 %rd3, %rd1, %rd2;\n"
                       "st.global.u32 [%rd3], %r1;\n ret;");
    uint32_t host[32];
    memset(host, 0xff, sizeof host);
    uint64_t address = lg_sim_map(r.sim, host, sizeof host);
    lg_sim_launch launch = rig_launch(1, 32, &address, sizeof address);
    rig_ok(&r, &launch);
    for (uint32_t i = 0; i < 32; i++) {
        CU_ASSERT_EQUAL(host[i], i);
    }
    CU_ASSERT_TRUE(lg_sim_free(r.sim, address));
    rig_close(&r);
}

// Buffer of 400 bytes; thread t accesses base + offset + t * 4 with a 4-byte load or store, or as
// `body` says.
typedef struct access_row {
    const char *name;
    const char *body;
    int64_t offset;
    bool freed, read_only;
    lg_sim_status status;
    const char *kind;
    uint32_t bytes;
    int64_t distance;
    uint32_t thread;
} access_row;

#define LOAD "ld.global.u32 %r2, [%rd3];"
#define STORE "st.global.u32 [%rd3], %r1;"

static const access_row access_rows[] = {
    {"inside", LOAD, 0, 0, 0, LG_SIM_OK, NULL, 0, 0, 0},
    {"last element", LOAD, 272, 0, 0, LG_SIM_OK, NULL, 0, 0, 0},
    {"one past the end", LOAD, 276, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 4, 1, 31},
    {"whole warp past the end", LOAD, 400, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 4, 1,
     0},
    {"five elements on", LOAD, 416, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 4, 17, 0},
    {"before the start", LOAD, -8, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 4, -8, 0},
    {"write past the end", STORE, 276, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "write out of bounds", 4, 1,
     31},
    {"write before the start", STORE, -4, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "write out of bounds", 4,
     -4, 0},
    {"freed", LOAD, 0, 1, 0, LG_SIM_ILLEGAL_ADDRESS, "read of freed memory", 4, 0, 0},
    {"write to freed", STORE, 16, 1, 0, LG_SIM_ILLEGAL_ADDRESS, "write to freed memory", 4, 0, 0},
    {"write to read-only", STORE, 0, 0, 1, LG_SIM_ILLEGAL_ADDRESS, "write to read-only memory", 4,
     0, 0},
    {"read of read-only", LOAD, 0, 0, 1, LG_SIM_OK, NULL, 0, 0, 0},
    {"misaligned read", LOAD, 2, 0, 0, LG_SIM_MISALIGNED, "misaligned read", 4, 0, 0},
    {"misaligned write", STORE, 1, 0, 0, LG_SIM_MISALIGNED, "misaligned write", 4, 0, 0},
    {"wide load over the end", "ld.global.u64 %rd4, [%rd1+396];", 0, 0, 0, LG_SIM_MISALIGNED,
     "misaligned read", 8, 1, 0},
    {"vector over the end", "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+400];", 0, 0, 0,
     LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 16, 1, 0},
    {"half of a vector", "ld.global.v2.f32 {%f1, %f2}, [%rd1+4];", 0, 0, 0, LG_SIM_MISALIGNED,
     "misaligned read", 8, 0, 0},
    {"only the lanes that run count", "setp.lt.u32 %p1, %r1, 31;\n @%p1 ld.global.u32 %r2, [%rd3];",
     276, 0, 0, LG_SIM_OK, NULL, 0, 0, 0},
    {"one lane of many", "setp.eq.u32 %p1, %r1, 7;\n @%p1 ld.global.u32 %r2, [%rd3];", 4096, 0, 0,
     LG_SIM_ILLEGAL_ADDRESS, "read out of bounds", 4, 4096 + 28 - 400 + 1, 7},
    {"generic load", "ld.u32 %r2, [%rd3];", 276, 0, 0, LG_SIM_ILLEGAL_ADDRESS, "read out of bounds",
     4, 1, 31},
    {"atomic", "atom.global.add.u32 %r2, [%rd3], 1;", 400, 0, 0, LG_SIM_ILLEGAL_ADDRESS,
     "write out of bounds", 4, 1, 0},
    {"atomic on read-only", "red.global.add.u32 [%rd3], 1;", 0, 0, 1, LG_SIM_ILLEGAL_ADDRESS,
     "write to read-only memory", 4, 0, 0},
    {"byte past the end", "ld.global.u8 %h1, [%rd1+400];", 0, 0, 0, LG_SIM_ILLEGAL_ADDRESS,
     "read out of bounds", 1, 1, 0},
};

static void test_bad_accesses(void) {
    for (size_t i = 0; i < sizeof access_rows / sizeof *access_rows; i++) {
        const access_row *row = &access_rows[i];
        lg_str body = {0};
        lg_str_printf(&body,
                      "ld.param.u64 %%rd0, [p];\n ld.param.u64 %%rd5, [q];\n"
                      "add.s64 %%rd1, %%rd0, %%rd5;\n mov.u32 %%r1, %%tid.x;\n"
                      "mul.wide.u32 %%rd2, %%r1, 4;\n add.s64 %%rd3, %%rd1, %%rd2;\n%s\nret;",
                      row->body);
        rig r = rig_kernel("", ".param .u64 p, .param .u64 q", lg_str_text(&body));
        lg_str_free(&body);
        uint64_t address = rig_buffer(&r, NULL, 400);
        if (row->freed) {
            CU_ASSERT_TRUE(lg_sim_free(r.sim, address));
        }
        CU_ASSERT_EQUAL(lg_sim_set_read_only(r.sim, address, row->read_only), !row->freed);
        int64_t params[2] = {(int64_t)address, row->offset};
        lg_sim_launch launch = rig_launch(1, 32, params, sizeof params);
        // Twice: the second time the instruction remembers where it was.
        for (int turn = 0; turn < 2; turn++) {
            lg_sim_result result = rig_run(&r, "k", &launch);
            LG_CHECK_ROW(row->name, result.status == row->status);
            LG_CHECK_ROW(row->name, result.has_fault == (row->kind != NULL));
            if (result.has_fault && row->kind) {
                LG_CHECK_ROW(row->name,
                             strcmp(lg_device_fault_name(result.fault.kind, result.fault.write),
                                    row->kind) == 0);
                LG_CHECK_ROW(row->name, result.fault.bytes == row->bytes);
                LG_CHECK_ROW(row->name, result.fault.distance == row->distance);
                LG_CHECK_ROW(row->name, result.fault.thread[0] == row->thread);
                LG_CHECK_ROW(row->name, result.fault.nearest_base == address);
                LG_CHECK_ROW(row->name, result.fault.nearest_bytes == 400);
                LG_CHECK_ROW(row->name, result.fault.ptx_line > 0);
            }
            lg_sim_result_free(&result);
        }
        rig_close(&r);
    }
}

static void test_null_pointer_and_nearest(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n ld.global.u32 %r1, [%rd1+8];\n ret;");
    uint64_t first = rig_buffer(&r, NULL, 100), second = rig_buffer(&r, NULL, 100);
    uint64_t null = 0;
    lg_sim_launch launch = rig_launch(1, 1, &null, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(result.fault.address, 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(result.fault.text, "a null pointer"));
    lg_sim_result_free(&result);
    uint64_t before_second = second - 8 - 12; // nearer to the second than to the first
    launch.params = &before_second;
    result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.fault.nearest_base, second);
    CU_ASSERT_EQUAL(result.fault.distance, -12);
    lg_sim_result_free(&result);
    uint64_t after_first = first + 100 - 8;
    launch.params = &after_first;
    result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.fault.nearest_base, first);
    CU_ASSERT_EQUAL(result.fault.distance, 1);
    CU_ASSERT_STRING_EQUAL(result.fault.function, "k");
    CU_ASSERT_PTR_NOT_NULL(strstr(result.fault.text, "read out of bounds of 4 bytes at 0x"));
    CU_ASSERT_PTR_NOT_NULL(strstr(result.fault.text, "byte 1 past the end of the 100-byte "
                                                     "allocation at 0x"));
    lg_sim_result_free(&result);
    rig_close(&r);
}

// A store that fails for one lane leaves memory as it was.
static void test_failed_store_writes_nothing(void) {
    rig r = rig_kernel("", ".param .u64 p",
                       "ld.param.u64 %rd1, [p];\n mov.u32 %r1, %tid.x;\n"
                       "mul.wide.u32 %rd2, %r1, 4;\n add.s64 %rd3, %rd1, %rd2;\n"
                       "st.global.u32 [%rd3], 7;\n ret;");
    uint64_t address = rig_buffer(&r, NULL, 124);
    lg_sim_launch launch = rig_launch(1, 32, &address, 8);
    lg_sim_result result = rig_run(&r, "k", &launch);
    CU_ASSERT_EQUAL(result.status, LG_SIM_ILLEGAL_ADDRESS);
    CU_ASSERT_EQUAL(result.fault.thread[0], 31);
    lg_sim_result_free(&result);
    uint32_t got[31];
    rig_read(&r, address, got, sizeof got);
    for (int i = 0; i < 31; i++) {
        CU_ASSERT_EQUAL(got[i], 0);
    }
    rig_close(&r);
}

static void test_shared_and_local_bounds(void) {
    static const struct {
        const char *name, *body;
        lg_ptx_space space;
        int64_t distance;
        lg_sim_status status;
    } rows[] = {
        {"shared end", "mov.u32 %r1, s;\n ld.shared.u32 %r2, [%r1+64];", LG_SPACE_SHARED, 1,
         LG_SIM_ILLEGAL_ADDRESS},
        {"shared far", "mov.u32 %r1, s;\n st.shared.u32 [%r1+1024], 1;", LG_SPACE_SHARED, 961,
         LG_SIM_ILLEGAL_ADDRESS},
        {"shared misaligned", "mov.u32 %r1, s;\n ld.shared.u32 %r2, [%r1+2];", LG_SPACE_SHARED, 0,
         LG_SIM_MISALIGNED},
        {"shared through a generic address",
         "mov.u64 %rd1, s;\n cvta.shared.u64 %rd2, %rd1;\n ld.u32 %r2, [%rd2+68];", LG_SPACE_SHARED,
         5, LG_SIM_ILLEGAL_ADDRESS},
        {"local end", "mov.u64 %rd1, l;\n ld.local.u32 %r2, [%rd1+32];", LG_SPACE_LOCAL, 1,
         LG_SIM_ILLEGAL_ADDRESS},
        {"local through a generic address",
         "mov.u64 %rd1, l;\n cvta.local.u64 %rd2, %rd1;\n st.u64 [%rd2+40], %rd1;", LG_SPACE_LOCAL,
         9, LG_SIM_ILLEGAL_ADDRESS},
        {"atomic on shared", "mov.u32 %r1, s;\n atom.shared.add.u32 %r2, [%r1+64], 1;",
         LG_SPACE_SHARED, 1, LG_SIM_ILLEGAL_ADDRESS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lg_str body = {0};
        lg_str_printf(&body, ".shared .align 4 .b8 s[64];\n.local .align 8 .b8 l[32];\n%s\nret;",
                      rows[i].body);
        rig r = rig_kernel("", "", lg_str_text(&body));
        lg_str_free(&body);
        lg_sim_launch launch = rig_launch(1, 32, NULL, 0);
        lg_sim_result result = rig_run(&r, "k", &launch);
        LG_CHECK_ROW(rows[i].name, result.status == rows[i].status);
        LG_CHECK_ROW(rows[i].name, result.fault.space == rows[i].space);
        LG_CHECK_ROW(rows[i].name, result.fault.distance == rows[i].distance);
        lg_sim_result_free(&result);
        rig_close(&r);
    }
}

int main(void) {
    static const lg_test tests[] = {
        {"allocations sit apart", test_allocations_sit_apart},
        {"host access is checked", test_host_access_is_checked},
        {"mapped memory is shared with the host", test_mapped_memory_is_shared_with_the_host},
        {"bad accesses", test_bad_accesses},
        {"null pointer and nearest", test_null_pointer_and_nearest},
        {"a failed store writes nothing", test_failed_store_writes_nothing},
        {"shared and local bounds", test_shared_and_local_bounds},
    };
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
