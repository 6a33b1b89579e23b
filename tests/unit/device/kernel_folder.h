// SPDX-License-Identifier: Apache-2.0
// Kernels of a test's own: a source and manifests in a folder, and a session on the embedded
// device.
#ifndef LG_TESTS_PIPELINE_KERNEL_FOLDER_H
#define LG_TESTS_PIPELINE_KERNEL_FOLDER_H

#include "device/device.h"
#include "unit/tree.h"

typedef struct kernel_folder {
    char *path;
    lg_kernel_set kernels;
    lg_device_session *device;
    lg_diags diags;
} kernel_folder;

// The source is test.cu there.
static inline void open_kernels(kernel_folder *f, const char *source) {
    *f = (kernel_folder){.path = make_tree()};
    write_text(f->path, "test.cu", source);
    f->device = lg_device_open(lg_driver_sim(), LG_DEFAULT_NVCC, f->path, &f->diags);
    lg_diags_print(&f->diags, stderr);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f->device);
}

static inline void add_manifest(kernel_folder *f, const char *name, const char *text) {
    char *path = lg_xasprintf("%s/%s", f->path, name);
    bool ok = lg_kernels_read_text(path, text, strlen(text), &f->kernels, &f->diags);
    lg_diags_print(&f->diags, stderr);
    CU_ASSERT_TRUE_FATAL(ok);
    free(path);
}

static inline const lg_kernel *find_kernel(const kernel_folder *f, const char *name) {
    for (int64_t i = 0; i < f->kernels.n; i++) {
        if (strcmp(f->kernels.items[i].name, name) == 0) {
            return &f->kernels.items[i];
        }
    }
    CU_FAIL_FATAL("no such kernel");
    return NULL;
}

static inline void close_kernels(kernel_folder *f) {
    lg_device_close(f->device);
    lg_kernel_set_free(&f->kernels);
    lg_diags_free(&f->diags);
    remove_tree(f->path);
}

#endif
