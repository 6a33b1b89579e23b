// SPDX-License-Identifier: Apache-2.0
// Any bytes as a column of numbers: values, or errors that name a line.
#include "support/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    FILE *stream = n ? fmemopen((void *)(uintptr_t)data, n, "rb") : fopen("/dev/null", "rb");
    if (!stream) {
        return 0;
    }
    lg_diags diags = {0};
    lg_csv_reader *reader = lg_csv_open_stream(stream, "fuzz.csv");
    lg_csv_value values[7];
    int64_t total = 0;
    int64_t got;
    while ((got = lg_csv_read(reader, values, 7, &diags)) > 0) {
        for (int64_t i = 0; i < got; i++) {
            if (values[i].is_integer && values[i].real != (double)values[i].integer) {
                abort();
            }
        }
        total += got;
    }
    // A value takes a byte at least, a failure says why.
    if (total > (int64_t)n || (got < 0) != (diags.n_errors > 0) ||
        diags.n_errors > LG_CSV_MAX_ERRORS + 1) {
        abort();
    }
    for (size_t i = 0; i < diags.n; i++) {
        if (diags.items[i].line < 1 || diags.items[i].column < 1) {
            abort();
        }
    }
    lg_csv_close(reader);
    lg_diags_free(&diags);
    return 0;
}
