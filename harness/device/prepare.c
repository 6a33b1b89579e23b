// SPDX-License-Identifier: Apache-2.0
// A manifest's stages against the entries of its PTX, before anything runs.
#include "device/internal.h"

#include "support/alloc.h"
#include "support/str.h"

#include <stdlib.h>
#include <string.h>

// The label type whose entry reads labels of type `target`: that type, or for raw labels (which
// only an unchecked kernel is given) int64 if there is such an entry, else the first there is.
static lg_dtype entry_target(const lg_kernel *kernel, lg_dtype target) {
    uint32_t takes = kernel->target_dtypes;
    if (takes == 0 || takes & 1u << target) {
        return target;
    }
    return takes & 1u << LG_INT64 ? LG_INT64 : (lg_dtype)__builtin_ctz(takes);
}

char *lg_entry_name(const lg_kernel *kernel, const char *entry, lg_dtype input, lg_dtype target) {
    const struct {
        const char *mark;
        const char *text;
    } marks[] = {{"{dtype}", lg_dtype_name(input)},
                 {"{target}", lg_dtype_name(entry_target(kernel, target))},
                 {"{policy}", lg_policy_name(kernel->policy)}};
    lg_str name = {0};
    for (const char *at = entry; *at;) {
        size_t i = 0;
        while (i < sizeof marks / sizeof *marks &&
               strncmp(at, marks[i].mark, strlen(marks[i].mark)) != 0) {
            i++;
        }
        if (i < sizeof marks / sizeof *marks) {
            lg_str_add(&name, marks[i].text);
            at += strlen(marks[i].mark);
        } else {
            lg_str_add_n(&name, at++, 1);
        }
    }
    return name.text ? lg_str_take(&name) : lg_xstrdup("");
}

int lg_entry_params(const lg_driver *driver, CUfunction function, size_t *bytes, int n) {
    for (int i = 0; i <= n; i++) {
        size_t offset;
        size_t size;
        if (driver->cuFuncGetParamInfo(function, (size_t)i, &offset, &size) != CUDA_SUCCESS) {
            return i;
        }
        if (i < n) {
            bytes[i] = size;
        }
    }
    return n + 1;
}

static bool size_fits(lg_arg_kind kind, size_t bytes) {
    return kind == LG_ARG_BUFFER ? bytes == 8 : bytes == 4 || bytes == 8;
}

static const char *kind_words(lg_arg_kind kind) {
    switch (kind) {
    case LG_ARG_BUFFER:
        return "a pointer of 8 bytes";
    case LG_ARG_SIZE:
        return "an integer of 4 or 8 bytes";
    case LG_ARG_REAL:
        return "a float of 4 bytes or a double of 8";
    }
    return "";
}

// Where the arguments stand; the stage, when it was not read from a file.
static lg_loc args_loc(const lg_stage *stage) {
    return stage->args_loc.line ? stage->args_loc : stage->loc;
}

static bool report_count(const lg_kernel *kernel, const lg_stage *stage, const char *entry,
                         const size_t *bytes, int n_params, lg_diags *diags) {
    lg_str sizes = {0};
    for (int i = 0; i < n_params && i < LG_MAX_PARAMS; i++) {
        lg_str_printf(&sizes, "%s%zu", i ? ", " : "", bytes[i]);
    }
    lg_error(diags, args_loc(stage),
             "%s: the entry %s has %s%d parameters, the stage passes %d; its parameters have %s "
             "bytes",
             kernel->name, entry, n_params > LG_MAX_PARAMS ? "more than " : "",
             n_params > LG_MAX_PARAMS ? LG_MAX_PARAMS : n_params, stage->n_args,
             lg_str_text(&sizes));
    lg_str_free(&sizes);
    return false;
}

static bool check_args(const lg_driver *driver, CUfunction function, const lg_kernel *kernel,
                       const lg_stage *stage, const char *entry, const size_t *bytes, int n_params,
                       lg_diags *diags) {
    if (stage->n_args < 0) { // not known
        return true;
    }
    if (n_params != stage->n_args) {
        return report_count(kernel, stage, entry, bytes, n_params, diags);
    }
    bool ok = true;
    for (int i = 0; i < n_params; i++) {
        const lg_arg *arg = &stage->args[i];
        if (arg->id == LG_N_ARGS && arg->scratch < 0) {
            continue; // not known
        }
        lg_arg_kind kind = lg_arg_kind_of(arg->id);
        if (!size_fits(kind, bytes[i])) {
            ok =
                lg_error(diags, args_loc(stage), "%s: parameter %d of %s has %zu bytes; '%s' is %s",
                         kernel->name, i, entry, bytes[i], arg->name, kind_words(kind));
        } else if (kind != LG_ARG_BUFFER && bytes[i] == 8 && driver->takes_pointer &&
                   driver->takes_pointer(function, i)) {
            ok = lg_error(diags, args_loc(stage), "%s: parameter %d of %s is a pointer; '%s' is %s",
                          kernel->name, i, entry, arg->name, kind_words(kind));
        }
    }
    return ok;
}

static bool check_entry(lg_device_session *session, const lg_kernel *kernel, size_t ptx,
                        const lg_stage *stage, lg_dtype input, lg_dtype target, const char *entry,
                        bool *loads, lg_diags *diags) {
    CUmodule module;
    *loads = lg_device_module(session, ptx, kernel, input, target, &module, diags);
    if (!*loads) {
        return false;
    }
    CUfunction function;
    CUresult error = session->driver->cuModuleGetFunction(&function, module, entry);
    if (error == CUDA_ERROR_NOT_FOUND) {
        return lg_error(diags, stage->loc, "%s: there is no entry %s in %s", kernel->name, entry,
                        kernel->source ? kernel->source : kernel->ptx);
    }
    if (error) {
        return lg_device_error(session, diags, stage->loc, "cuModuleGetFunction", error);
    }
    size_t bytes[LG_MAX_PARAMS];
    int n_params = lg_entry_params(session->driver, function, bytes, LG_MAX_PARAMS);
    return check_args(session->driver, function, kernel, stage, entry, bytes, n_params, diags);
}

// Each combination of types the manifest promises must exist. A name without {target} is checked
// once a type, not once a pair.
static bool check_stage(lg_device_session *session, const lg_kernel *kernel, size_t ptx,
                        const lg_stage *stage, lg_diags *diags) {
    bool ok = true;
    bool once_input = false;
    bool loads = true; // after a load that failed, which told all, no other is tried
    for (int input = 1; input < LG_N_DTYPES && loads; input++) {
        if (!(kernel->input_dtypes & 1u << input) || (once_input && !stage->entry_by_dtype)) {
            continue;
        }
        once_input = true;
        bool once_target = false;
        for (int target = 1; target < LG_N_DTYPES && loads; target++) {
            if (!(kernel->target_dtypes & 1u << target) ||
                (once_target && !stage->entry_by_target)) {
                continue;
            }
            once_target = true;
            char *entry = lg_entry_name(kernel, stage->entry, (lg_dtype)input, (lg_dtype)target);
            ok = check_entry(session, kernel, ptx, stage, (lg_dtype)input, (lg_dtype)target, entry,
                             &loads, diags) &&
                 ok;
            free(entry);
        }
    }
    return ok;
}

bool lg_device_check_entries(lg_device_session *session, const lg_kernel *kernel, size_t ptx,
                             lg_diags *diags) {
    bool ok = true;
    if (kernel->n_stages == 0 || kernel->n_stages + 2 > LG_MAX_LAUNCHES) {
        ok = lg_error(diags, kernel->loc, "%s: it has %d stages; 1 to %d can be launched",
                      kernel->name, kernel->n_stages, LG_MAX_LAUNCHES - 2);
    }
    for (int i = 0; i < kernel->n_stages; i++) {
        ok = check_stage(session, kernel, ptx, &kernel->stages[i], diags) && ok;
    }
    return ok;
}
