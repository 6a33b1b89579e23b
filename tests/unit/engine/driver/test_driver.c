// SPDX-License-Identifier: Apache-2.0
// Beyond the table of test_conformance.c: order and laziness of work, events, modules, logs,
// faults, and contexts on several threads.
#include "unit/engine/driver/fixture.h"

#include <pthread.h>
#include <stdlib.h>

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
        const lg_diags *diags = lg_driver_sim()->load_diags();
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
    CU_ASSERT_EQUAL(lg_driver_sim()->load_diags()->n, 0);
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
    CU_ASSERT_TRUE(fault.kind == LG_DEVICE_FAULT_OUT_OF_BOUNDS && fault.write);
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
    static const lg_test tests[] = {

        {"order of work", test_order},
        {"queries", test_queries},
        {"modules", test_modules},
        {"log", test_log},
        {"address of a fault", test_fault_address},
        {"environment", test_environment},
        {"threads", test_threads},
        {"the real driver", test_cuda}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
