// SPDX-License-Identifier: Apache-2.0
// Tensors from and to array files (support/npy.h).
#ifndef LG_MODEL_TENSOR_FILE_H
#define LG_MODEL_TENSOR_FILE_H

#include "model/tensor.h"
#include "support/error.h"
#include "support/npy.h"
#include "support/npz.h"

lg_dtype lg_dtype_of_npy(lg_npy_type type);

// Reads "x.npy", "x.npz" or "x.npz:member" whole into a contiguous tensor of the file's dtype and
// shape (at most LG_MAX_RANK dimensions). The caller frees it.
bool lg_tensor_read(const char *place, lg_tensor *tensor, lg_diags *diags);
// Writes a contiguous copy as .npy; bfloat16 is written as float32, which holds it exactly.
bool lg_tensor_write(const char *path, const lg_tensor *tensor, lg_diags *diags);
// The same as a member of an archive. false when memory is out.
bool lg_tensor_add_to(lg_npz_writer *archive, const char *name, const lg_tensor *tensor);

#endif
