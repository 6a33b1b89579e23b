// SPDX-License-Identifier: Apache-2.0
#include "support/npy.h"

#include "support/alloc.h"
#include "support/npy_header.h"
#include "support/npz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct lg_npy_reader {
    char *name;
    FILE *file;            // a .npy file, or
    lg_npz_member *member; // a member of an archive
    lg_npy_header header;
    int64_t n_left;
};

bool lg_npy_parse(const char *name, const void *bytes, size_t n, lg_npy_header *header,
                  lg_diags *diags) {
    *header = (lg_npy_header){0};
    size_t preamble;
    size_t dictionary;
    if (!lg_npy_read_preamble(name, bytes, n, &preamble, &dictionary, diags)) {
        return false;
    }
    if (dictionary > n - preamble) {
        return lg_error(diags, (lg_loc){.file = name},
                        "is not a valid .npy file: it ends inside its header");
    }
    if (!lg_npy_read_dictionary(name, (const char *)bytes + preamble, dictionary, header, diags)) {
        return false;
    }
    header->data_offset = preamble + dictionary;
    size_t wanted = (size_t)header->n * header->item_bytes;
    size_t there = n - header->data_offset;
    if (there != wanted) {
        return lg_error(diags, (lg_loc){.file = name},
                        "has %zu bytes of elements, but its shape needs %zu", there, wanted);
    }
    return true;
}

// Bytes read, short only at the end; -1 when reading failed and an error was added.
static int64_t read_bytes(lg_npy_reader *reader, void *out, size_t n, lg_diags *diags) {
    if (reader->member) {
        int64_t got = lg_npz_read(reader->member, out, (int64_t)n);
        if (got < 0) {
            lg_error(diags, (lg_loc){.file = reader->name}, "cannot be read: %s",
                     lg_npz_problem(reader->member));
        }
        return got;
    }
    size_t got = fread(out, 1, n, reader->file);
    if (got < n && ferror(reader->file)) {
        lg_error(diags, (lg_loc){.file = reader->name}, "cannot be read: %s", strerror(errno));
        return -1;
    }
    return (int64_t)got;
}

static bool read_header(lg_npy_reader *reader, lg_diags *diags) {
    unsigned char preamble[LG_NPY_MAX_PREAMBLE];
    int64_t got = read_bytes(reader, preamble, 10, diags);
    if (got == 10 && preamble[6] > 1) {
        int64_t more = read_bytes(reader, preamble + 10, 2, diags);
        got = more < 0 ? more : got + more;
    }
    size_t n_preamble;
    size_t n_dictionary;
    if (got < 0 || !lg_npy_read_preamble(reader->name, preamble, (size_t)got, &n_preamble,
                                         &n_dictionary, diags)) {
        return false;
    }
    char *text = lg_xmalloc(n_dictionary);
    int64_t n_text = read_bytes(reader, text, n_dictionary, diags);
    bool ok = n_text == (int64_t)n_dictionary;
    if (!ok && n_text >= 0) {
        lg_error(diags, (lg_loc){.file = reader->name},
                 "is not a valid .npy file: it ends inside its header");
    }
    ok = ok && lg_npy_read_dictionary(reader->name, text, n_dictionary, &reader->header, diags);
    free(text);
    reader->header.data_offset = n_preamble + n_dictionary;
    reader->n_left = reader->header.n;
    return ok;
}

size_t lg_npy_path_length(const char *place) {
    const char *colon = strrchr(place, ':');
    bool is_member = colon && colon - place >= 4 && memcmp(colon - 4, ".npz", 4) == 0;
    return is_member ? (size_t)(colon - place) : strlen(place);
}

static bool open_source(lg_npy_reader *reader, const char *place, lg_diags *diags) {
    size_t n = lg_npy_path_length(place);
    char *path = lg_xstrndup(place, n);
    if (n >= 4 && strcmp(path + n - 4, ".npz") == 0) {
        reader->member = lg_npz_open(path, place[n] ? place + n + 1 : NULL, diags);
    } else {
        reader->file = fopen(path, "rb");
        if (!reader->file) {
            lg_error(diags, (lg_loc){.file = path}, "cannot be opened: %s", strerror(errno));
        }
    }
    free(path);
    return reader->member || reader->file;
}

// Bytes of the whole source, -1 when they cannot be known (a pipe).
static int64_t source_bytes(const lg_npy_reader *reader) {
    if (reader->member) {
        return lg_npz_bytes(reader->member);
    }
    struct stat status;
    bool regular = fstat(fileno(reader->file), &status) == 0 && S_ISREG(status.st_mode);
    return regular ? (int64_t)status.st_size : -1;
}

// A hostile or cut-off file is refused before anybody allocates what its header claims.
static bool check_size(const lg_npy_reader *reader, lg_diags *diags) {
    const lg_npy_header *header = &reader->header;
    int64_t there = source_bytes(reader);
    int64_t wanted = header->n * (int64_t)header->item_bytes;
    there = there < 0 ? wanted : there - (int64_t)header->data_offset;
    if (there == wanted) {
        return true;
    }
    return lg_error(diags, (lg_loc){.file = reader->name},
                    "has %lld bytes of elements, but its shape needs %lld", (long long)there,
                    (long long)wanted);
}

lg_npy_reader *lg_npy_open(const char *place, lg_npy_header *header, lg_diags *diags) {
    lg_npy_reader *reader = lg_xcalloc(1, sizeof *reader);
    reader->name = lg_xstrdup(place);
    if (!open_source(reader, place, diags) || !read_header(reader, diags) ||
        !check_size(reader, diags)) {
        lg_npy_close(reader);
        return NULL;
    }
    *header = reader->header;
    return reader;
}

// A file must end with its last element.
static int64_t check_end(lg_npy_reader *reader, lg_diags *diags) {
    char byte;
    int64_t got = read_bytes(reader, &byte, 1, diags);
    if (got > 0) {
        lg_error(diags, (lg_loc){.file = reader->name}, "goes on after the last element");
    }
    return got ? -1 : 0;
}

int64_t lg_npy_read(lg_npy_reader *reader, void *out, int64_t n, lg_diags *diags) {
    if (n > reader->n_left) {
        n = reader->n_left;
    }
    if (reader->n_left == 0) {
        return check_end(reader, diags);
    }
    size_t item = reader->header.item_bytes;
    int64_t got = read_bytes(reader, out, (size_t)n * item, diags);
    if (got < 0) {
        return -1;
    }
    if (got < n * (int64_t)item) {
        int64_t whole = reader->header.n - reader->n_left + got / (int64_t)item;
        lg_error(diags, (lg_loc){.file = reader->name}, "ends after %lld of its %lld elements",
                 (long long)whole, (long long)reader->header.n);
        return -1;
    }
    reader->n_left -= n;
    return n;
}

void lg_npy_close(lg_npy_reader *reader) {
    if (!reader) {
        return;
    }
    if (reader->file) {
        fclose(reader->file);
    }
    if (reader->member) {
        lg_npz_close(reader->member);
    }
    free(reader->name);
    free(reader);
}
