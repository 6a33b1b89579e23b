// SPDX-License-Identifier: Apache-2.0
#include "batch/batch.h"

static bool takes(const lg_kernel *kernel, lg_dtype dtype) {
    return kernel->target_dtypes & 1u << dtype;
}

// The widest type that the kernel takes and that is narrower than int64.
static lg_dtype own_type(const lg_kernel *kernel) {
    static const lg_dtype order[] = {LG_INT32, LG_INT16, LG_UINT8, LG_INT8};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (takes(kernel, order[i])) {
            return order[i];
        }
    }
    return LG_DTYPE_NONE;
}

static bool copy_labels(const lg_tensor *from, lg_dtype dtype, lg_tensor *to) {
    if (!lg_tensor_init_like(to, dtype, from->shape, from)) {
        return false;
    }
    int64_t n = lg_tensor_numel(from);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = lg_tensor_get_i64(from, i);
        lg_tensor_set_i64(to, i, label);
        if (lg_tensor_get_i64(to, i) != label) {
            lg_tensor_free(to);
            return false;
        }
    }
    return true;
}

bool lg_fit_labels(const lg_scenario *scenario, const lg_kernel *kernel, const lg_batch *batch,
                   lg_batch *out) {
    lg_dtype own = own_type(kernel);
    if (!scenario->batch.targets.open_dtype || batch->target.dtype != LG_INT64 ||
        takes(kernel, LG_INT64) || own == LG_DTYPE_NONE ||
        lg_tensor_exists(&batch->device_target)) {
        return false;
    }
    lg_tensor target;
    if (!copy_labels(&batch->target, own, &target)) {
        return false;
    }
    *out = *batch;
    out->target = target;
    return true;
}
