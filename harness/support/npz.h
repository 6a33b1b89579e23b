// SPDX-License-Identifier: Apache-2.0
// Members of a .npz archive (a zip of .npy files): read as byte streams, for support/npy.c, and
// written.
#ifndef LG_SUPPORT_NPZ_H
#define LG_SUPPORT_NPZ_H

#include "support/error.h"
#include "support/npy.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct lg_npz_member lg_npz_member;

// `member` is the array's name with or without ".npy"; NULL takes the only one and, when there are
// several, the error lists them. NULL with an error added.
lg_npz_member *lg_npz_open(const char *path, const char *member, lg_diags *diags);
// Bytes read, 0 at the end, -1 when the archive is damaged (a checksum that does not match too).
int64_t lg_npz_read(lg_npz_member *member, void *out, int64_t n);
const char *lg_npz_problem(lg_npz_member *member); // after -1
int64_t lg_npz_bytes(const lg_npz_member *member); // uncompressed, as the archive says; -1: unsaid
void lg_npz_close(lg_npz_member *member);

// An archive being written; nothing is on disk before lg_npz_finish. The same members give the same
// bytes: no time is written.
typedef struct lg_npz_writer lg_npz_writer;
lg_npz_writer *lg_npz_create(const char *path, lg_diags *diags); // NULL with an error added
// Adds the array `name` (without ".npy"); the elements are copied. An error shows in finish.
void lg_npz_add(lg_npz_writer *writer, const char *name, lg_npy_type type, int rank,
                const int64_t *shape, const void *data);
// Writes the file and frees the writer. false with an error added: there is no file then.
bool lg_npz_finish(lg_npz_writer *writer, lg_diags *diags);

#endif
