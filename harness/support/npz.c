// SPDX-License-Identifier: Apache-2.0
#include "support/npz.h"

#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

struct lg_npz_member {
    zip_t *archive;
    zip_file_t *file;
    int64_t bytes;
};

// Index of the array called `member` ("labels" or "labels.npy"), or -1.
static zip_int64_t find_member(zip_t *archive, const char *member) {
    zip_int64_t index = zip_name_locate(archive, member, 0);
    if (index < 0) {
        char *full = lg_xasprintf("%s.npy", member);
        index = zip_name_locate(archive, full, 0);
        free(full);
    }
    return index;
}

static void list_members(zip_t *archive, lg_str *out) {
    zip_int64_t n = zip_get_num_entries(archive, 0);
    for (zip_int64_t i = 0; i < n && i < 20; i++) {
        const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
        size_t length = name ? strlen(name) : 0;
        if (length > 4 && strcmp(name + length - 4, ".npy") == 0) {
            length -= 4;
        }
        lg_str_printf(out, "%s%.*s", i ? ", " : "", (int)(length < 60 ? length : 60),
                      name ? name : "");
    }
    lg_str_add(out, n > 20 ? ", ..." : "");
}

static zip_int64_t choose_member(zip_t *archive, const char *path, const char *member,
                                 lg_diags *diags) {
    zip_int64_t n = zip_get_num_entries(archive, 0);
    if (!member && n == 1) {
        return 0;
    }
    zip_int64_t index = member ? find_member(archive, member) : -1;
    if (index < 0) {
        lg_str names = {0};
        list_members(archive, &names);
        if (member) {
            lg_error(diags, (lg_loc){.file = path}, "has no array '%.60s'; it has: %s", member,
                     lg_str_text(&names));
        } else {
            lg_error(diags, (lg_loc){.file = path},
                     "holds %lld arrays; name one, as in %s:NAME: %s", (long long)n, path,
                     lg_str_text(&names));
        }
        lg_str_free(&names);
    }
    return index;
}

lg_npz_member *lg_npz_open(const char *path, const char *member, lg_diags *diags) {
    int code;
    zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
    if (!archive) {
        zip_error_t error;
        zip_error_init_with_code(&error, code);
        lg_error(diags, (lg_loc){.file = path}, "cannot be opened as an archive: %s",
                 zip_error_strerror(&error));
        zip_error_fini(&error);
        return NULL;
    }
    zip_int64_t index = choose_member(archive, path, member, diags);
    zip_file_t *file = index < 0 ? NULL : zip_fopen_index(archive, (zip_uint64_t)index, 0);
    if (!file) {
        if (index >= 0) {
            lg_error(diags, (lg_loc){.file = path}, "cannot be read: %s", zip_strerror(archive));
        }
        zip_discard(archive);
        return NULL;
    }
    lg_npz_member *opened = lg_xcalloc(1, sizeof *opened);
    *opened = (lg_npz_member){archive, file, -1};
    zip_stat_t status;
    if (zip_stat_index(archive, (zip_uint64_t)index, 0, &status) == 0 &&
        (status.valid & ZIP_STAT_SIZE) && status.size <= INT64_MAX) {
        opened->bytes = (int64_t)status.size;
    }
    return opened;
}

int64_t lg_npz_read(lg_npz_member *member, void *out, int64_t n) {
    int64_t total = 0;
    while (total < n) {
        zip_int64_t got = zip_fread(member->file, (char *)out + total, (zip_uint64_t)(n - total));
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        total += got;
    }
    return total;
}

int64_t lg_npz_bytes(const lg_npz_member *member) {
    return member->bytes;
}

const char *lg_npz_problem(lg_npz_member *member) {
    return zip_file_strerror(member->file);
}

void lg_npz_close(lg_npz_member *member) {
    zip_fclose(member->file);
    zip_discard(member->archive);
    free(member);
}
