// SPDX-License-Identifier: Apache-2.0
// Modules of a session: slices of the kernels' PTX, loaded when they are needed.
#include "device/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// On the embedded device the load's own problems are known with their lines; elsewhere there is the
// driver's log.
static void report_load(const lg_device_session *session, const char *path, lg_loc blame,
                        CUresult error, const char *log, lg_diags *diags) {
    const lg_diags *found = session->driver->load_diags ? session->driver->load_diags() : NULL;
    lg_device_error(session, diags, blame, "cuModuleLoadDataEx", error);
    for (size_t i = 0; found && i < found->n; i++) {
        const lg_diag *diag = &found->items[i];
        lg_diags_add(diags, diag->severity, (lg_loc){path, diag->line, diag->column},
                     diag->source_line, "%s", diag->message);
    }
    if (!found && *log) {
        lg_diags_add(diags, LG_NOTE, (lg_loc){path, 0, 0}, NULL, "%s", log);
    }
}

bool lg_device_load(lg_device_session *session, const char *text, const char *path, lg_loc blame,
                    CUmodule *module, lg_diags *diags) {
    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    CUresult error = session->driver->cuModuleLoadDataEx(module, text, 2, options, values);
    if (error) {
        report_load(session, path, blame, error, log, diags);
    }
    return error == CUDA_SUCCESS;
}

static bool is_among(char **names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

// The slice of these entries, added unloaded when it is new.
static lg_loaded_slice *find_slice(lg_device_session *session, size_t ptx, char **names, size_t n) {
    lg_str key = {0};
    for (size_t i = 0; i < n; i++) {
        lg_str_printf(&key, "%s\n", names[i]);
    }
    for (size_t i = 0; i < session->n_slices; i++) {
        if (session->slices[i].ptx == ptx &&
            strcmp(session->slices[i].key, lg_str_text(&key)) == 0) {
            lg_str_free(&key);
            return &session->slices[i];
        }
    }
    session->slices =
        lg_xrealloc(session->slices, (session->n_slices + 1) * sizeof(lg_loaded_slice));
    lg_loaded_slice *slice = &session->slices[session->n_slices++];
    *slice = (lg_loaded_slice){.ptx = ptx, .key = key.text ? lg_str_take(&key) : lg_xstrdup("")};
    return slice;
}

static void copy_diags(lg_diags *to, const lg_diags *from) {
    for (size_t i = 0; i < from->n; i++) {
        const lg_diag *diag = &from->items[i];
        lg_diags_add(to, diag->severity, (lg_loc){diag->file, diag->line, diag->column},
                     diag->source_line, "%s", diag->message);
    }
}

static bool load_cut(lg_device_session *session, const lg_kernel *kernel,
                     const lg_ptx_program *source, char **names, size_t n, CUmodule *module) {
    lg_str text = {0};
    lg_diags unused = {0};
    bool keep_debug = !session->driver->load_diags;
    bool cut = lg_ptx_slice(source->file.ptx, source->file.n_bytes, &source->index,
                            (const char *const *)names, n, keep_debug, &text) > 0;
    lg_compiled_rest(&source->file); // what lies between the entries is on every page
    bool ok =
        cut && lg_device_load(session, text.text, source->file.path, kernel->loc, module, &unused);
    lg_diags_free(&unused);
    lg_str_free(&text);
    return ok;
}

// Loads the slice, or all of the text when it cannot be cut; problems are reported once a text,
// with the lines of the whole.
static bool load_slice(lg_device_session *session, const lg_kernel *kernel, lg_ptx_program *source,
                       char **names, size_t n, CUmodule *module, lg_diags *diags) {
    if (!source->whole && load_cut(session, kernel, source, names, n, module)) {
        return true;
    }
    lg_diags found = {0};
    bool ok =
        lg_device_load(session, source->file.ptx, source->file.path, kernel->loc, module, &found);
    if (!ok && !source->reported) {
        copy_diags(diags, &found);
    }
    source->whole |= ok;
    source->reported |= !ok;
    lg_diags_free(&found);
    return ok || lg_error(diags, kernel->loc, "%s: its PTX does not load", kernel->name);
}

bool lg_device_module(lg_device_session *session, size_t ptx, const lg_kernel *kernel,
                      lg_dtype input, lg_dtype target, CUmodule *module, lg_diags *diags) {
    lg_ptx_program *source = &session->ptx[ptx];
    char **names = lg_xcalloc((size_t)kernel->n_stages + 1, sizeof *names);
    size_t n = 0;
    for (int i = 0; i < kernel->n_stages && !source->whole; i++) {
        char *name = lg_entry_name(kernel, kernel->stages[i].entry, input, target);
        if (is_among(names, n, name)) {
            free(name);
        } else {
            names[n++] = name;
        }
    }
    lg_loaded_slice *slice = find_slice(session, ptx, names, n);
    bool ok = slice->generation == session->generation;
    if (!ok) {
        ok = load_slice(session, kernel, source, names, n, &slice->module, diags);
        slice->generation = ok ? session->generation : 0;
    }
    *module = slice->module;
    for (size_t i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
    return ok;
}
