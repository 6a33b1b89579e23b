// SPDX-License-Identifier: Apache-2.0
// Bad arguments of each call, and what functions and the device say of themselves.
#include "unit/engine/driver/fixture.h"

static void test_bad_arguments(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    int n;
    char name[8];
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUevent event;
    CUevent unrecorded;
    CUevent untimed;
    CUdeviceptr address;
    size_t bytes;
    float ms;
    void *memory;
    uint32_t word = 0;
    CU_ASSERT_EQUAL(d->cuEventCreate(&unrecorded, 0), 0);
    CU_ASSERT_EQUAL(d->cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), 0);
    CU_ASSERT_EQUAL(d->cuEventRecord(untimed, NULL), 0);
    CU_ASSERT_EQUAL(d->cuCtxSynchronize(), 0);
    CUstream no_stream = (CUstream)(uintptr_t)0xDEAD;
    CUevent no_event = (CUevent)(uintptr_t)0xDEAD;
    CUmodule no_module = (CUmodule)(uintptr_t)0xDEAD;
    CUfunction no_function = (CUfunction)(uintptr_t)0xDEAD;
    CUcontext no_context = (CUcontext)(uintptr_t)0xDEAD;
    void *params[] = {&f.data, &word};
    void *holes[] = {&f.data, NULL};
    void *extra[] = {CU_LAUNCH_PARAM_END};
    CUfunction limited = find_entry(&f, "limited");
#define LAUNCH(function, gx, gy, gz, bx, by, bz, shared, stream_, p, x)                            \
    d->cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream_, p, x)
    const struct {
        const char *what;
        CUresult got;
        CUresult wanted;
    } checks[] = {
        {"cuInit with flags", d->cuInit(1), CUDA_ERROR_INVALID_VALUE},
        {"version to NULL", d->cuDriverGetVersion(NULL), CUDA_ERROR_INVALID_VALUE},
        {"count to NULL", d->cuDeviceGetCount(NULL), CUDA_ERROR_INVALID_VALUE},
        {"second device", d->cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE},
        {"device -1", d->cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE},
        {"name of no bytes", d->cuDeviceGetName(name, 0, 0), CUDA_ERROR_INVALID_VALUE},
        {"name of device 7", d->cuDeviceGetName(name, 8, 7), CUDA_ERROR_INVALID_DEVICE},
        {"attribute 0", d->cuDeviceGetAttribute(&n, 0, 0), CUDA_ERROR_INVALID_VALUE},
        {"attribute of device 7", d->cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7),
         CUDA_ERROR_INVALID_DEVICE},
        {"context to NULL", d->cuCtxCreate(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE},
        {"context on device 7", d->cuCtxCreate(&context, 0, 7), CUDA_ERROR_INVALID_DEVICE},
        {"context with unknown flags", d->cuCtxCreate(&context, 1u << 31, 0),
         CUDA_ERROR_INVALID_VALUE},
        {"destroy no context", d->cuCtxDestroy(NULL), CUDA_ERROR_INVALID_CONTEXT},
        {"destroy a made-up context", d->cuCtxDestroy(no_context), CUDA_ERROR_INVALID_CONTEXT},
        {"a made-up context as current", d->cuCtxSetCurrent(no_context),
         CUDA_ERROR_INVALID_CONTEXT},
        {"module to NULL", d->cuModuleLoadDataEx(NULL, fixture_ptx, 0, NULL, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"module of NULL", d->cuModuleLoadDataEx(&module, NULL, 0, NULL, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"options without values", d->cuModuleLoadDataEx(&module, fixture_ptx, 1, NULL, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"module of nothing", d->cuModuleLoadDataEx(&module, "", 0, NULL, NULL),
         CUDA_ERROR_INVALID_IMAGE},
        {"module of machine code", d->cuModuleLoadDataEx(&module, "\177ELF\2\1\1", 0, NULL, NULL),
         CUDA_ERROR_NO_BINARY_FOR_GPU},
        {"module of prose", d->cuModuleLoadDataEx(&module, "not PTX at all", 0, NULL, NULL),
         CUDA_ERROR_INVALID_PTX},
        {"unload a made-up module", d->cuModuleUnload(no_module), CUDA_ERROR_INVALID_HANDLE},
        {"unload a stream", d->cuModuleUnload((CUmodule)f.stream), CUDA_ERROR_INVALID_HANDLE},
        {"function of a made-up module", d->cuModuleGetFunction(&function, no_module, "store"),
         CUDA_ERROR_INVALID_HANDLE},
        {"unknown function", d->cuModuleGetFunction(&function, f.module, "stor"),
         CUDA_ERROR_NOT_FOUND},
        {"a function that is no entry", d->cuModuleGetFunction(&function, f.module, "vprintf"),
         CUDA_ERROR_NOT_FOUND},
        {"function without a name", d->cuModuleGetFunction(&function, f.module, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"unknown global", d->cuModuleGetGlobal(&address, &bytes, f.module, "nothing"),
         CUDA_ERROR_NOT_FOUND},
        {"global to nowhere", d->cuModuleGetGlobal(NULL, NULL, f.module, "counter"),
         CUDA_ERROR_INVALID_VALUE},
        {"attribute of a made-up function",
         d->cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_NUM_REGS, no_function),
         CUDA_ERROR_INVALID_HANDLE},
        {"unknown function attribute", d->cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX, f.store),
         CUDA_ERROR_INVALID_VALUE},
        {"read-only function attribute",
         d->cuFuncSetAttribute(f.store, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE},
        {"too much shared memory",
         d->cuFuncSetAttribute(f.store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65537),
         CUDA_ERROR_INVALID_VALUE},
        {"parameter 2 of 2", d->cuFuncGetParamInfo(f.store, 2, &bytes, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"allocate nothing", d->cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE},
        {"allocate to NULL", d->cuMemAlloc(NULL, 8), CUDA_ERROR_INVALID_VALUE},
        {"allocate 1 TiB", d->cuMemAlloc(&address, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY},
        {"allocate SIZE_MAX", d->cuMemAlloc(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY},
        {"free nothing", d->cuMemFree(0), CUDA_ERROR_INVALID_VALUE},
        {"free the middle", d->cuMemFree(f.data + 4), CUDA_ERROR_INVALID_VALUE},
        {"free host memory as device's", d->cuMemFree(f.host_address), CUDA_ERROR_INVALID_VALUE},
        {"copy from NULL", d->cuMemcpyHtoD(f.data, NULL, 4), CUDA_ERROR_INVALID_VALUE},
        {"copy to NULL", d->cuMemcpyDtoH(NULL, f.data, 4), CUDA_ERROR_INVALID_VALUE},
        {"copy past the end", d->cuMemcpyHtoD(f.data + 253, &word, 4), CUDA_ERROR_INVALID_VALUE},
        {"copy from past the end", d->cuMemcpyDtoH(&word, f.data + 253, 4),
         CUDA_ERROR_INVALID_VALUE},
        {"copy of a wrapping range", d->cuMemcpyDtoH(&word, UINT64_MAX - 1, 4),
         CUDA_ERROR_INVALID_VALUE},
        {"copy of nothing", d->cuMemcpyDtoH(NULL, 0, 0), CUDA_SUCCESS},
        {"device copy past the end", d->cuMemcpyDtoD(f.data, f.data + 1, 256),
         CUDA_ERROR_INVALID_VALUE},
        {"async copy past the end", d->cuMemcpyHtoDAsync(f.data + 253, &word, 4, f.stream),
         CUDA_ERROR_INVALID_VALUE},
        {"async copy on a made-up stream", d->cuMemcpyDtoHAsync(&word, f.data, 4, no_stream),
         CUDA_ERROR_INVALID_HANDLE},
        {"memset past the end", d->cuMemsetD8(f.data, 0, 257), CUDA_ERROR_INVALID_VALUE},
        {"memset of odd words", d->cuMemsetD32(f.data + 2, 0, 1), CUDA_ERROR_INVALID_VALUE},
        {"memset of too many words", d->cuMemsetD32(f.data, 0, SIZE_MAX / 2),
         CUDA_ERROR_INVALID_VALUE},
        {"async memset past the end", d->cuMemsetD8Async(f.data, 0, 257, f.stream),
         CUDA_ERROR_INVALID_VALUE},
        {"host memory of no bytes", d->cuMemHostAlloc(&memory, 0, 0), CUDA_ERROR_INVALID_VALUE},
        {"host memory with unknown flags", d->cuMemHostAlloc(&memory, 8, 64),
         CUDA_ERROR_INVALID_VALUE},
        {"free other host memory", d->cuMemFreeHost(&word), CUDA_ERROR_INVALID_VALUE},
        {"free the middle of host memory", d->cuMemFreeHost(f.host + 4), CUDA_ERROR_INVALID_VALUE},
        {"device pointer of other memory", d->cuMemHostGetDevicePointer(&address, &word, 0),
         CUDA_ERROR_INVALID_VALUE},
        {"stream with unknown flags", d->cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE},
        {"destroy the null stream", d->cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE},
        {"wait for a made-up stream", d->cuStreamSynchronize(no_stream), CUDA_ERROR_INVALID_HANDLE},
        {"query a made-up stream", d->cuStreamQuery(no_stream), CUDA_ERROR_INVALID_HANDLE},
        {"wait on a made-up event", d->cuStreamWaitEvent(f.stream, no_event, 0),
         CUDA_ERROR_INVALID_HANDLE},
        {"wait with unknown flags", d->cuStreamWaitEvent(f.stream, f.first, 8),
         CUDA_ERROR_INVALID_VALUE},
        {"event with unknown flags", d->cuEventCreate(&event, 64), CUDA_ERROR_INVALID_VALUE},
        {"record a made-up event", d->cuEventRecord(no_event, NULL), CUDA_ERROR_INVALID_HANDLE},
        {"record on a made-up stream", d->cuEventRecord(f.first, no_stream),
         CUDA_ERROR_INVALID_HANDLE},
        {"query an unrecorded event", d->cuEventQuery(unrecorded), CUDA_SUCCESS},
        {"time from an unrecorded event", d->cuEventElapsedTime(&ms, unrecorded, f.second),
         CUDA_ERROR_INVALID_HANDLE},
        {"time to an event without timing", d->cuEventElapsedTime(&ms, f.first, untimed),
         CUDA_ERROR_INVALID_HANDLE},
        {"time to NULL", d->cuEventElapsedTime(NULL, f.first, f.second), CUDA_ERROR_INVALID_VALUE},
        {"launch a made-up function", LAUNCH(no_function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_HANDLE},
        {"launch on a made-up stream",
         LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 0, no_stream, params, NULL), CUDA_ERROR_INVALID_HANDLE},
        {"empty grid", LAUNCH(f.store, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"empty block", LAUNCH(f.store, 1, 1, 1, 1, 0, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"tall grid", LAUNCH(f.store, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"1025 threads", LAUNCH(f.store, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"32 x 33 threads", LAUNCH(f.store, 1, 1, 1, 32, 33, 1, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"deep block", LAUNCH(f.store, 1, 1, 1, 1, 1, 65, 0, NULL, params, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"more threads than .maxntid", LAUNCH(limited, 1, 1, 1, 65, 1, 1, 0, NULL, params, NULL),
         CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
        {"48 KiB of shared memory and one byte",
         LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 49153, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE},
        {"48 KiB dynamic beside 1 KiB static",
         LAUNCH(limited, 1, 1, 1, 1, 1, 1, 49152, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE},
        {"no parameters", LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"a parameter missing", LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 0, NULL, holes, NULL),
         CUDA_ERROR_INVALID_VALUE},
        {"both forms of parameters", LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra),
         CUDA_ERROR_INVALID_VALUE},
        {"an empty packed form", LAUNCH(f.store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra),
         CUDA_ERROR_INVALID_VALUE},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        LG_CHECK_ROW(checks[i].what, checks[i].got == checks[i].wanted);
    }
    // None of it harmed the context.
    CU_ASSERT_EQUAL(launch(&f, "store", 32, 11, f.data, NULL), 0);
    CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, f.data, 4), 0);
    CU_ASSERT_EQUAL(word, 11);
    tear_down(&f);
}

static void test_packed_params(void) {
    fixture f;
    set_up(&f);
    struct {
        CUdeviceptr data;
        uint32_t value;
    } packed = {f.data, 77};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    uint32_t word = 0;
    CU_ASSERT_EQUAL(f.driver->cuLaunchKernel(f.store, 1, 1, 1, 1, 1, 1, 0, f.stream, NULL, extra),
                    0);
    CU_ASSERT_EQUAL(f.driver->cuMemcpyDtoH(&word, f.data, 4), 0);
    CU_ASSERT_EQUAL(word, 77);
    tear_down(&f);
}

static void test_attributes(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    CUfunction limited = find_entry(&f, "limited");
    const struct {
        const char *name;
        CUfunction function;
        CUfunction_attribute attribute;
        int value;
    } functions[] = {
        {"threads", f.store, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {"threads of .maxntid", limited, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64},
        {"no shared memory", f.store, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0},
        {"shared memory", limited, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1024},
        {"local memory", limited, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 40},
        {"constant memory", limited, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 16},
        {"PTX version", f.store, CU_FUNC_ATTRIBUTE_PTX_VERSION, 75},
        {"binary version", f.store, CU_FUNC_ATTRIBUTE_BINARY_VERSION, 75},
        {"dynamic shared memory", limited, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
         47 * 1024},
        {"clusters", f.store, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 0},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        int value = -1;
        CU_ASSERT_EQUAL(
            d->cuFuncGetAttribute(&value, functions[i].attribute, functions[i].function), 0);
        LG_CHECK_ROW(functions[i].name, value == functions[i].value);
    }
    // More dynamic shared memory, when asked for.
    void *params[] = {&f.data, &(uint32_t){0}};
    CUfunction_attribute most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CU_ASSERT_EQUAL(d->cuFuncSetAttribute(f.store, most, 60000), 0);
    CU_ASSERT_EQUAL(d->cuLaunchKernel(f.store, 1, 1, 1, 1, 1, 1, 60000, NULL, params, NULL), 0);
    CU_ASSERT_EQUAL(d->cuLaunchKernel(f.store, 1, 1, 1, 1, 1, 1, 60001, NULL, params, NULL),
                    CUDA_ERROR_INVALID_VALUE);
    CU_ASSERT_EQUAL(d->cuCtxSynchronize(), 0);

    size_t offset;
    size_t bytes;
    CU_ASSERT_EQUAL(d->cuFuncGetParamInfo(f.store, 0, &offset, &bytes), 0);
    CU_ASSERT_TRUE(offset == 0 && bytes == 8);
    CU_ASSERT_EQUAL(d->cuFuncGetParamInfo(f.store, 1, &offset, &bytes), 0);
    CU_ASSERT_TRUE(offset == 8 && bytes == 4);

    const struct {
        const char *name;
        CUdevice_attribute attribute;
        int value;
    } devices[] = {
        {"warp", CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {"threads", CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
        {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1},
        {"capability, major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
        {"capability, minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
        {"unified addressing", CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {"mapped host memory", CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
        {"no texture units", CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 0},
    };
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        int value = -1;
        CU_ASSERT_EQUAL(d->cuDeviceGetAttribute(&value, devices[i].attribute, 0), 0);
        LG_CHECK_ROW(devices[i].name, value == devices[i].value);
    }
    size_t free_before;
    size_t free_after;
    size_t total;
    CUdeviceptr address;
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_before, &total), 0);
    CU_ASSERT_EQUAL(d->cuMemAlloc(&address, 1 << 20), 0);
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_after, &total), 0);
    CU_ASSERT_TRUE(free_before - free_after >= 1 << 20 && free_before <= total);
    CU_ASSERT_EQUAL(d->cuMemFree(address), 0);
    CU_ASSERT_EQUAL(d->cuMemGetInfo(&free_after, &total), 0);
    CU_ASSERT_EQUAL(free_before, free_after);
    CU_ASSERT_EQUAL(d->cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
    tear_down(&f);
}

static void test_error_names(void) {
    const lg_driver *d = lg_driver_sim();
    const char *text = "";
    CU_ASSERT_EQUAL(d->cuGetErrorString(CUDA_ERROR_ASSERT, &text), 0);
    CU_ASSERT_STRING_EQUAL(text, "device-side assert triggered");
    CU_ASSERT_EQUAL(d->cuGetErrorName(CUDA_SUCCESS, &text), 0);
    CU_ASSERT_STRING_EQUAL(text, "CUDA_SUCCESS");
    CU_ASSERT_EQUAL(d->cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CU_ASSERT_PTR_NULL(text);
    CU_ASSERT_EQUAL(d->cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CU_ASSERT_EQUAL(d->cuGetErrorName(CUDA_ERROR_ASSERT, NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void) {
    static const lg_test tests[] = {{"bad arguments", test_bad_arguments},
                                    {"packed parameters", test_packed_params},
                                    {"attributes", test_attributes},
                                    {"error names", test_error_names}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
