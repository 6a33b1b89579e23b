// SPDX-License-Identifier: Apache-2.0
// The parts of a .npy header, for npy.c. Inside support/ only.
#ifndef LG_SUPPORT_NPY_HEADER_H
#define LG_SUPPORT_NPY_HEADER_H

#include "support/npy.h"

enum { LG_NPY_MAX_DICTIONARY = 1 << 20, LG_NPY_MAX_PREAMBLE = 12 };

// Magic, version and length of the dictionary from the first 12 bytes (all there are, when fewer).
bool lg_npy_read_preamble(const char *name, const unsigned char *bytes, size_t n,
                          size_t *preamble_bytes, size_t *dictionary_bytes, lg_diags *diags);
// The dictionary text; fills all of the header but data_offset.
bool lg_npy_read_dictionary(const char *name, const char *text, size_t n, lg_npy_header *header,
                            lg_diags *diags);
const char *lg_npy_descr(lg_npy_type type); // "f8"

#endif
