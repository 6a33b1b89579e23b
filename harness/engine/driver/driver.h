// SPDX-License-Identifier: Apache-2.0
// The one device interface: a table of CUDA driver-API functions with the types of cu.h.
//
// lg_driver_sim() fills it with the embedded engine; lg_driver_cuda() from libcuda.so.1 by dlopen.
// The pipeline calls through the table only. Error behaviour is the driver's: errors of a kernel
// are asynchronous and sticky (see tests/unit/engine/driver/test_conformance.c for each call before
// and after each kind of error). The current context is per thread, as in the driver.
#ifndef LG_ENGINE_DRIVER_H
#define LG_ENGINE_DRIVER_H

#include "engine/driver/cu.h"
#include "model/device_fault.h"
#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>

// LG_CU(ret-less name, parameters): the functions of the table, CUresult each.
#define LG_DRIVER_FUNCTIONS(LG_CU)                                                                 \
    LG_CU(cuInit, (unsigned int flags))                                                            \
    LG_CU(cuDriverGetVersion, (int *version))                                                      \
    LG_CU(cuGetErrorName, (CUresult error, const char **name))                                     \
    LG_CU(cuGetErrorString, (CUresult error, const char **text))                                   \
    LG_CU(cuDeviceGetCount, (int *count))                                                          \
    LG_CU(cuDeviceGet, (CUdevice * device, int ordinal))                                           \
    LG_CU(cuDeviceGetName, (char *name, int n, CUdevice device))                                   \
    LG_CU(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device))       \
    LG_CU(cuCtxCreate, (CUcontext * context, unsigned int flags, CUdevice device))                 \
    LG_CU(cuCtxDestroy, (CUcontext context))                                                       \
    LG_CU(cuCtxSetCurrent, (CUcontext context))                                                    \
    LG_CU(cuCtxGetCurrent, (CUcontext * context))                                                  \
    LG_CU(cuCtxSynchronize, (void))                                                                \
    LG_CU(cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned int n_options,       \
                               CUjit_option *options, void **values))                              \
    LG_CU(cuModuleUnload, (CUmodule module))                                                       \
    LG_CU(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))         \
    LG_CU(cuModuleGetGlobal,                                                                       \
          (CUdeviceptr * address, size_t * bytes, CUmodule module, const char *name))              \
    LG_CU(cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function))   \
    LG_CU(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value))    \
    LG_CU(cuFuncGetParamInfo,                                                                      \
          (CUfunction function, size_t index, size_t * offset, size_t * bytes))                    \
    LG_CU(cuMemAlloc, (CUdeviceptr * address, size_t bytes))                                       \
    LG_CU(cuMemFree, (CUdeviceptr address))                                                        \
    LG_CU(cuMemGetInfo, (size_t * free_bytes, size_t * total_bytes))                               \
    LG_CU(cuMemcpyHtoD, (CUdeviceptr to, const void *from, size_t bytes))                          \
    LG_CU(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes))                                \
    LG_CU(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                          \
    LG_CU(cuMemcpyHtoDAsync, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))    \
    LG_CU(cuMemcpyDtoHAsync, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))          \
    LG_CU(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t bytes))                         \
    LG_CU(cuMemsetD32, (CUdeviceptr to, unsigned int value, size_t n))                             \
    LG_CU(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))   \
    LG_CU(cuMemHostAlloc, (void **memory, size_t bytes, unsigned int flags))                       \
    LG_CU(cuMemFreeHost, (void *memory))                                                           \
    LG_CU(cuMemHostGetDevicePointer, (CUdeviceptr * address, void *memory, unsigned int flags))    \
    LG_CU(cuMemGetAllocationGranularity, (size_t * granularity, const CUmemAllocationProp *prop,   \
                                          CUmemAllocationGranularity_flags option))                \
    LG_CU(cuMemAddressReserve, (CUdeviceptr * address, size_t bytes, size_t alignment,             \
                                CUdeviceptr fixed, unsigned long long flags))                      \
    LG_CU(cuMemAddressFree, (CUdeviceptr address, size_t bytes))                                   \
    LG_CU(cuMemCreate, (CUmemGenericAllocationHandle * handle, size_t bytes,                       \
                        const CUmemAllocationProp *prop, unsigned long long flags))                \
    LG_CU(cuMemRelease, (CUmemGenericAllocationHandle handle))                                     \
    LG_CU(cuMemMap, (CUdeviceptr address, size_t bytes, size_t offset,                             \
                     CUmemGenericAllocationHandle handle, unsigned long long flags))               \
    LG_CU(cuMemUnmap, (CUdeviceptr address, size_t bytes))                                         \
    LG_CU(cuMemSetAccess,                                                                          \
          (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t n))            \
    LG_CU(cuStreamCreate, (CUstream * stream, unsigned int flags))                                 \
    LG_CU(cuStreamDestroy, (CUstream stream))                                                      \
    LG_CU(cuStreamSynchronize, (CUstream stream))                                                  \
    LG_CU(cuStreamQuery, (CUstream stream))                                                        \
    LG_CU(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))                 \
    LG_CU(cuEventCreate, (CUevent * event, unsigned int flags))                                    \
    LG_CU(cuEventDestroy, (CUevent event))                                                         \
    LG_CU(cuEventRecord, (CUevent event, CUstream stream))                                         \
    LG_CU(cuEventSynchronize, (CUevent event))                                                     \
    LG_CU(cuEventQuery, (CUevent event))                                                           \
    LG_CU(cuEventElapsedTime, (float *ms, CUevent start, CUevent end))                             \
    LG_CU(cuLaunchKernel,                                                                          \
          (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,     \
           unsigned int block_x, unsigned int block_y, unsigned int block_z,                       \
           unsigned int shared_bytes, CUstream stream, void **params, void **extra))

// What a device can tell beyond the driver API. On CUDA these return nothing known.
typedef struct lg_device_fault {
    bool present;
    CUresult error;
    lg_device_fault_kind kind;
    bool write;        // of an access
    const char *entry; // kernel that failed
    uint64_t launch;   // number of the launch within the context, from 0
    uint64_t address;
    int64_t bytes;
    uint64_t nearest_base; // nearest allocation: base and size; 0 when none
    uint64_t nearest_bytes;
    int64_t distance; // past its end (> 0), before its start (< 0), 0 inside
    const char *file; // kernel source by -lineinfo, or NULL
    int line;
    uint32_t block[3];
    uint32_t thread[3];
    const char *text; // one line
} lg_device_fault;

// Sanitizers beyond the bounds checks, bits for set_checks; what each finds is in engine/sim/sim.h.
typedef enum lg_device_check {
    LG_DEVICE_CHECK_INIT = 1, // reads of global memory never written
    LG_DEVICE_CHECK_RACE = 2, // races on shared and global memory
} lg_device_check;

typedef struct lg_driver {
    const char *name; // "sim" | "cuda"
    // Each access of a kernel is checked against its allocation, so that allocations of the exact
    // size need no fences. Otherwise the caller puts fences around its buffers.
    bool checks_accesses;
#define LG_CU(name, params) CUresult(*name) params;
    LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU
    // Queued launches and copies run when a call waits for them. Waiting, and so telling the errors
    // of earlier work: cuCtxSynchronize, cuStreamSynchronize, cuStreamQuery, cuEventSynchronize,
    // cuEventQuery, cuMemcpyHtoD, cuMemcpyDtoH, cuMemFree, cuMemFreeHost; and cuLaunchKernel when
    // launches are blocking.
    //
    // Blocking launches for the calling thread's current context: what CUDA_LAUNCH_BLOCKING=1 does.
    // On CUDA it is the environment variable, read once at cuInit: returns false when it cannot.
    bool (*set_launch_blocking)(bool blocking);
    // Moves what kernels printed (printf and assert lines, in order) since the last call to a
    // malloc'd string the caller frees. Works on a dead context too. On CUDA: "".
    char *(*take_log)(void);
    // The first fault of the current context that ended a launch, or else the first sanitizer
    // finding
    // (`error` is then 0); `present` is false when there was neither. Strings live until the
    // context is destroyed.
    lg_device_fault (*fault)(void);
    // Instructions a launch may execute in total (warp instructions) before 702; sim only.
    void (*set_budget)(uint64_t warp_instructions);
    // lg_device_check bits for the current context; sim only.
    void (*set_checks)(unsigned checks);
    // Whether a kernel makes a pointer to global memory of its parameter, which tells it from an
    // integer of the same size; false when it does not, or takes it in a way that is not looked at.
    // NULL on CUDA, where nobody can say.
    bool (*takes_pointer)(CUfunction function, int parameter);
    // What the last cuModuleLoadDataEx of this thread that failed found in the PTX, with lines.
    // NULL on CUDA: there is the driver's log, and its compiler resolves names in debug sections.
    const lg_diags *(*load_diags)(void);
    // Seeds the order in which blocks and warps of later launches run in the current context; 0: in
    // order; sim only.
    void (*set_schedule)(uint64_t seed);
} lg_driver;

// The embedded engine. Static storage; any thread.
const lg_driver *lg_driver_sim(void);
// The real driver; NULL with a note in `diags` when libcuda.so.1 or a function is missing.
const lg_driver *lg_driver_cuda(lg_diags *diags);

#endif
