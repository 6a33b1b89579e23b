// SPDX-License-Identifier: Apache-2.0
#include "support/npy.h"
#include "support/npy_header.h"

#include <errno.h>
#include <string.h>

void lg_npy_write_header(lg_npy_type type, int rank, const int64_t *shape, lg_str *out) {
    lg_str text = {0};
    const char *descr = lg_npy_descr(type);
    bool has_order = descr[1] != '1'; // single bytes have no order
    lg_str_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                  has_order ? '<' : '|', descr);
    for (int i = 0; i < rank; i++) {
        lg_str_printf(&text, "%lld%s", (long long)shape[i], i + 1 < rank ? ", " : "");
    }
    lg_str_printf(&text, "%s), }", rank == 1 ? "," : "");
    // Blanks, then a newline, so that the data starts at a multiple of 64.
    while ((10 + text.n + 1) % 64) {
        lg_str_add(&text, " ");
    }
    lg_str_add(&text, "\n");
    const char preamble[] = {
        (char)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(text.n & 255), (char)(text.n >> 8)};
    lg_str_add_n(out, preamble, sizeof preamble);
    lg_str_add_n(out, text.text, text.n);
    lg_str_free(&text);
}

static size_t item_bytes(lg_npy_type type) {
    return (size_t)(lg_npy_descr(type)[1] - '0');
}

bool lg_npy_write(const char *path, lg_npy_type type, int rank, const int64_t *shape,
                  const void *data, lg_diags *diags) {
    size_t n = item_bytes(type);
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(n, (size_t)shape[i], &n)) {
            return lg_error(diags, (lg_loc){.file = path}, "cannot be written: absurd shape");
        }
    }
    FILE *file = fopen(path, "wb");
    if (!file) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot be written: %s", strerror(errno));
    }
    lg_str header = {0};
    lg_npy_write_header(type, rank, shape, &header);
    bool ok = fwrite(header.text, 1, header.n, file) == header.n;
    ok = ok && (n == 0 || fwrite(data, 1, n, file) == n);
    lg_str_free(&header);
    ok = fclose(file) == 0 && ok;
    return ok || lg_error(diags, (lg_loc){.file = path}, "cannot be written: %s", strerror(errno));
}
