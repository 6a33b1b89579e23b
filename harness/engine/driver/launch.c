// SPDX-License-Identifier: Apache-2.0
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

static bool geometry_is_legal(const lg_sim_launch *launch) {
    const uint32_t *grid = launch->grid;
    const uint32_t *block = launch->block;
    return grid[0] >= 1 && grid[0] <= INT32_MAX && grid[1] >= 1 && grid[1] <= 65535 &&
           grid[2] >= 1 && grid[2] <= 65535 && block[0] >= 1 && block[0] <= 1024 && block[1] >= 1 &&
           block[1] <= 1024 && block[2] >= 1 && block[2] <= 64 &&
           (uint64_t)block[0] * block[1] * block[2] <= LG_SIMDRV_MAX_THREADS;
}

static CUresult check_launch(const lg_simdrv_object *function, const lg_sim_launch *launch) {
    const lg_ptx_function *ptx = lg_simdrv_function(function);
    if (!geometry_is_legal(launch) ||
        launch->shared_bytes > function->function.max_dynamic_shared) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (lg_simdrv_static_shared(function) + launch->shared_bytes > LG_SIMDRV_MAX_SHARED_OPTIN) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (int i = 0; ptx->req_threads[0] && i < 3; i++) {
        uint32_t required = ptx->req_threads[i] ? ptx->req_threads[i] : 1;
        if (launch->block[i] != required) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (threads > lg_simdrv_max_threads(function) || ptx->local_bytes > LG_SIMDRV_MAX_LOCAL) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    return CUDA_SUCCESS;
}

// The parameter block, from one pointer a parameter or from the caller's packed buffer.
static CUresult pack_params(const lg_ptx_function *ptx, void **params, void **extra,
                            unsigned char **out) {
    *out = NULL;
    if (params && extra) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (ptx->n_params == 0) {
        return CUDA_SUCCESS;
    }
    const unsigned char *packed = NULL;
    size_t packed_bytes = 0;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            packed = extra[1];
        } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            packed_bytes = *(const size_t *)extra[1];
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (!params && (!packed || packed_bytes < ptx->param_bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned char *block = lg_xcalloc(1, ptx->param_bytes);
    for (int i = 0; i < ptx->n_params; i++) {
        const lg_ptx_symbol *param = &ptx->symbols[ptx->n_returns + i];
        const void *from = params ? params[i] : packed + param->offset;
        if (!from) {
            free(block);
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(block + param->offset, from, param->bytes);
    }
    *out = block;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuLaunchKernel(CUfunction handle, unsigned int grid_x, unsigned int grid_y,
                                  unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                  unsigned int block_z, unsigned int shared_bytes,
                                  CUstream stream_handle, void **params, void **extra) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *function = lg_simdrv_find(context, LG_SIMDRV_FUNCTION, handle);
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, stream_handle, &stream);
    if (error || !function) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_HANDLE);
    }
    lg_sim_launch launch = {.grid = {grid_x, grid_y, grid_z},
                            .block = {block_x, block_y, block_z},
                            .shared_bytes = shared_bytes,
                            .shared_limit = LG_SIMDRV_MAX_SHARED_OPTIN,
                            .param_bytes = lg_simdrv_function(function)->param_bytes};
    unsigned char *block = NULL;
    error = check_launch(function, &launch);
    if (!error) {
        error = pack_params(lg_simdrv_function(function), params, extra, &block);
    }
    if (error) {
        return lg_simdrv_leave(context, error);
    }
    lg_simdrv_work *work = lg_xcalloc(1, sizeof *work);
    work->kind = LG_SIMDRV_LAUNCH;
    work->function = function;
    work->launch = launch;
    work->launch_index = context->n_launches++;
    work->data = block;
    lg_simdrv_submit(context, stream, work);
    if (context->blocking) {
        error = lg_simdrv_wait(context, context->n_submitted);
    }
    return lg_simdrv_leave(context, error);
}
