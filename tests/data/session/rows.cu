// SPDX-License-Identifier: Apache-2.0
// One row a thread, for tests of the session: each kernel is right for every head width but 7, where it
// does one thing wrong. So all of them prove themselves on the built-in batches and fail in a case.
#include <cassert>
#include <cstdint>

enum behaviour { RIGHT, WRONG_ROW, UNWRITTEN_ROW, WRITE_PAST, FALSE_ALARM, TRAP, SILENT, UNGUARDED };

template <behaviour B>
__device__ void one_row(float *output, const float *input, const int64_t *target, int64_t n_rows,
                        int64_t n_classes, int64_t ignore_index, bool nan_row) {
    const int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool armed = n_classes == 7;
    if (B == WRITE_PAST && armed && row == n_rows) {
        output[row] = 0;
    }
    if (row >= n_rows || (B == UNWRITTEN_ROW && armed && row == 0)) {
        return;
    }
    if (B == TRAP && armed) {
        __trap();
    }
    const int64_t t = target[row];
    if (t == ignore_index) {
        output[row] = 0;
        return;
    }
    const bool valid = t >= 0 && t < n_classes;
    if (!nan_row && B != UNGUARDED) {
        assert(valid && !(B == FALSE_ALARM && armed && t == 6));
    }
    if (nan_row && !valid) {
        output[row] = B == SILENT && armed ? 0.0f : __int_as_float(0x7fc00000);
        return;
    }
    output[row] = -input[row * n_classes + t] + (B == WRONG_ROW && armed && row == 3 ? 1.0f : 0.0f);
}

#define ROWS_ENTRY(name, B, nan_row)                                                               \
    extern "C" __global__ void rows_##name(float *output, const float *input,                      \
                                           const int64_t *target, int64_t n_rows,                  \
                                           int64_t n_classes, int64_t ignore_index) {              \
        one_row<B>(output, input, target, n_rows, n_classes, ignore_index, nan_row);               \
    }

ROWS_ENTRY(right, RIGHT, false)
ROWS_ENTRY(wrong_row, WRONG_ROW, false)
ROWS_ENTRY(unwritten_row, UNWRITTEN_ROW, false)
ROWS_ENTRY(write_past, WRITE_PAST, false)
ROWS_ENTRY(false_alarm, FALSE_ALARM, false)
ROWS_ENTRY(trap, TRAP, false)
ROWS_ENTRY(unguarded, UNGUARDED, false)
ROWS_ENTRY(silent, SILENT, true)
