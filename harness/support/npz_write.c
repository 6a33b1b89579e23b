// SPDX-License-Identifier: Apache-2.0
#include "support/alloc.h"
#include "support/npy_header.h"
#include "support/npz.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

struct lg_npz_writer {
    char *path;
    zip_t *archive;
    char *failure; // the first, or NULL
};

static void fail(lg_npz_writer *writer, const char *text) {
    if (!writer->failure) {
        writer->failure = lg_xstrdup(text);
    }
}

lg_npz_writer *lg_npz_create(const char *path, lg_diags *diags) {
    int code;
    zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!archive) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        lg_error(diags, (lg_loc){.file = path}, "cannot be written: %s",
                 zip_error_strerror(&error));
        zip_error_fini(&error);
        return NULL;
    }
    lg_npz_writer *writer = lg_xcalloc(1, sizeof *writer);
    *writer = (lg_npz_writer){.path = lg_xstrdup(path), .archive = archive};
    return writer;
}

static bool data_bytes(lg_npy_type type, int rank, const int64_t *shape, size_t *bytes) {
    *bytes = (size_t)(lg_npy_descr(type)[1] - '0');
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(*bytes, (size_t)shape[i], bytes)) {
            return false;
        }
    }
    return true;
}

void lg_npz_add(lg_npz_writer *writer, const char *name, lg_npy_type type, int rank,
                const int64_t *shape, const void *data) {
    size_t bytes;
    if (!data_bytes(type, rank, shape, &bytes)) {
        fail(writer, "absurd shape");
        return;
    }
    lg_str header = {0};
    lg_npy_write_header(type, rank, shape, &header);
    // The archive keeps the memory until it is written, and frees it.
    char *content = malloc(header.n + bytes);
    if (!content) {
        lg_str_free(&header);
        fail(writer, "no memory");
        return;
    }
    memcpy(content, header.text, header.n);
    if (bytes) {
        memcpy(content + header.n, data, bytes);
    }
    zip_source_t *source = zip_source_buffer(writer->archive, content, header.n + bytes, 1);
    lg_str_free(&header);
    if (!source) {
        free(content);
        fail(writer, zip_strerror(writer->archive));
        return;
    }
    // The analyzer does not know that the source now owns the content.
    char *member = lg_xasprintf("%s.npy", name); // NOLINT(clang-analyzer-unix.Malloc)
    zip_int64_t index = zip_file_add(writer->archive, member, source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
        zip_source_free(source);
        fail(writer, zip_strerror(writer->archive));
    } else {
        // The first day that the format knows, whatever the day of the run.
        zip_file_set_dostime(writer->archive, (zip_uint64_t)index, 0, (1 << 5) | 1, 0);
    }
    free(member);
}

bool lg_npz_finish(lg_npz_writer *writer, lg_diags *diags) {
    bool ok = !writer->failure;
    if (!ok) {
        zip_discard(writer->archive);
    } else if (zip_close(writer->archive) != 0) {
        fail(writer, zip_strerror(writer->archive));
        zip_discard(writer->archive);
        ok = false;
    }
    if (!ok) {
        lg_error(diags, (lg_loc){.file = writer->path}, "cannot be written: %s", writer->failure);
    }
    free(writer->failure);
    free(writer->path);
    free(writer);
    return ok;
}
