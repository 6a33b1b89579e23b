// SPDX-License-Identifier: Apache-2.0
// The types, handles and constants of the CUDA driver API that the device table has, so that
// nothing of a toolkit is needed to build. They are what the driver library takes and gives on
// 64-bit Linux; where a toolkit is found, a test compares each with its cuda.h.
//
// The API's enums are 4 bytes and grow with each version, so any number may come back: CUresult is
// an enum of the codes known here, the others are plain numbers.
#ifndef LG_ENGINE_DRIVER_CU_H
#define LG_ENGINE_DRIVER_CU_H

#include <stdint.h>

enum { LG_CU_VERSION = 13000 }; // of the API: 1000 * major + 10 * minor

typedef enum CUresult {
#define LG_CU_ERROR(id, value, text) id = (value),
#include "engine/driver/cu_errors.def"
#undef LG_CU_ERROR
} CUresult;

enum {
#define LG_CU_VALUE(name, value) name = (value),
#define LG_CU_LATEST(name, value) name = (value),
#include "engine/driver/cu_values.def"
#undef LG_CU_VALUE
#undef LG_CU_LATEST
};

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

typedef unsigned int CUdevice_attribute;
typedef unsigned int CUfunction_attribute;
typedef unsigned int CUjit_option;
typedef unsigned int CUmemAllocationGranularity_flags;

// Streams that are no object.
#define CU_STREAM_LEGACY ((CUstream)(uintptr_t)1)
#define CU_STREAM_PER_THREAD ((CUstream)(uintptr_t)2)

// Keys of `extra` of cuLaunchKernel.
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)(uintptr_t)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)(uintptr_t)2)

typedef struct CUmemLocation {
    unsigned int type; // CU_MEM_LOCATION_TYPE_…
    int id;
} CUmemLocation;

typedef struct CUmemAllocationProp {
    unsigned int type; // CU_MEM_ALLOCATION_TYPE_…
    unsigned int requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc {
    CUmemLocation location;
    unsigned int flags; // CU_MEM_ACCESS_FLAGS_…
} CUmemAccessDesc;

#endif
