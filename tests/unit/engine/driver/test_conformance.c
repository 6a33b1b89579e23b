// SPDX-License-Identifier: Apache-2.0
// What each function of the table returns: before cuInit, without a context, with a healthy one, in
// one that another thread destroyed, and before and after each kind of error has surfaced; launches
// blocking and not.
#include "unit/engine/driver/fixture.h"

#include <pthread.h>

// What a call needs, and so what it returns where that is missing.
typedef enum need { NEEDS_NOTHING, NEEDS_INIT, NEEDS_CONTEXT } need;

// Does it wait for work in flight, and so tell its errors?
typedef enum wait { PASSES, WAITS } wait;

typedef struct call_row {
    const char *name;
    CUresult (*call)(const lg_driver *d, fixture *f);
    need need;
    wait wait;
} call_row;

static char text_buffer[DATA_BYTES];

// A call is made with the fixture's objects, so that in a healthy context it succeeds.
#define CALL(name, ...)                                                                            \
    static CUresult call_##name(const lg_driver *d, fixture *f) {                                  \
        (void)f;                                                                                   \
        __VA_ARGS__                                                                                \
    }

CALL(cuInit, return d->cuInit(0);)
CALL(cuDriverGetVersion, int version; return d->cuDriverGetVersion(&version);)
CALL(cuGetErrorName, const char *name; return d->cuGetErrorName(CUDA_ERROR_ASSERT, &name);)
CALL(cuGetErrorString, const char *text; return d->cuGetErrorString(CUDA_ERROR_ASSERT, &text);)
CALL(cuDeviceGetCount, int count; return d->cuDeviceGetCount(&count);)
CALL(cuDeviceGet, CUdevice device; return d->cuDeviceGet(&device, 0);)
CALL(cuDeviceGetName, return d->cuDeviceGetName(text_buffer, sizeof text_buffer, 0);)
CALL(cuDeviceGetAttribute, int value;
     return d->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);)
CALL(
    cuCtxCreate, CUcontext context; CUresult result = d->cuCtxCreate(&context, 0, 0); if (!result) {
        d->cuCtxDestroy(context);
        d->cuCtxSetCurrent(f->context);
    } return result;)
CALL(cuCtxDestroy, CUcontext context = f->context; f->context = NULL;
     return d->cuCtxDestroy(context);)
CALL(cuCtxSetCurrent, return d->cuCtxSetCurrent(f->context);)
CALL(cuCtxGetCurrent, CUcontext context; return d->cuCtxGetCurrent(&context);)
CALL(cuCtxSynchronize, return d->cuCtxSynchronize();)
CALL(cuModuleLoadDataEx, CUmodule module;
     return d->cuModuleLoadDataEx(&module, fixture_ptx, 0, NULL, NULL);)
CALL(cuModuleUnload, return d->cuModuleUnload(f->module);)
CALL(cuModuleGetFunction, CUfunction function;
     return d->cuModuleGetFunction(&function, f->module, "store");)
CALL(cuModuleGetGlobal, CUdeviceptr address; size_t bytes;
     return d->cuModuleGetGlobal(&address, &bytes, f->module, "counter");)
CALL(cuFuncGetAttribute, int value;
     return d->cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, f->store);)
CALL(cuFuncSetAttribute,
     return d->cuFuncSetAttribute(f->store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64);)
CALL(cuFuncGetParamInfo, size_t offset; size_t bytes;
     return d->cuFuncGetParamInfo(f->store, 0, &offset, &bytes);)
CALL(cuMemAlloc, CUdeviceptr address; return d->cuMemAlloc(&address, 64);)
CALL(cuMemFree, return d->cuMemFree(f->data);)
CALL(cuMemGetInfo, size_t a; size_t b; return d->cuMemGetInfo(&a, &b);)
CALL(cuMemcpyHtoD, return d->cuMemcpyHtoD(f->data, text_buffer, DATA_BYTES);)
CALL(cuMemcpyDtoH, return d->cuMemcpyDtoH(text_buffer, f->data, DATA_BYTES);)
CALL(cuMemcpyDtoD, return d->cuMemcpyDtoD(f->data, f->data + 128, 128);)
CALL(cuMemcpyHtoDAsync, return d->cuMemcpyHtoDAsync(f->data, text_buffer, DATA_BYTES, f->stream);)
CALL(cuMemcpyDtoHAsync, return d->cuMemcpyDtoHAsync(text_buffer, f->data, DATA_BYTES, f->stream);)
CALL(cuMemsetD8, return d->cuMemsetD8(f->data, 1, DATA_BYTES);)
CALL(cuMemsetD32, return d->cuMemsetD32(f->data, 1, DATA_BYTES / 4);)
CALL(cuMemsetD8Async, return d->cuMemsetD8Async(f->data, 1, DATA_BYTES, f->stream);)
CALL(cuMemHostAlloc, void *memory; return d->cuMemHostAlloc(&memory, 64, 0);)
CALL(cuMemFreeHost, return d->cuMemFreeHost(f->host);)
CALL(cuMemHostGetDevicePointer, CUdeviceptr address;
     return d->cuMemHostGetDevicePointer(&address, f->host, 0);)
CALL(cuMemGetAllocationGranularity, size_t bytes;
     return d->cuMemGetAllocationGranularity(&bytes, &piece_kind,
                                             CU_MEM_ALLOC_GRANULARITY_MINIMUM);)
CALL(cuMemAddressReserve, CUdeviceptr address;
     return d->cuMemAddressReserve(&address, RANGE_BYTES, 0, 0, 0);)
CALL(cuMemAddressFree, return d->cuMemAddressFree(f->empty_range, RANGE_BYTES);)
CALL(cuMemCreate, CUmemGenericAllocationHandle handle;
     return d->cuMemCreate(&handle, PIECE_BYTES, &piece_kind, 0);)
CALL(cuMemRelease, return d->cuMemRelease(f->another);)
CALL(cuMemMap, return d->cuMemMap(f->empty_range, PIECE_BYTES, 0, f->another, 0);)
CALL(cuMemUnmap, return d->cuMemUnmap(f->range, PIECE_BYTES);)
CALL(cuMemSetAccess, return d->cuMemSetAccess(f->range, PIECE_BYTES, &piece_access, 1);)
CALL(cuStreamCreate, CUstream stream; return d->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);)
CALL(cuStreamDestroy, return d->cuStreamDestroy(f->stream);)
CALL(cuStreamSynchronize, return d->cuStreamSynchronize(f->stream);)
CALL(cuStreamQuery, return d->cuStreamQuery(f->stream);)
CALL(cuStreamWaitEvent, return d->cuStreamWaitEvent(f->stream, f->first, 0);)
CALL(cuEventCreate, CUevent event; return d->cuEventCreate(&event, 0);)
CALL(cuEventDestroy, return d->cuEventDestroy(f->first);)
CALL(cuEventRecord, return d->cuEventRecord(f->first, f->stream);)
CALL(cuEventSynchronize, return d->cuEventSynchronize(f->late);)
CALL(cuEventQuery, return d->cuEventQuery(f->late);)
CALL(cuEventElapsedTime, float ms; return d->cuEventElapsedTime(&ms, f->first, f->second);)
CALL(cuLaunchKernel, uint32_t value = 5; void *params[] = {&f->data, &value};
     return d->cuLaunchKernel(f->store, 1, 1, 1, 32, 1, 1, 0, f->stream, params, NULL);)

#define ROW(name, need, wait)                                                                      \
    { #name, call_##name, need, wait }

static const call_row rows[] = {
    ROW(cuInit, NEEDS_NOTHING, PASSES),
    ROW(cuDriverGetVersion, NEEDS_NOTHING, PASSES),
    ROW(cuGetErrorName, NEEDS_NOTHING, PASSES),
    ROW(cuGetErrorString, NEEDS_NOTHING, PASSES),
    ROW(cuDeviceGetCount, NEEDS_INIT, PASSES),
    ROW(cuDeviceGet, NEEDS_INIT, PASSES),
    ROW(cuDeviceGetName, NEEDS_INIT, PASSES),
    ROW(cuDeviceGetAttribute, NEEDS_INIT, PASSES),
    ROW(cuCtxCreate, NEEDS_INIT, PASSES),
    ROW(cuCtxDestroy, NEEDS_INIT, PASSES),
    ROW(cuCtxSetCurrent, NEEDS_INIT, PASSES),
    ROW(cuCtxGetCurrent, NEEDS_INIT, PASSES),
    ROW(cuCtxSynchronize, NEEDS_CONTEXT, WAITS),
    ROW(cuModuleLoadDataEx, NEEDS_CONTEXT, PASSES),
    ROW(cuModuleUnload, NEEDS_CONTEXT, PASSES),
    ROW(cuModuleGetFunction, NEEDS_CONTEXT, PASSES),
    ROW(cuModuleGetGlobal, NEEDS_CONTEXT, PASSES),
    ROW(cuFuncGetAttribute, NEEDS_CONTEXT, PASSES),
    ROW(cuFuncSetAttribute, NEEDS_CONTEXT, PASSES),
    ROW(cuFuncGetParamInfo, NEEDS_CONTEXT, PASSES),
    ROW(cuMemAlloc, NEEDS_CONTEXT, PASSES),
    ROW(cuMemFree, NEEDS_CONTEXT, WAITS),
    ROW(cuMemGetInfo, NEEDS_CONTEXT, PASSES),
    ROW(cuMemcpyHtoD, NEEDS_CONTEXT, WAITS),
    ROW(cuMemcpyDtoH, NEEDS_CONTEXT, WAITS),
    ROW(cuMemcpyDtoD, NEEDS_CONTEXT, PASSES),
    ROW(cuMemcpyHtoDAsync, NEEDS_CONTEXT, PASSES),
    ROW(cuMemcpyDtoHAsync, NEEDS_CONTEXT, PASSES),
    ROW(cuMemsetD8, NEEDS_CONTEXT, PASSES),
    ROW(cuMemsetD32, NEEDS_CONTEXT, PASSES),
    ROW(cuMemsetD8Async, NEEDS_CONTEXT, PASSES),
    ROW(cuMemHostAlloc, NEEDS_CONTEXT, PASSES),
    ROW(cuMemFreeHost, NEEDS_CONTEXT, WAITS),
    ROW(cuMemHostGetDevicePointer, NEEDS_CONTEXT, PASSES),
    ROW(cuMemGetAllocationGranularity, NEEDS_INIT, PASSES),
    ROW(cuMemAddressReserve, NEEDS_CONTEXT, PASSES),
    ROW(cuMemAddressFree, NEEDS_CONTEXT, PASSES),
    ROW(cuMemCreate, NEEDS_CONTEXT, PASSES),
    ROW(cuMemRelease, NEEDS_CONTEXT, PASSES),
    ROW(cuMemMap, NEEDS_CONTEXT, PASSES),
    ROW(cuMemUnmap, NEEDS_CONTEXT, WAITS),
    ROW(cuMemSetAccess, NEEDS_CONTEXT, PASSES),
    ROW(cuStreamCreate, NEEDS_CONTEXT, PASSES),
    ROW(cuStreamDestroy, NEEDS_CONTEXT, PASSES),
    ROW(cuStreamSynchronize, NEEDS_CONTEXT, WAITS),
    ROW(cuStreamQuery, NEEDS_CONTEXT, WAITS),
    ROW(cuStreamWaitEvent, NEEDS_CONTEXT, PASSES),
    ROW(cuEventCreate, NEEDS_CONTEXT, PASSES),
    ROW(cuEventDestroy, NEEDS_CONTEXT, PASSES),
    ROW(cuEventRecord, NEEDS_CONTEXT, PASSES),
    ROW(cuEventSynchronize, NEEDS_CONTEXT, WAITS),
    ROW(cuEventQuery, NEEDS_CONTEXT, WAITS),
    ROW(cuEventElapsedTime, NEEDS_CONTEXT, PASSES),
    ROW(cuLaunchKernel, NEEDS_CONTEXT, PASSES),
};
enum { N_ROWS = sizeof rows / sizeof *rows };

// A function that joins the table joins this test.
static void test_complete(void) {
    static const char *const functions[] = {
#define LG_CU(name, params) #name,
        LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU
    };
    CU_ASSERT_EQUAL(sizeof functions / sizeof *functions, N_ROWS);
    for (size_t i = 0; i < sizeof functions / sizeof *functions && i < N_ROWS; i++) {
        LG_CHECK_ROW(functions[i], strcmp(functions[i], rows[i].name) == 0);
    }
}

// Runs first: nothing in the process has called cuInit yet.
static void test_before_init(void) {
    const lg_driver *d = lg_driver_sim();
    for (int i = N_ROWS - 1; i >= 0; i--) { // cuInit last
        fixture nothing = {.driver = d};
        CUresult wanted = rows[i].need == NEEDS_NOTHING ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
        LG_CHECK_ROW(rows[i].name, rows[i].call(d, &nothing) == wanted);
    }
}

static void test_without_context(void) {
    fixture f;
    set_up(&f);
    CUcontext context = f.context;
    for (int i = 0; i < N_ROWS; i++) {
        CU_ASSERT_EQUAL_FATAL(f.driver->cuCtxSetCurrent(NULL), 0);
        bool takes_it = strcmp(rows[i].name, "cuCtxDestroy") == 0; // by its handle
        CUresult wanted = rows[i].need == NEEDS_CONTEXT ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
        LG_CHECK_ROW(rows[i].name, rows[i].call(f.driver, &f) == wanted);
        if (takes_it) {
            set_up(&f);
            context = f.context;
        }
        f.context = context;
    }
    tear_down(&f);
}

static void test_healthy(void) {
    for (int i = 0; i < N_ROWS; i++) {
        fixture f;
        set_up(&f);
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 1, f.data, f.stream), 0);
        CU_ASSERT_EQUAL(f.driver->cuEventRecord(f.late, f.stream), 0);
        CU_ASSERT_EQUAL(f.driver->cuCtxSynchronize(), 0);
        LG_CHECK_ROW(rows[i].name, rows[i].call(f.driver, &f) == CUDA_SUCCESS);
        if (f.context) {
            tear_down(&f);
        }
    }
}

static void *destroy_context(void *memory) {
    fixture *f = memory;
    CU_ASSERT_EQUAL(f->driver->cuCtxDestroy(f->context), 0);
    return NULL;
}

// Another thread destroys the context that is current here.
static void test_destroyed(void) {
    for (int i = 0; i < N_ROWS; i++) {
        fixture f;
        set_up(&f);
        pthread_t thread;
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, destroy_context, &f), 0);
        pthread_join(thread, NULL);
        bool by_handle = strcmp(rows[i].name, "cuCtxDestroy") == 0 ||
                         strcmp(rows[i].name, "cuCtxSetCurrent") == 0;
        CUresult wanted = by_handle                       ? CUDA_ERROR_INVALID_CONTEXT
                          : rows[i].need == NEEDS_CONTEXT ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                                                          : CUDA_SUCCESS;
        LG_CHECK_ROW(rows[i].name, rows[i].call(f.driver, &f) == wanted);
    }
    CU_ASSERT_EQUAL(lg_driver_sim()->cuCtxSetCurrent(NULL), 0);
}

// A context in which a kernel has failed and nobody has been reported yet.
static void set_up_pending(fixture *f, const ending *end) {
    set_up(f);
    f->driver->set_budget(TIMEOUT_BUDGET);
    LG_CHECK_ROW(end->name, launch(f, end->entry, 32, 1, f->data, f->stream) == CUDA_SUCCESS);
    CU_ASSERT_EQUAL(f->driver->cuEventRecord(f->late, f->stream), 0);
}

// Before it has surfaced: who waits is told, who does not succeeds, and is told at the next wait.
static void test_pending(void) {
    for (int e = 0; e < N_ENDINGS; e++) {
        for (int i = 0; i < N_ROWS; i++) {
            fixture f;
            set_up_pending(&f, &endings[e]);
            CUresult wanted = rows[i].wait == WAITS ? endings[e].error : CUDA_SUCCESS;
            CUresult got = rows[i].call(f.driver, &f);
            LG_CHECK_ROW(rows[i].name, got == wanted);
            if (f.context) {
                LG_CHECK_ROW(rows[i].name, f.driver->cuCtxSynchronize() == endings[e].error);
                LG_CHECK_ROW(rows[i].name, f.driver->cuCtxSynchronize() == endings[e].error);
                tear_down(&f);
            }
        }
    }
}

// After it has surfaced every call that needs the context returns it; a new context works.
static void test_dead(void) {
    for (int e = 0; e < N_ENDINGS; e++) {
        for (int i = 0; i < N_ROWS; i++) {
            fixture f;
            set_up_pending(&f, &endings[e]);
            CU_ASSERT_EQUAL(f.driver->cuStreamSynchronize(f.stream), endings[e].error);
            CUresult wanted = rows[i].need == NEEDS_CONTEXT ? endings[e].error : CUDA_SUCCESS;
            LG_CHECK_ROW(rows[i].name, rows[i].call(f.driver, &f) == wanted);
            LG_CHECK_ROW(rows[i].name, !f.context || rows[i].call(f.driver, &f) == wanted);
            if (f.context) {
                tear_down(&f);
            }
        }
        fixture f;
        set_up(&f);
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 9, f.data, f.stream), 0);
        CU_ASSERT_EQUAL(f.driver->cuCtxSynchronize(), 0);
        tear_down(&f);
    }
}

static void test_blocking(void) {
    for (int e = 0; e < N_ENDINGS; e++) {
        fixture f;
        set_up(&f);
        f.driver->set_budget(TIMEOUT_BUDGET);
        CU_ASSERT_TRUE(f.driver->set_launch_blocking(true));
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 3, f.data, f.stream), 0);
        void *params[] = {&f.data, &(uint32_t){0}};
        CUfunction failing = find_entry(&f, endings[e].entry);
        LG_CHECK_ROW(endings[e].name,
                     f.driver->cuLaunchKernel(failing, 1, 1, 1, 32, 1, 1, 0, f.stream, params,
                                              NULL) == endings[e].error);
        for (int i = 0; i < N_ROWS; i++) {
            if (rows[i].need == NEEDS_CONTEXT) {
                LG_CHECK_ROW(rows[i].name, rows[i].call(f.driver, &f) == endings[e].error);
            }
        }
        tear_down(&f);
    }
}

// Launches right behind the failing one succeed, and do not run.
static void test_queued_behind(void) {
    for (int e = 0; e < N_ENDINGS; e++) {
        fixture f;
        set_up(&f);
        f.driver->set_budget(TIMEOUT_BUDGET);
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 3, f.host_address, f.stream), 0);
        CU_ASSERT_EQUAL(launch(&f, endings[e].entry, 32, 3, f.data, f.stream), 0);
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 4, f.host_address, f.stream), 0);
        CU_ASSERT_EQUAL(launch(&f, "store", 32, 4, f.host_address, NULL), 0);
        LG_CHECK_ROW(endings[e].name, f.driver->cuCtxSynchronize() == endings[e].error);
        lg_device_fault fault = f.driver->fault();
        LG_CHECK_ROW(endings[e].name, fault.present && fault.error == endings[e].error);
        LG_CHECK_ROW(endings[e].name, fault.launch == 1);
        LG_CHECK_ROW(endings[e].name, strcmp(fault.entry, endings[e].entry) == 0);
        LG_CHECK_ROW(endings[e].name, fault.kind == endings[e].kind);
        LG_CHECK_ROW(endings[e].name, *fault.text != '\0');
        // Mapped host memory outlives the context's death, with what was written before it.
        uint32_t first;
        memcpy(&first, f.host, sizeof first);
        LG_CHECK_ROW(endings[e].name, first == 3);
        const char *name;
        CU_ASSERT_EQUAL(f.driver->cuGetErrorName(endings[e].error, &name), 0);
        CU_ASSERT_STRING_EQUAL(name, endings[e].error_name);
        tear_down(&f);
    }
}

int main(void) {
    static const lg_test tests[] = {{"before cuInit", test_before_init},
                                    {"every function has a row", test_complete},
                                    {"without a context", test_without_context},
                                    {"healthy", test_healthy},
                                    {"destroyed by another thread", test_destroyed},
                                    {"an error that has not surfaced", test_pending},
                                    {"an error that has surfaced", test_dead},
                                    {"blocking launches", test_blocking},
                                    {"queued behind a failing launch", test_queued_behind}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
