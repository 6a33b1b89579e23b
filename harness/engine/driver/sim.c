// SPDX-License-Identifier: Apache-2.0
// The table over the engine, what the device says of itself, and what it can tell beyond the driver
// API.
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct error_text {
    CUresult error;
    const char *name;
    const char *text;
} error_text;

static const error_text errors[] = {
#define LG_CU_ERROR(id, value, text) {id, #id, text},
#include "engine/driver/cu_errors.def"
#undef LG_CU_ERROR
};

static const error_text *find_error(CUresult error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].error == error) {
            return &errors[i];
        }
    }
    return NULL;
}

CUresult lg_simdrv_cuGetErrorName(CUresult error, const char **name) {
    if (!name) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const error_text *found = find_error(error);
    *name = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult lg_simdrv_cuGetErrorString(CUresult error, const char **text) {
    if (!text) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const error_text *found = find_error(error);
    *text = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult lg_simdrv_cuDriverGetVersion(int *version) {
    if (!version) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = LG_CU_VERSION;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuDeviceGetCount(int *count) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuDeviceGet(CUdevice *device, int ordinal) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!device) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (ordinal != 0) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuDeviceGetName(char *name, int n, CUdevice device) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!name || n <= 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (device != 0) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    snprintf(name, (size_t)n, "lossgate embedded device (%s)", lg_sim_isa());
    return CUDA_SUCCESS;
}

typedef struct device_attribute {
    CUdevice_attribute attribute;
    int value;
} device_attribute;

static const device_attribute attributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, LG_SIMDRV_MAX_THREADS},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, INT32_MAX},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, LG_SIMDRV_MAX_SHARED},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, LG_SIMDRV_MAX_SHARED_OPTIN},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, LG_SIMDRV_MAX_SHARED_OPTIN},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, 1}, // the budget of instructions
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, LG_SIMDRV_MAX_THREADS},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 0},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, LG_SIMDRV_CAPABILITY / 10},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, LG_SIMDRV_CAPABILITY % 10},
};

CUresult lg_simdrv_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!value || (int)attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (device != 0) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *value = 0; // whatever is not in the table, the device does not have
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (attributes[i].attribute == attribute) {
            *value = attributes[i].value;
        }
    }
    return CUDA_SUCCESS;
}

static bool set_launch_blocking(bool blocking) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) != CUDA_SUCCESS) {
        return false;
    }
    context->blocking = blocking;
    lg_simdrv_leave(context, CUDA_SUCCESS);
    return true;
}

static char *take_log(void) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) != CUDA_SUCCESS) {
        return lg_xstrdup("");
    }
    char *log = context->log.text ? lg_str_take(&context->log) : lg_xstrdup("");
    lg_simdrv_leave(context, CUDA_SUCCESS);
    return log;
}

static lg_device_fault get_fault(void) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) != CUDA_SUCCESS) {
        return (lg_device_fault){0};
    }
    lg_device_fault fault = context->fault;
    lg_simdrv_leave(context, CUDA_SUCCESS);
    return fault;
}

static void set_budget(uint64_t warp_instructions) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) == CUDA_SUCCESS) {
        context->budget = warp_instructions;
        lg_simdrv_leave(context, CUDA_SUCCESS);
    }
}

_Static_assert((int)LG_DEVICE_CHECK_INIT == (int)LG_SIM_CHECK_INIT &&
                   (int)LG_DEVICE_CHECK_RACE == (int)LG_SIM_CHECK_RACE,
               "the driver hands its bits to the engine as they are");

static void set_checks(unsigned checks) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) == CUDA_SUCCESS) {
        context->checks = checks;
        lg_simdrv_leave(context, CUDA_SUCCESS);
    }
}

static void set_schedule(uint64_t seed) {
    lg_simdrv_context *context;
    if (lg_simdrv_enter_any(&context) == CUDA_SUCCESS) {
        context->schedule = seed;
        lg_simdrv_leave(context, CUDA_SUCCESS);
    }
}

static const lg_driver driver = {
    .name = "sim",
    .checks_accesses = true,
    .takes_pointer = lg_simdrv_takes_pointer,
    .load_diags = lg_simdrv_load_diags,
#define LG_CU(name, params) .name = lg_simdrv_##name,
    LG_DRIVER_FUNCTIONS(LG_CU)
#undef LG_CU
        .set_launch_blocking = set_launch_blocking,
    .take_log = take_log,
    .fault = get_fault,
    .set_budget = set_budget,
    .set_checks = set_checks,
    .set_schedule = set_schedule,
};

const lg_driver *lg_driver_sim(void) {
    return &driver;
}
