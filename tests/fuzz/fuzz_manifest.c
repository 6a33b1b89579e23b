// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest: kernels that are whole, or errors that name a place.
#include "manifest/manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_kernel(const lg_kernel *kernel) {
    if (!kernel->name || !*kernel->name || !kernel->family || !kernel->policy ||
        !kernel->input_dtypes || !kernel->reductions || kernel->n_stages < 1 ||
        (kernel->source != NULL) == (kernel->ptx != NULL)) {
        abort();
    }
    for (int i = 0; i < kernel->n_stages; i++) {
        const lg_stage *stage = &kernel->stages[i];
        if (!stage->entry || !*stage->entry || stage->n_args < 0) {
            abort();
        }
        for (int k = 0; k < stage->n_args; k++) {
            const lg_arg *arg = &stage->args[k];
            if (!arg->name || (arg->id == LG_N_ARGS) != (arg->scratch >= 0) ||
                arg->scratch >= kernel->n_scratch) {
                abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    lg_kernel_set kernels = {0};
    lg_diags diags = {0};
    bool ok = lg_kernels_read_text("fuzz.yaml", (const char *)data, n, &kernels, &diags);
    if (ok == (diags.n_errors > 0)) {
        abort();
    }
    for (size_t i = 0; i < diags.n; i++) {
        if (!diags.items[i].file || diags.items[i].line < 0 || diags.items[i].column < 0) {
            abort();
        }
    }
    for (int64_t i = 0; ok && i < kernels.n; i++) {
        check_kernel(&kernels.items[i]);
    }
    lg_kernel_set_free(&kernels);
    lg_diags_free(&diags);
    return 0;
}
