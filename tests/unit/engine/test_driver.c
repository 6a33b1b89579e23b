// SPDX-License-Identifier: Apache-2.0
// Beyond the table of test_conformance.c: bad arguments, order and laziness of work, events,
// modules, what functions and the device say of themselves, logs, and contexts on several threads.
#include "unit/engine/driver_fixture.h"

#include <pthread.h>
#include <stdlib.h>

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

// Work is done when somebody waits for it, in order, over streams.
static void test_order(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    uint32_t source = 5;
    uint32_t seen[3] = {0};
    CU_ASSERT_EQUAL(d->cuMemcpyHtoDAsync(f.data, &source, 4, f.stream), 0);
    source = 6; // taken at the call
    CU_ASSERT_EQUAL(d->cuMemcpyDtoHAsync(&seen[0], f.data, 4, f.stream), 0);
    CU_ASSERT_EQUAL(launch(&f, "store", 1, 8, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuMemcpyDtoHAsync(&seen[1], f.data, 4, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuMemsetD8Async(f.data, 1, 4, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuMemcpyDtoHAsync(&seen[2], f.data, 4, f.stream), 0);
    CU_ASSERT_EQUAL(seen[0], 0); // nothing has run
    CU_ASSERT_EQUAL(d->cuStreamSynchronize(f.stream), 0);
    CU_ASSERT_EQUAL(seen[0], 5);
    CU_ASSERT_EQUAL(seen[1], 8);
    CU_ASSERT_EQUAL(seen[2], 0x01010101);

    // A stream does not wait for work that came later on another; through an event it does.
    CUstream other;
    CU_ASSERT_EQUAL(d->cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), 0);
    CU_ASSERT_EQUAL(launch(&f, "store", 1, 20, f.host_address, other), 0);
    CU_ASSERT_EQUAL(d->cuStreamSynchronize(f.stream), 0);
    CU_ASSERT_EQUAL(*(uint32_t *)f.host, 0);
    CU_ASSERT_EQUAL(d->cuEventRecord(f.late, other), 0);
    CU_ASSERT_EQUAL(d->cuStreamWaitEvent(f.stream, f.late, 0), 0);
    CU_ASSERT_EQUAL(d->cuStreamSynchronize(f.stream), 0);
    CU_ASSERT_EQUAL(*(uint32_t *)f.host, 20);
    // A destroyed stream's work still runs.
    CU_ASSERT_EQUAL(launch(&f, "store", 1, 21, f.host_address, other), 0);
    CU_ASSERT_EQUAL(d->cuStreamDestroy(other), 0);
    CU_ASSERT_EQUAL(d->cuStreamQuery(other), CUDA_ERROR_INVALID_HANDLE);
    CU_ASSERT_EQUAL(d->cuCtxSynchronize(), 0);
    CU_ASSERT_EQUAL(*(uint32_t *)f.host, 21);
    tear_down(&f);
}

static void test_queries(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    for (uint32_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(launch(&f, "store", 1, i, f.data, f.stream), 0);
    }
    CU_ASSERT_EQUAL(d->cuEventRecord(f.late, f.stream), 0);
    float ms;
    CU_ASSERT_EQUAL(d->cuEventElapsedTime(&ms, f.first, f.late), CUDA_ERROR_NOT_READY);
    int n_busy = 0;
    CUresult result;
    while ((result = d->cuEventQuery(f.late)) == CUDA_ERROR_NOT_READY && n_busy < 100) {
        n_busy++;
    }
    CU_ASSERT_EQUAL(result, CUDA_SUCCESS);
    CU_ASSERT_EQUAL(n_busy, 5);
    CU_ASSERT_EQUAL(d->cuStreamQuery(f.stream), CUDA_SUCCESS);
    CU_ASSERT_EQUAL(d->cuEventElapsedTime(&ms, f.first, f.late), CUDA_SUCCESS);
    CU_ASSERT_TRUE(ms >= 0 && ms < 60000);
    CU_ASSERT_EQUAL(d->cuEventElapsedTime(&ms, f.late, f.first), CUDA_SUCCESS);
    CU_ASSERT_TRUE(ms <= 0);
    // Far more than the queue holds.
    for (uint32_t i = 0; i < 3000; i++) {
        CU_ASSERT_EQUAL_FATAL(launch(&f, "store", 1, i, f.data, f.stream), 0);
    }
    uint32_t word;
    CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, f.data, 4), 0);
    CU_ASSERT_EQUAL(word, 2999);
    tear_down(&f);
}

static void test_modules(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    CUdeviceptr address;
    size_t bytes;
    uint32_t word;
    CU_ASSERT_EQUAL(d->cuModuleGetGlobal(&address, &bytes, f.module, "counter"), 0);
    CU_ASSERT_EQUAL(bytes, 4);
    CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, address, 4), 0);
    CU_ASSERT_EQUAL(word, 7);
    CUmodule second;
    CUdeviceptr second_address;
    CU_ASSERT_EQUAL(d->cuModuleLoadDataEx(&second, fixture_ptx, 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL(d->cuModuleGetGlobal(&second_address, NULL, second, "counter"), 0);
    CU_ASSERT_NOT_EQUAL(address, second_address); // the same text, variables of its own

    // Unloading waits for queued launches, and takes the module's functions with it.
    CU_ASSERT_EQUAL(launch(&f, "store", 1, 31, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuModuleUnload(f.module), 0);
    CU_ASSERT_EQUAL(d->cuMemcpyDtoH(&word, f.data, 4), 0);
    CU_ASSERT_EQUAL(word, 31);
    size_t offset;
    CU_ASSERT_EQUAL(d->cuFuncGetParamInfo(f.store, 0, &offset, NULL), CUDA_ERROR_INVALID_HANDLE);
    CU_ASSERT_EQUAL(d->cuModuleUnload(f.module), CUDA_ERROR_INVALID_HANDLE);
    f.module = second;
    CU_ASSERT_EQUAL(launch(&f, "store", 1, 32, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuCtxSynchronize(), 0);

    static const char broken[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
                                 ".visible .entry f()\n{\n    .reg .b32 %r<2>;\n"
                                 "    mov.u32 %r1, %nonsense;\n    ret;\n}\n";
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    for (int i = 0; i < 2; i++) { // the second time from the cache
        CU_ASSERT_EQUAL(d->cuModuleLoadDataEx(&second, broken, 2, options, values),
                        CUDA_ERROR_INVALID_PTX);
        const lg_diags *diags = lg_driver_sim_load_diags();
        CU_ASSERT_TRUE_FATAL(diags->n_errors >= 1);
        CU_ASSERT_EQUAL(diags->items[0].line, 7);
        CU_ASSERT_PTR_NOT_NULL(strstr(log, "nonsense"));
        CU_ASSERT_EQUAL((uintptr_t)values[1], strlen(log));
        values[1] = (void *)(uintptr_t)sizeof log;
        *log = '\0';
    }
    char tiny[4] = "abc";
    void *tiny_values[] = {tiny, (void *)(uintptr_t)sizeof tiny};
    CU_ASSERT_EQUAL(d->cuModuleLoadDataEx(&second, broken, 2, options, tiny_values),
                    CUDA_ERROR_INVALID_PTX);
    CU_ASSERT_EQUAL(strlen(tiny), 3);
    CU_ASSERT_EQUAL(d->cuModuleLoadDataEx(&second, fixture_ptx, 0, NULL, NULL), 0);
    CU_ASSERT_EQUAL(lg_driver_sim_load_diags()->n, 0);
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

static void test_log(void) {
    fixture f;
    set_up(&f);
    const lg_driver *d = f.driver;
    for (uint32_t i = 1; i <= 3; i++) {
        CU_ASSERT_EQUAL(launch(&f, "say", 1, i, f.data, i == 2 ? NULL : f.stream), 0);
    }
    char *log = d->take_log();
    CU_ASSERT_STRING_EQUAL(log, ""); // nothing has run
    free(log);
    CU_ASSERT_EQUAL(launch(&f, "fail_assert", 2, 0, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(launch(&f, "say", 1, 4, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(d->cuCtxSynchronize(), CUDA_ERROR_ASSERT);
    log = d->take_log();
    CU_ASSERT_STRING_EQUAL(
        log, "say 1\nsay 2\nsay 3\n"
             "k.cu:12: f: block: [0,0,0], thread: [0,0,0] Assertion `n > 0` failed.\n"
             "k.cu:12: f: block: [0,0,0], thread: [1,0,0] Assertion `n > 0` failed.\n");
    free(log);
    log = d->take_log();
    CU_ASSERT_STRING_EQUAL(log, "");
    free(log);
    tear_down(&f);
    log = d->take_log(); // without a context
    CU_ASSERT_STRING_EQUAL(log, "");
    free(log);
    CU_ASSERT_FALSE(d->fault().present);
    CU_ASSERT_FALSE(d->set_launch_blocking(true));
}

static void test_fault_address(void) {
    fixture f;
    set_up(&f);
    CU_ASSERT_EQUAL(launch(&f, "fail_illegal", 1, 0, f.data, f.stream), 0);
    CU_ASSERT_EQUAL(f.driver->cuStreamQuery(f.stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    lg_device_fault fault = f.driver->fault();
    CU_ASSERT_EQUAL(fault.address, f.data + DATA_BYTES);
    CU_ASSERT_EQUAL(fault.bytes, 4);
    CU_ASSERT_EQUAL(fault.nearest_base, f.data);
    CU_ASSERT_EQUAL(fault.nearest_bytes, DATA_BYTES);
    CU_ASSERT_EQUAL(fault.distance, 1);
    CU_ASSERT_STRING_EQUAL(fault.kind, "write out of bounds");
    tear_down(&f);
}

static void test_environment(void) {
    const struct {
        const char *value; // NULL: unset
        CUresult at_launch;
    } settings[] = {{NULL, CUDA_SUCCESS}, {"0", CUDA_SUCCESS}, {"1", CUDA_ERROR_LAUNCH_FAILED}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].value) {
            setenv("CUDA_LAUNCH_BLOCKING", settings[i].value, 1);
        } else {
            unsetenv("CUDA_LAUNCH_BLOCKING");
        }
        fixture f;
        set_up(&f);
        CU_ASSERT_EQUAL(launch(&f, "fail_trap", 1, 0, f.data, f.stream), settings[i].at_launch);
        CU_ASSERT_EQUAL(f.driver->cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
        tear_down(&f);
    }
    unsetenv("CUDA_LAUNCH_BLOCKING");
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

enum { N_THREADS = 4, N_ROUNDS = 10 };

// Contexts of its own, one after another, each with a fault at its end.
static void *work(void *memory) {
    int *n_right = memory;
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        const lg_driver *d = lg_driver_sim();
        fixture f = {.driver = d};
        uint32_t word = 0;
        CUfunction function;
        bool ok = !d->cuCtxCreate(&f.context, 0, 0) &&
                  !d->cuModuleLoadDataEx(&f.module, fixture_ptx, 0, NULL, NULL) &&
                  !d->cuMemAlloc(&f.data, DATA_BYTES);
        void *params[] = {&f.data, &round};
        ok = ok && !d->cuModuleGetFunction(&function, f.module, "store") &&
             !d->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL) &&
             !d->cuMemcpyDtoH(&word, f.data, 4) && word == round &&
             !d->cuModuleGetFunction(&function, f.module, "fail_trap") &&
             !d->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL) &&
             d->cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED && !d->cuCtxDestroy(f.context);
        *n_right += ok;
    }
    return NULL;
}

static CUcontext shared_context;

static void *use_shared(void *memory) {
    int *n_right = memory;
    const lg_driver *d = lg_driver_sim();
    if (d->cuCtxSetCurrent(shared_context)) {
        return NULL;
    }
    for (uint32_t round = 0; round < N_ROUNDS; round++) {
        CUdeviceptr data;
        uint32_t word = round;
        uint32_t back = 0;
        *n_right += !d->cuMemAlloc(&data, 4) && !d->cuMemcpyHtoD(data, &word, 4) &&
                    !d->cuMemcpyDtoH(&back, data, 4) && back == word && !d->cuMemFree(data);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *)) {
    pthread_t threads[N_THREADS];
    int n_right[N_THREADS] = {0};
    for (int i = 0; i < N_THREADS; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, function, &n_right[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(n_right[i], N_ROUNDS);
    }
}

static void test_threads(void) {
    run_threads(work);
    fixture f;
    set_up(&f);
    shared_context = f.context;
    run_threads(use_shared);
    tear_down(&f);
}

// Without a GPU's driver this says so; with one the table is complete.
static void test_cuda(void) {
    lg_diags diags = {0};
    const lg_driver *cuda = lg_driver_cuda(&diags);
    if (cuda) {
        CU_ASSERT_STRING_EQUAL(cuda->name, "cuda");
        CU_ASSERT_FALSE(cuda->checks_accesses);
        CU_ASSERT_EQUAL(diags.n, 0);
#define LG_CU(name, params) LG_CHECK_ROW(#name, cuda->name != NULL);
        LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU
    } else {
        CU_ASSERT_EQUAL_FATAL(diags.n, 1);
        CU_ASSERT_EQUAL(diags.items[0].severity, LG_NOTE);
        CU_ASSERT_PTR_NOT_NULL(strstr(diags.items[0].message, "libcuda.so.1"));
    }
    lg_diags_free(&diags);
}

int main(void) {
    static const lg_test tests[] = {{"bad arguments", test_bad_arguments},
                                    {"packed parameters", test_packed_params},
                                    {"order of work", test_order},
                                    {"queries", test_queries},
                                    {"modules", test_modules},
                                    {"attributes", test_attributes},
                                    {"log", test_log},
                                    {"address of a fault", test_fault_address},
                                    {"environment", test_environment},
                                    {"error names", test_error_names},
                                    {"threads", test_threads},
                                    {"the real driver", test_cuda}};
    return lg_run_tests("engine/driver", tests, sizeof tests / sizeof *tests);
}
