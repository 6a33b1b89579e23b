// SPDX-License-Identifier: Apache-2.0
// What a header says of the driver API, as numbers that can be compared: included once after ours
// and once after the toolkit's, in files of their own.
#ifndef LG_TESTS_ENGINE_DRIVER_CU_TABLE_H
#define LG_TESTS_ENGINE_DRIVER_CU_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct cu_fact {
    const char *name;
    long long value;
} cu_fact;

extern const cu_fact cu_ours[], cu_theirs[];
extern const size_t cu_n_ours, cu_n_theirs;

#define CU_FACT(expression) {#expression, (long long)(expression)},
#define CU_POINTER(expression) {#expression, (long long)(intptr_t)(expression)},
#define CU_SIZES(type) {"sizeof " #type, (long long)sizeof(type)},
#define CU_OFFSET(type, member)                                                                    \
    {#type "." #member, (long long)(offsetof(type, member) * 64 + sizeof(((type *)0)->member))},
#define CU_SIGN(type) {"sign of " #type, (long long)((type)-1 / 2)}, // -1 / 2 is 0

#define LG_CU_ERROR(id, value, text) CU_FACT(id)
#define LG_CU_VALUE(name, value) CU_FACT(name)
#define CU_FACTS                                                                                   \
    CU_POINTER(CU_STREAM_LEGACY)                                                                   \
    CU_POINTER(CU_STREAM_PER_THREAD)                                                               \
    CU_POINTER(CU_LAUNCH_PARAM_END)                                                                \
    CU_POINTER(CU_LAUNCH_PARAM_BUFFER_POINTER)                                                     \
    CU_POINTER(CU_LAUNCH_PARAM_BUFFER_SIZE)                                                        \
    CU_SIZES(CUresult)                                                                             \
    CU_SIZES(CUdevice)                                                                             \
    CU_SIGN(CUdevice)                                                                              \
    CU_SIZES(CUdeviceptr)                                                                          \
    CU_SIGN(CUdeviceptr)                                                                           \
    CU_SIZES(CUmemGenericAllocationHandle)                                                         \
    CU_SIGN(CUmemGenericAllocationHandle)                                                          \
    CU_SIZES(CUcontext)                                                                            \
    CU_SIZES(CUmodule)                                                                             \
    CU_SIZES(CUfunction)                                                                           \
    CU_SIZES(CUstream)                                                                             \
    CU_SIZES(CUevent)                                                                              \
    CU_SIZES(CUdevice_attribute)                                                                   \
    CU_SIZES(CUfunction_attribute)                                                                 \
    CU_SIZES(CUjit_option)                                                                         \
    CU_SIZES(CUmemAllocationGranularity_flags)                                                     \
    CU_SIZES(CUmemLocation)                                                                        \
    CU_OFFSET(CUmemLocation, type)                                                                 \
    CU_OFFSET(CUmemLocation, id)                                                                   \
    CU_SIZES(CUmemAllocationProp)                                                                  \
    CU_OFFSET(CUmemAllocationProp, type)                                                           \
    CU_OFFSET(CUmemAllocationProp, requestedHandleTypes)                                           \
    CU_OFFSET(CUmemAllocationProp, location)                                                       \
    CU_OFFSET(CUmemAllocationProp, win32HandleMetaData)                                            \
    CU_OFFSET(CUmemAllocationProp, allocFlags)                                                     \
    CU_OFFSET(CUmemAllocationProp, allocFlags.usage)                                               \
    CU_SIZES(CUmemAccessDesc)                                                                      \
    CU_OFFSET(CUmemAccessDesc, location)                                                           \
    CU_OFFSET(CUmemAccessDesc, flags)

#endif
