// SPDX-License-Identifier: Apache-2.0
// What the driver's tests share: small kernels that end in each of the ways a kernel can, and a
// context with one of every object in it.
#ifndef LG_TESTS_ENGINE_DRIVER_FIXTURE_H
#define LG_TESTS_ENGINE_DRIVER_FIXTURE_H

#include "engine/driver/driver.h"
#include "unit/testing.h"

#include <string.h>

enum { DATA_BYTES = 256, TIMEOUT_BUDGET = 10000 };

// Every entry takes (u64 data, u32 value). `store` writes value to data[tid]; `say` prints it.
static const char fixture_ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,\n"
    "    .param .b64 e);\n"
    ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 args);\n"
    ".global .align 1 .b8 text[6] = {110, 32, 62, 32, 48, 0};\n"                // "n > 0"
    ".global .align 1 .b8 file[5] = {107, 46, 99, 117, 0};\n"                   // "k.cu"
    ".global .align 1 .b8 name[2] = {102, 0};\n"                                // "f"
    ".global .align 1 .b8 formatted[8] = {115, 97, 121, 32, 37, 100, 10, 0};\n" // "say %d\n"
    ".global .align 4 .u32 counter = 7;\n"
    ".const .align 4 .b8 table[16];\n"
    ".visible .entry store(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .reg .b32 %r<3>;\n"
    "    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [data];\n"
    "    ld.param.u32 %r1, [value];\n"
    "    mov.u32 %r2, %tid.x;\n"
    "    mul.wide.u32 %rd2, %r2, 4;\n"
    "    add.s64 %rd3, %rd1, %rd2;\n"
    "    st.u32 [%rd3], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry fail_assert(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .reg .b64 %rd<8>;\n"
    "    mov.u64 %rd1, text;\n"
    "    cvta.global.u64 %rd2, %rd1;\n"
    "    mov.u64 %rd3, file;\n"
    "    cvta.global.u64 %rd4, %rd3;\n"
    "    mov.u64 %rd5, name;\n"
    "    cvta.global.u64 %rd6, %rd5;\n"
    "    {\n"
    "    .param .b64 param0;\n"
    "    st.param.b64 [param0+0], %rd2;\n"
    "    .param .b64 param1;\n"
    "    st.param.b64 [param1+0], %rd4;\n"
    "    .param .b32 param2;\n"
    "    st.param.b32 [param2+0], 12;\n"
    "    .param .b64 param3;\n"
    "    st.param.b64 [param3+0], %rd6;\n"
    "    .param .b64 param4;\n"
    "    st.param.b64 [param4+0], 1;\n"
    "    call.uni __assertfail, (param0, param1, param2, param3, param4);\n"
    "    }\n"
    "    ret;\n"
    "}\n"
    ".visible .entry fail_illegal(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .reg .b32 %r<2>;\n"
    "    .reg .b64 %rd<4>;\n"
    "    ld.param.u64 %rd1, [data];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mov.u32 %r1, 1;\n"
    "    st.global.u32 [%rd2+256], %r1;\n" // the first bytes past the buffer
    "    ret;\n"
    "}\n"
    ".visible .entry fail_misaligned(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .reg .b32 %r<2>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [data];\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n"
    "    ld.global.u32 %r1, [%rd2+2];\n"
    "    st.global.u32 [%rd2], %r1;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry fail_trap(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    trap;\n"
    "    ret;\n"
    "}\n"
    ".visible .entry fail_timeout(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "FOREVER:\n"
    "    bra FOREVER;\n"
    "}\n"
    ".visible .entry say(.param .u64 data, .param .u32 value)\n"
    "{\n"
    "    .local .align 8 .b8 depot[8];\n"
    "    .reg .b32 %r<3>;\n"
    "    .reg .b64 %rd<5>;\n"
    "    mov.u64 %rd1, depot;\n"
    "    cvta.local.u64 %rd2, %rd1;\n"
    "    ld.param.u32 %r1, [value];\n"
    "    st.local.u32 [%rd1], %r1;\n"
    "    mov.u64 %rd3, formatted;\n"
    "    cvta.global.u64 %rd4, %rd3;\n"
    "    {\n"
    "    .param .b64 param0;\n"
    "    st.param.b64 [param0+0], %rd4;\n"
    "    .param .b64 param1;\n"
    "    st.param.b64 [param1+0], %rd2;\n"
    "    .param .b32 retval0;\n"
    "    call.uni (retval0), vprintf, (param0, param1);\n"
    "    ld.param.b32 %r2, [retval0+0];\n"
    "    }\n"
    "    ret;\n"
    "}\n"
    ".visible .entry limited(.param .u64 data, .param .u32 value)\n"
    ".maxntid 64, 1, 1\n"
    "{\n"
    "    .shared .align 4 .b8 buffer[1024];\n"
    "    .local .align 4 .b8 scratch[40];\n"
    "    .reg .b32 %r<3>;\n"
    "    mov.u32 %r1, 1;\n"
    "    st.shared.u32 [buffer], %r1;\n"
    "    st.local.u32 [scratch], %r1;\n"
    "    ld.const.u32 %r2, [table];\n"
    "    ret;\n"
    "}\n";

typedef struct ending {
    const char *name;
    const char *entry;
    CUresult error;
    const char *error_name;
    lg_device_fault_kind kind; // of the device's own account
} ending;

static const ending endings[] = {
    {"assert", "fail_assert", CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", LG_DEVICE_FAULT_ASSERT},
    {"illegal address", "fail_illegal", CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     LG_DEVICE_FAULT_OUT_OF_BOUNDS},
    {"misaligned", "fail_misaligned", CUDA_ERROR_MISALIGNED_ADDRESS,
     "CUDA_ERROR_MISALIGNED_ADDRESS", LG_DEVICE_FAULT_MISALIGNED},
    {"trap", "fail_trap", CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     LG_DEVICE_FAULT_TRAP},
    {"timeout", "fail_timeout", CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT",
     LG_DEVICE_FAULT_TIMEOUT},
};
enum { N_ENDINGS = sizeof endings / sizeof *endings };

// One of every object, made in a fresh context.
typedef struct fixture {
    const lg_driver *driver;
    CUcontext context;
    CUmodule module;
    CUfunction store;
    CUstream stream;
    CUevent first, second; // recorded, and long over
    CUevent late;          // recorded behind everything else
    CUdeviceptr data;      // DATA_BYTES, zeroed
    unsigned char *host;   // mapped host memory, DATA_BYTES
    CUdeviceptr host_address;
    CUdeviceptr range;       // RANGE_BYTES, the first PIECE_BYTES of it backed by memory
    CUdeviceptr empty_range; // RANGE_BYTES, nothing behind it
    CUmemGenericAllocationHandle piece, another; // PIECE_BYTES each; `another` is unmapped
} fixture;

enum { PIECE_BYTES = 256, RANGE_BYTES = 1024 };

static const CUmemAllocationProp piece_kind = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};
static const CUmemAccessDesc piece_access = {
    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

static inline CUfunction find_entry(const fixture *with, const char *name) {
    CUfunction function = NULL;
    CU_ASSERT_EQUAL_FATAL(with->driver->cuModuleGetFunction(&function, with->module, name), 0);
    return function;
}

static inline CUresult launch(const fixture *with, const char *entry, unsigned threads,
                              uint32_t value, CUdeviceptr data, CUstream stream) {
    void *params[] = {&data, &value};
    return with->driver->cuLaunchKernel(find_entry(with, entry), 1, 1, 1, threads, 1, 1, 0, stream,
                                        params, NULL);
}

static inline void set_up(fixture *with) {
    const lg_driver *driver = lg_driver_sim();
    *with = (fixture){.driver = driver};
    CU_ASSERT_EQUAL_FATAL(driver->cuInit(0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuCtxCreate(&with->context, 0, 0), 0);
    CUresult loaded = driver->cuModuleLoadDataEx(&with->module, fixture_ptx, 0, NULL, NULL);
    lg_diags_print(lg_driver_sim()->load_diags(), stderr);
    CU_ASSERT_EQUAL_FATAL(loaded, 0);
    with->store = find_entry(with, "store");
    CU_ASSERT_EQUAL_FATAL(driver->cuStreamCreate(&with->stream, CU_STREAM_DEFAULT), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuEventCreate(&with->first, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuEventCreate(&with->second, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuEventCreate(&with->late, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemAlloc(&with->data, DATA_BYTES), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemsetD8(with->data, 0, DATA_BYTES), 0);
    void *host;
    CU_ASSERT_EQUAL_FATAL(driver->cuMemHostAlloc(&host, DATA_BYTES, CU_MEMHOSTALLOC_DEVICEMAP), 0);
    with->host = host;
    memset(host, 0, DATA_BYTES);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemHostGetDevicePointer(&with->host_address, host, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemAddressReserve(&with->range, RANGE_BYTES, 0, 0, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemAddressReserve(&with->empty_range, RANGE_BYTES, 0, 0, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemCreate(&with->piece, PIECE_BYTES, &piece_kind, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemCreate(&with->another, PIECE_BYTES, &piece_kind, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemMap(with->range, PIECE_BYTES, 0, with->piece, 0), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuMemSetAccess(with->range, PIECE_BYTES, &piece_access, 1), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuEventRecord(with->first, with->stream), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuEventRecord(with->second, with->stream), 0);
    CU_ASSERT_EQUAL_FATAL(driver->cuCtxSynchronize(), 0);
}

static inline void tear_down(fixture *with) {
    CU_ASSERT_EQUAL(with->driver->cuCtxDestroy(with->context), 0);
}

#endif
