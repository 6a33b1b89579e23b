// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "device/internal.h"
#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool lg_device_error(const lg_device_session *session, lg_diags *diags, lg_loc loc,
                     const char *call, CUresult error) {
    const char *name = NULL;
    session->driver->cuGetErrorName(error, &name);
    return lg_error(diags, loc, "%s: %s (%d)", call, name ? name : "unknown error", (int)error);
}

lg_device_session *lg_device_open(const lg_driver *driver, const char *nvcc, const char *cache_dir,
                                  lg_diags *diags) {
    lg_device_session *session = lg_xcalloc(1, sizeof *session);
    session->driver = driver;
    CUresult error = driver->cuInit(0);
    const char *call = "cuInit";
    if (!error) {
        call = "cuDeviceGet";
        error = driver->cuDeviceGet(&session->device, 0);
    }
    bool ok = !error || lg_device_error(session, diags, (lg_loc){0}, call, error);
    session->nvcc = nvcc ? lg_xstrdup(nvcc) : NULL;
    session->cache_dir = lg_xstrdup(cache_dir ? cache_dir : "");
    if (!ok) {
        lg_device_close(session);
        return NULL;
    }
    return session;
}

void lg_device_on_compile(lg_device_session *session,
                          void (*notice)(void *context, const char *source), void *context) {
    session->notice = notice;
    session->notice_context = context;
}

void lg_device_close(lg_device_session *session) {
    if (!session) {
        return;
    }
    lg_device_drop_context(session);
    for (size_t i = 0; i < session->n_ptx; i++) {
        free(session->ptx[i].key);
        lg_compiled_free(&session->ptx[i].file);
        lg_ptx_index_free(&session->ptx[i].index);
    }
    for (size_t i = 0; i < session->n_slices; i++) {
        free(session->slices[i].key);
    }
    free(session->ptx);
    free(session->slices);
    free(session->prepared);
    lg_compiler_close(session->compiler);
    free(session->nvcc);
    free(session->cache_dir);
    free(session);
}

void lg_device_drop_context(lg_device_session *session) {
    if (session->context) {
        session->driver->cuCtxDestroy(session->context);
        session->context = NULL;
    }
}

bool lg_device_ensure_context(lg_device_session *session, lg_diags *diags) {
    const lg_driver *driver = session->driver;
    if (session->context) {
        CUresult error = driver->cuCtxSetCurrent(session->context);
        return !error || lg_device_error(session, diags, (lg_loc){0}, "cuCtxSetCurrent", error);
    }
    CUresult error = driver->cuCtxCreate(&session->context, 0, session->device);
    if (error) {
        session->context = NULL;
        return lg_device_error(session, diags, (lg_loc){0}, "cuCtxCreate", error);
    }
    session->generation++;
    session->base_launches = 0;
    return true;
}

static char *ptx_key(const lg_kernel *kernel) {
    lg_str key = {0};
    lg_str_add(&key, kernel->source ? kernel->source : kernel->ptx);
    for (int i = 0; i < kernel->n_nvcc_flags; i++) {
        lg_str_printf(&key, "\n%s", kernel->nvcc_flags[i]);
    }
    return lg_str_take(&key);
}

// A file of the user's is read, not mapped: an editor may cut it short under a running gate.
static void read_ptx(const lg_kernel *kernel, lg_compiled *file, lg_diags *diags) {
    file->path = lg_xstrdup(kernel->ptx);
    file->ptx = lg_read_file(kernel->ptx, &file->n_bytes);
    if (!file->ptx) {
        lg_error(diags, kernel->loc, "%s: cannot read %s: %s", kernel->name, kernel->ptx,
                 strerror(errno));
    } else if (strlen(file->ptx) != file->n_bytes) {
        lg_error(diags, kernel->loc, "%s: %s is not PTX text", kernel->name, kernel->ptx);
        lg_compiled_free(file);
    }
}

// The compiler is opened for the first source: whoever has PTX needs none.
static lg_compiler *need_compiler(lg_device_session *session, const lg_kernel *kernel,
                                  lg_diags *diags) {
    if (!session->compiler && session->nvcc) {
        session->compiler = lg_compiler_open(session->nvcc, session->cache_dir, diags);
        if (session->compiler) {
            lg_compiler_notify(session->compiler, session->notice, session->notice_context);
        }
    }
    if (!session->compiler) {
        free(session->nvcc); // it is looked for once
        session->nvcc = NULL;
        lg_error(diags, kernel->loc,
                 "%s: compiling %s needs nvcc, the CUDA compiler: install it (ci/setup.sh does), "
                 "name it with --nvcc, or give the manifest PTX (ptx: file.ptx)",
                 kernel->name, kernel->source);
    }
    return session->compiler;
}

// Compiles or reads the kernel's PTX; the text stays NULL when it cannot.
static void get_text(lg_device_session *session, const lg_kernel *kernel, lg_compiled *file,
                     lg_diags *diags) {
    if (!kernel->source) {
        read_ptx(kernel, file, diags);
    } else if (need_compiler(session, kernel, diags)) {
        lg_compile(session->compiler, kernel->source, kernel->nvcc_flags, kernel->n_nvcc_flags,
                   file, diags);
    }
}

static size_t find_or_add_ptx(lg_device_session *session, const lg_kernel *kernel,
                              lg_diags *diags) {
    char *key = ptx_key(kernel);
    for (size_t i = 0; i < session->n_ptx; i++) {
        if (strcmp(session->ptx[i].key, key) == 0) {
            free(key);
            return i;
        }
    }
    session->ptx = lg_xrealloc(session->ptx, (session->n_ptx + 1) * sizeof *session->ptx);
    lg_ptx_program *ptx = &session->ptx[session->n_ptx];
    *ptx = (lg_ptx_program){.key = key};
    get_text(session, kernel, &ptx->file, diags);
    if (ptx->file.ptx) {
        ptx->index = lg_ptx_index_make(ptx->file.ptx, ptx->file.n_bytes);
    }
    return session->n_ptx++;
}

bool lg_device_prepare(lg_device_session *session, const lg_kernel *kernel, lg_diags *diags) {
    for (size_t i = 0; i < session->n_prepared; i++) {
        if (session->prepared[i].kernel == kernel) {
            return session->prepared[i].ok;
        }
    }
    lg_prepared_kernel prepared = {.kernel = kernel};
    prepared.ptx = find_or_add_ptx(session, kernel, diags);
    const lg_compiled *file = &session->ptx[prepared.ptx].file;
    prepared.ok = file->ptx && lg_device_ensure_context(session, diags) &&
                  lg_device_check_entries(session, kernel, prepared.ptx, diags);
    lg_compiled_rest(file);
    // Decoded code of every type is large, and a case needs one: what is parsed stays.
    lg_device_drop_context(session);
    session->prepared = lg_xrealloc(session->prepared, (session->n_prepared + 1) * sizeof prepared);
    session->prepared[session->n_prepared++] = prepared;
    return prepared.ok;
}

const lg_prepared_kernel *lg_device_find(lg_device_session *session, const lg_kernel *kernel,
                                         lg_diags *diags) {
    if (!lg_device_prepare(session, kernel, diags)) {
        return NULL;
    }
    size_t i = 0;
    while (session->prepared[i].kernel != kernel) {
        i++;
    }
    return &session->prepared[i];
}

bool lg_device_run(lg_device_session *session, const lg_run_request *request, lg_observation *out,
                   lg_diags *diags) {
    *out = (lg_observation){.failed_launch_index = -1, .log = ""};
    lg_once_options options = {0};
    bool ok = false;
    switch (request->mode) {
    case LG_MODE_BLOCKING:
        options.blocking = true;
        ok = lg_run_once(session, request, &options, out, diags);
        break;
    case LG_MODE_ASYNC:
        options.bystanders = true;
        ok = lg_run_once(session, request, &options, out, diags);
        break;
    case LG_MODE_BLOCK_SIZES:
        ok = lg_run_block_sizes(session, request, out, diags);
        break;
    case LG_MODE_POISONED:
        ok = lg_run_poisoned(session, request, out, diags);
        break;
    case LG_MODE_UNSET:
    case LG_N_MODES:
        lg_error(diags, request->kernel->loc, "no launch mode");
        break;
    }
    if (!ok) {
        lg_device_drop_context(session); // frees whatever a run that broke off left there
    }
    return ok;
}
