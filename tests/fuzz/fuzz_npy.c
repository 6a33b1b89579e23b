// SPDX-License-Identifier: Apache-2.0
// Any bytes as an array file: a header whose elements are all there, or an error.
#include "support/npy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    lg_npy_header header;
    lg_diags diags = {0};
    bool ok = lg_npy_parse("fuzz.npy", data, n, &header, &diags);
    if (ok != (diags.n_errors == 0)) {
        abort();
    }
    if (ok) {
        int64_t product = 1;
        for (int i = 0; i < header.rank; i++) {
            if (header.shape[i] < 0) {
                abort();
            }
            product *= header.shape[i];
        }
        if (product != header.n || header.rank > LG_NPY_MAX_RANK ||
            header.data_offset + (size_t)header.n * header.item_bytes != n) {
            abort();
        }
    }
    lg_diags_free(&diags);
    return 0;
}
