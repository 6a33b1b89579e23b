// SPDX-License-Identifier: Apache-2.0
// The real driver behind the same table. Nothing of CUDA is linked: the library is opened when
// asked for, each function by the name of the version whose signature the table has.
#include "engine/driver/driver.h"

#include "support/alloc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char library_name[] = "libcuda.so.1";

// A function whose exported name is not the plain one. The driver keeps the old names for old
// programs, with 32-bit sizes behind some of them.
static const struct versioned_name {
    const char *name;
    const char *exported;
} versioned_names[] = {
    {"cuCtxCreate", "cuCtxCreate_v2"}, // three parameters, as in the table; _v4 has four
    {"cuCtxDestroy", "cuCtxDestroy_v2"},
    {"cuModuleGetGlobal", "cuModuleGetGlobal_v2"},
    {"cuMemAlloc", "cuMemAlloc_v2"},
    {"cuMemFree", "cuMemFree_v2"},
    {"cuMemGetInfo", "cuMemGetInfo_v2"},
    {"cuMemcpyHtoD", "cuMemcpyHtoD_v2"},
    {"cuMemcpyDtoH", "cuMemcpyDtoH_v2"},
    {"cuMemcpyDtoD", "cuMemcpyDtoD_v2"},
    {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2"},
    {"cuMemsetD8", "cuMemsetD8_v2"},
    {"cuMemsetD32", "cuMemsetD32_v2"},
    {"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2"},
    {"cuStreamDestroy", "cuStreamDestroy_v2"},
    {"cuEventDestroy", "cuEventDestroy_v2"},
};

static const char *exported_name(const char *name) {
    for (size_t i = 0; i < sizeof versioned_names / sizeof *versioned_names; i++) {
        if (strcmp(versioned_names[i].name, name) == 0) {
            return versioned_names[i].exported;
        }
    }
    return name;
}

// Filled once a process, const afterwards: the table's functions have no room for a handle of the
// library, and a loaded driver cannot be unloaded safely.
static struct {
    pthread_once_t once;
    lg_driver driver;
    bool ok;
    char *problem;
} cuda = {.once = PTHREAD_ONCE_INIT};

// CUDA_LAUNCH_BLOCKING is read when the driver initialises. cuInit goes through here to know when
// that was; the lock orders it with set_launch_blocking.
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool init_called;
static CUresult (*real_init)(unsigned int flags);

static CUresult init(unsigned int flags) {
    pthread_mutex_lock(&init_lock);
    init_called = true;
    CUresult result = real_init(flags);
    pthread_mutex_unlock(&init_lock);
    return result;
}

static bool environment_blocks(void) {
    const char *text = getenv("CUDA_LAUNCH_BLOCKING");
    return text && *text && strcmp(text, "0") != 0;
}

// After cuInit it can only say whether the process happens to be in the mode that is asked for.
static bool set_launch_blocking(bool blocking) {
    pthread_mutex_lock(&init_lock);
    bool ok = init_called ? environment_blocks() == blocking
                          : setenv("CUDA_LAUNCH_BLOCKING", blocking ? "1" : "0", 1) == 0;
    pthread_mutex_unlock(&init_lock);
    return ok;
}

static char *take_log(void) {
    return lg_xstrdup("");
}

static lg_device_fault get_fault(void) {
    return (lg_device_fault){0};
}

static void set_budget(uint64_t warp_instructions) {
    (void)warp_instructions; // a GPU has a watchdog, or the caller a deadline
}

static void set_checks(unsigned checks) {
    (void)checks;
}

static void set_schedule(uint64_t seed) {
    (void)seed; // the hardware has an order of its own
}

static bool load_function(void *library, const char *name, void *slot) {
    void *symbol = dlsym(library, exported_name(name));
    if (!symbol) {
        char *before = cuda.problem;
        cuda.problem =
            lg_xasprintf("%s%s%s", before ? before : "", before ? ", " : "", exported_name(name));
        free(before);
        return false;
    }
    memcpy(slot, &symbol, sizeof symbol); // ISO C has no cast from void * to a function
    return true;
}

static void load_driver(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        cuda.problem = lg_xasprintf("no CUDA driver: %s", why ? why : library_name);
        return;
    }
    cuda.driver = (lg_driver){.name = "cuda",
                              .checks_accesses = false,
                              .set_launch_blocking = set_launch_blocking,
                              .take_log = take_log,
                              .fault = get_fault,
                              .set_budget = set_budget,
                              .set_checks = set_checks,
                              .set_schedule = set_schedule};
    bool ok = true;
#define LG_CU(name, params) ok &= load_function(library, #name, &cuda.driver.name);
    LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU
    if (!ok) {
        char *missing = cuda.problem;
        cuda.problem = lg_xasprintf("%s has no %s; a driver of CUDA 12.4 or later has all of them",
                                    library_name, missing);
        free(missing);
        dlclose(library);
        return;
    }
    real_init = cuda.driver.cuInit;
    cuda.driver.cuInit = init;
    cuda.ok = true;
}

const lg_driver *lg_driver_cuda(lg_diags *diags) {
    pthread_once(&cuda.once, load_driver);
    if (!cuda.ok) {
        lg_diags_add(diags, LG_NOTE, (lg_loc){0}, NULL, "%s", cuda.problem);
        return NULL;
    }
    return &cuda.driver;
}
