// SPDX-License-Identifier: Apache-2.0
// Modules and what a function says of itself.
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// The problems of the last load, one list a thread, freed when the thread ends.
static pthread_key_t load_diags_key;
static pthread_once_t load_diags_once = PTHREAD_ONCE_INIT;

static void free_load_diags(void *memory) {
    lg_diags_free(memory);
    free(memory);
}

static void make_load_diags_key(void) {
    pthread_key_create(&load_diags_key, free_load_diags);
}

static lg_diags *load_diags(void) {
    pthread_once(&load_diags_once, make_load_diags_key);
    lg_diags *diags = pthread_getspecific(load_diags_key);
    if (!diags) {
        diags = lg_xcalloc(1, sizeof *diags);
        pthread_setspecific(load_diags_key, diags);
    }
    return diags;
}

const lg_diags *lg_simdrv_load_diags(void) {
    return load_diags();
}

// The caller's log buffers, as the JIT options give them: the buffer, and its size beforehand, the
// bytes used afterwards.
typedef struct log_options {
    char *error_log;
    size_t error_bytes;
    void **error_size_value;
    void **info_size_value;
} log_options;

static log_options read_options(unsigned n, const CUjit_option *options, void **values) {
    log_options logs = {0};
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
            logs.error_log = values[i];
        } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            logs.error_bytes = (uintptr_t)values[i] & UINT32_MAX;
            logs.error_size_value = &values[i];
        } else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
            logs.info_size_value = &values[i];
        }
    }
    return logs;
}

static void write_log(const log_options *logs, const lg_diags *diags) {
    lg_str text = {0};
    for (size_t i = 0; i < diags->n; i++) {
        const lg_diag *diag = &diags->items[i];
        lg_str_printf(&text, "%s:%d:%d: %s\n", diag->file ? diag->file : "ptx", diag->line,
                      diag->column, diag->message);
    }
    size_t n = 0;
    if (logs->error_log && logs->error_bytes) {
        n = text.n < logs->error_bytes ? text.n : logs->error_bytes - 1;
        memcpy(logs->error_log, lg_str_text(&text), n);
        logs->error_log[n] = '\0';
    }
    if (logs->error_size_value) {
        *logs->error_size_value = (void *)(uintptr_t)n;
    }
    if (logs->info_size_value) {
        *logs->info_size_value = NULL;
    }
    lg_str_free(&text);
}

static CUresult load(lg_simdrv_context *context, const char *text, lg_diags *diags, CUmodule *out) {
    // A cubin or a fat binary: code for a real GPU.
    if (memcmp(text, "\177ELF", 4) == 0 || memcmp(text, "\x50\xed\x55\xba", 4) == 0) {
        lg_error(diags, (lg_loc){0},
                 "the image is machine code; the embedded device runs PTX text");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    lg_simdrv_image *image = lg_simdrv_image_acquire(text, diags);
    if (!image) {
        return CUDA_ERROR_INVALID_PTX;
    }
    lg_sim_module *decoded = lg_sim_load(context->sim, lg_simdrv_image_ptx(image), diags);
    if (!decoded) {
        lg_simdrv_image_release(image);
        return CUDA_ERROR_INVALID_PTX;
    }
    lg_simdrv_object *module = lg_simdrv_add(context, LG_SIMDRV_MODULE);
    module->module.image = image;
    module->module.decoded = decoded;
    *out = (CUmodule)(uintptr_t)module->id;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned int n_options,
                                      CUjit_option *options, void **values) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    if (!out || !image || (n_options && (!options || !values))) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    lg_diags *diags = load_diags();
    lg_diags_free(diags);
    *diags = (lg_diags){0};
    error = strnlen(image, 4) < 4 ? CUDA_ERROR_INVALID_IMAGE : load(context, image, diags, out);
    log_options logs = read_options(n_options, options, values);
    write_log(&logs, diags);
    return lg_simdrv_leave(context, error);
}

void lg_simdrv_unload(lg_simdrv_context *context, lg_simdrv_object *module) {
    for (lg_simdrv_object *object = context->objects; object;) {
        lg_simdrv_object *next = object->next;
        if (object->kind == LG_SIMDRV_FUNCTION && object->function.module == module) {
            lg_simdrv_remove(context, object);
        }
        object = next;
    }
    lg_sim_unload(context->sim, module->module.decoded);
    lg_simdrv_image_release(module->module.image);
    lg_simdrv_remove(context, module);
}

// Every call on one module begins alike.
static CUresult enter_module(CUmodule handle, lg_simdrv_context **context,
                             lg_simdrv_object **module) {
    CUresult error = lg_simdrv_enter(context);
    if (error) {
        return error;
    }
    *module = lg_simdrv_find(*context, LG_SIMDRV_MODULE, handle);
    return *module ? CUDA_SUCCESS : lg_simdrv_leave(*context, CUDA_ERROR_INVALID_HANDLE);
}

CUresult lg_simdrv_cuModuleUnload(CUmodule handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *module;
    CUresult error = enter_module(handle, &context, &module);
    if (error) {
        return error;
    }
    lg_simdrv_run_to(context, context->n_submitted); // queued launches still need it
    lg_simdrv_unload(context, module);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name) {
    lg_simdrv_context *context;
    lg_simdrv_object *module;
    CUresult error = enter_module(handle, &context, &module);
    if (error) {
        return error;
    }
    if (!out || !name) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    const lg_ptx_module *ptx = lg_simdrv_image_ptx(module->module.image);
    int index = lg_ptx_find_function(ptx, name);
    if (index < 0 || !ptx->functions[index].is_entry) {
        return lg_simdrv_leave(context, CUDA_ERROR_NOT_FOUND);
    }
    for (lg_simdrv_object *object = context->objects; object; object = object->next) {
        if (object->kind == LG_SIMDRV_FUNCTION && object->function.module == module &&
            object->function.index == index) {
            *out = (CUfunction)(uintptr_t)object->id;
            return lg_simdrv_leave(context, CUDA_SUCCESS);
        }
    }
    lg_simdrv_object *function = lg_simdrv_add(context, LG_SIMDRV_FUNCTION);
    function->function.module = module;
    function->function.index = index;
    uint64_t used = lg_simdrv_static_shared(function);
    function->function.max_dynamic_shared =
        used < LG_SIMDRV_MAX_SHARED ? (uint32_t)(LG_SIMDRV_MAX_SHARED - used) : 0;
    *out = (CUfunction)(uintptr_t)function->id;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule handle,
                                     const char *name) {
    lg_simdrv_context *context;
    lg_simdrv_object *module;
    CUresult error = enter_module(handle, &context, &module);
    if (error) {
        return error;
    }
    if (!name || (!address && !bytes)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    uint64_t base;
    uint64_t size;
    if (!lg_sim_global(module->module.decoded, name, &base, &size)) {
        return lg_simdrv_leave(context, CUDA_ERROR_NOT_FOUND);
    }
    if (address) {
        *address = base;
    }
    if (bytes) {
        *bytes = size;
    }
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

const lg_ptx_function *lg_simdrv_function(const lg_simdrv_object *function) {
    const lg_ptx_module *ptx = lg_simdrv_image_ptx(function->function.module->module.image);
    return &ptx->functions[function->function.index];
}

static uint64_t module_bytes(const lg_simdrv_object *function, lg_ptx_space space) {
    const lg_ptx_module *ptx = lg_simdrv_image_ptx(function->function.module->module.image);
    uint64_t bytes = 0;
    for (int i = 0; i < ptx->n_symbols; i++) {
        if (ptx->symbols[i].space == space) {
            bytes += ptx->symbols[i].bytes;
        }
    }
    return bytes;
}

uint64_t lg_simdrv_static_shared(const lg_simdrv_object *function) {
    return lg_sim_static_shared(function->function.module->module.decoded,
                                function->function.index);
}

static uint64_t product(const uint32_t size[3]) {
    return (uint64_t)(size[0] ? size[0] : 1) * (size[1] ? size[1] : 1) * (size[2] ? size[2] : 1);
}

uint32_t lg_simdrv_max_threads(const lg_simdrv_object *function) {
    const lg_ptx_function *ptx = lg_simdrv_function(function);
    uint64_t limit = ptx->req_threads[0]   ? product(ptx->req_threads)
                     : ptx->max_threads[0] ? product(ptx->max_threads)
                                           : LG_SIMDRV_MAX_THREADS;
    return (uint32_t)(limit < LG_SIMDRV_MAX_THREADS ? limit : LG_SIMDRV_MAX_THREADS);
}

// Every call on one function begins alike.
static CUresult enter_function(CUfunction handle, lg_simdrv_context **context,
                               lg_simdrv_object **function) {
    CUresult error = lg_simdrv_enter(context);
    if (error) {
        return error;
    }
    *function = lg_simdrv_find(*context, LG_SIMDRV_FUNCTION, handle);
    return *function ? CUDA_SUCCESS : lg_simdrv_leave(*context, CUDA_ERROR_INVALID_HANDLE);
}

static int clamp_int(uint64_t value) {
    return value < INT32_MAX ? (int)value : INT32_MAX;
}

CUresult lg_simdrv_cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                      CUfunction handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *function;
    CUresult error = enter_function(handle, &context, &function);
    if (error) {
        return error;
    }
    if (!value || (int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    const lg_ptx_function *ptx = lg_simdrv_function(function);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)lg_simdrv_max_threads(function);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = clamp_int(lg_simdrv_static_shared(function));
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = clamp_int(module_bytes(function, LG_SPACE_CONST));
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = clamp_int(ptx->local_bytes);
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: // virtual registers: the engine does not allocate real ones
        *value = ptx->n_regs < 255 ? ptx->n_regs : 255;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: // of the target: sm_75 is 75
        *value = lg_simdrv_image_ptx(function->function.module->module.image)->sm;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = LG_SIMDRV_CAPABILITY;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)function->function.max_dynamic_shared;
        break;
    default: // caches and clusters, which the device does not have
        *value = 0;
        break;
    }
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute,
                                      int value) {
    lg_simdrv_context *context;
    lg_simdrv_object *function;
    CUresult error = enter_function(handle, &context, &function);
    if (error) {
        return error;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 &&
        value <= 100) {
        return lg_simdrv_leave(context, CUDA_SUCCESS); // a hint
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
        (uint64_t)value + lg_simdrv_static_shared(function) > LG_SIMDRV_MAX_SHARED_OPTIN) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    function->function.max_dynamic_shared = (uint32_t)value;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset,
                                      size_t *bytes) {
    lg_simdrv_context *context;
    lg_simdrv_object *function;
    CUresult error = enter_function(handle, &context, &function);
    if (error) {
        return error;
    }
    const lg_ptx_function *ptx = lg_simdrv_function(function);
    if (!offset || index >= (size_t)ptx->n_params) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    const lg_ptx_symbol *param = &ptx->symbols[(size_t)ptx->n_returns + index];
    *offset = param->offset;
    if (bytes) {
        *bytes = param->bytes;
    }
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// The register that a load of the parameter writes, or -1.
static int32_t loaded_register(const lg_ptx_function *ptx, const lg_ptx_insn *insn, int parameter) {
    const lg_ptx_operand *from = &insn->operands[1];
    bool loads = insn->op == LG_OP_LD && insn->mods.space == LG_SPACE_PARAM &&
                 insn->n_operands == 2 && insn->operands[0].kind == LG_OPERAND_REG &&
                 from->kind == LG_OPERAND_MEM && from->symbol_is_local &&
                 from->symbol == ptx->n_returns + parameter;
    return loads ? insn->operands[0].reg : -1;
}

static bool makes_global(const lg_ptx_insn *insn, int32_t reg) {
    return insn->op == LG_OP_CVTA && insn->mods.to && insn->mods.space == LG_SPACE_GLOBAL &&
           insn->n_operands == 2 && insn->operands[1].kind == LG_OPERAND_REG &&
           insn->operands[1].reg == reg;
}

bool lg_simdrv_takes_pointer(CUfunction handle, int parameter) {
    lg_simdrv_context *context;
    lg_simdrv_object *function;
    if (enter_function(handle, &context, &function)) {
        return false;
    }
    const lg_ptx_function *ptx = lg_simdrv_function(function);
    bool found = false;
    for (int i = 0; i < ptx->n_insns && !found; i++) {
        int32_t reg = loaded_register(ptx, &ptx->insns[i], parameter);
        for (int k = 0; reg >= 0 && k < ptx->n_insns && !found; k++) {
            found = makes_global(&ptx->insns[k], reg);
        }
    }
    lg_simdrv_leave(context, CUDA_SUCCESS);
    return found;
}
