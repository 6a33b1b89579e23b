// SPDX-License-Identifier: Apache-2.0
#include "model/tensor_file.h"

lg_dtype lg_dtype_of_npy(lg_npy_type type) {
    lg_dtype dtype = LG_DTYPE_NONE;
    lg_dtype_parse(lg_npy_type_name(type), &dtype);
    return dtype;
}

// False: bfloat16, which npy does not have.
static bool to_npy_type(lg_dtype dtype, lg_npy_type *type) {
    return lg_npy_type_parse(lg_dtype_name(dtype), type);
}

static bool read_elements(lg_npy_reader *reader, const char *place, const lg_npy_header *header,
                          lg_tensor *tensor, lg_diags *diags) {
    if (header->rank > LG_MAX_RANK) {
        return lg_error(diags, (lg_loc){.file = place}, "has %d dimensions; at most %d",
                        header->rank, LG_MAX_RANK);
    }
    if (!lg_tensor_init(tensor, lg_dtype_of_npy(header->type), header->rank, header->shape)) {
        return lg_error(diags, (lg_loc){.file = place}, "does not fit the memory");
    }
    // The second read finds the end of the file, or complains.
    return lg_npy_read(reader, tensor->data, header->n, diags) == header->n &&
           (header->n == 0 || lg_npy_read(reader, tensor->data, 0, diags) == 0);
}

bool lg_tensor_read(const char *place, lg_tensor *tensor, lg_diags *diags) {
    *tensor = (lg_tensor){0};
    lg_npy_header header;
    lg_npy_reader *reader = lg_npy_open(place, &header, diags);
    if (!reader) {
        return false;
    }
    bool ok = read_elements(reader, place, &header, tensor, diags);
    lg_npy_close(reader);
    if (!ok) {
        lg_tensor_free(tensor);
    }
    return ok;
}

// A contiguous copy in a type that npy has.
static bool pack(const lg_tensor *tensor, lg_npy_type *type, lg_tensor *copy) {
    lg_dtype stored = tensor->dtype;
    if (!to_npy_type(stored, type)) {
        stored = LG_FLOAT32;
        *type = LG_NPY_FLOAT32;
    }
    if (!lg_tensor_init(copy, stored, tensor->rank, tensor->shape)) {
        return false;
    }
    int64_t n = lg_tensor_numel(tensor);
    for (int64_t i = 0; i < n; i++) {
        if (lg_dtype_is_float(stored)) {
            lg_tensor_set_f64(copy, i, lg_tensor_get_f64(tensor, i));
        } else {
            lg_tensor_set_i64(copy, i, lg_tensor_get_i64(tensor, i));
        }
    }
    return true;
}

bool lg_tensor_write(const char *path, const lg_tensor *tensor, lg_diags *diags) {
    lg_npy_type type;
    lg_tensor copy;
    if (!pack(tensor, &type, &copy)) {
        return lg_error(diags, (lg_loc){.file = path}, "cannot be written: out of memory");
    }
    bool ok = lg_npy_write(path, type, copy.rank, copy.shape, copy.data, diags);
    lg_tensor_free(&copy);
    return ok;
}

bool lg_tensor_add_to(lg_npz_writer *archive, const char *name, const lg_tensor *tensor) {
    lg_npy_type type;
    lg_tensor copy;
    if (!pack(tensor, &type, &copy)) {
        return false;
    }
    lg_npz_add(archive, name, type, copy.rank, copy.shape, copy.data);
    lg_tensor_free(&copy);
    return true;
}
