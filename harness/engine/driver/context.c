// SPDX-License-Identifier: Apache-2.0
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

// The driver API has one state a process by its contract: whether cuInit was called, and which
// contexts there are. This is the only home of it.
static struct {
    pthread_mutex_t lock;
    bool initialized;
    uint64_t last_id;
    lg_simdrv_context *contexts;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .last_id = 0x1000};

// The current context is per thread in the driver, too. An id, so that a context another thread
// destroyed is noticed. 0: none.
static _Thread_local uint64_t current;

bool lg_simdrv_initialized(void) {
    pthread_mutex_lock(&process.lock);
    bool initialized = process.initialized;
    pthread_mutex_unlock(&process.lock);
    return initialized;
}

CUresult lg_simdrv_cuInit(unsigned int flags) {
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&process.lock);
    process.initialized = true;
    pthread_mutex_unlock(&process.lock);
    return CUDA_SUCCESS;
}

static uint64_t new_id(void) {
    pthread_mutex_lock(&process.lock);
    uint64_t id = ++process.last_id;
    pthread_mutex_unlock(&process.lock);
    return id;
}

static lg_simdrv_context **find_context(uint64_t id) { // under the process' lock
    lg_simdrv_context **link = &process.contexts;
    while (*link && (*link)->id != id) {
        link = &(*link)->next;
    }
    return link;
}

static void free_context(lg_simdrv_context *context) {
    lg_simdrv_drop_queue(context);
    // Modules hold pointers into parsed images, functions into modules: the engine goes first.
    while (context->objects) {
        lg_simdrv_object *object = context->objects;
        if (object->kind == LG_SIMDRV_MODULE) {
            lg_simdrv_unload(context, object);
        } else {
            lg_simdrv_remove(context, object);
        }
    }
    lg_sim_destroy(context->sim);
    lg_str_free(&context->log);
    lg_arena_free(&context->arena);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

static void drop_user(lg_simdrv_context *context) {
    pthread_mutex_lock(&process.lock);
    bool last = --context->n_users == 0;
    pthread_mutex_unlock(&process.lock);
    if (last) {
        free_context(context);
    }
}

CUresult lg_simdrv_enter_any(lg_simdrv_context **out) {
    pthread_mutex_lock(&process.lock);
    if (!process.initialized) {
        pthread_mutex_unlock(&process.lock);
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    lg_simdrv_context *context = current ? *find_context(current) : NULL;
    if (context) {
        context->n_users++;
    }
    pthread_mutex_unlock(&process.lock);
    if (!context) {
        return current ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    }
    pthread_mutex_lock(&context->lock);
    if (context->destroyed) { // while this call waited for the lock
        return lg_simdrv_leave(context, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    *out = context;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_enter(lg_simdrv_context **out) {
    CUresult error = lg_simdrv_enter_any(out);
    if (error == CUDA_SUCCESS && (*out)->dead != CUDA_SUCCESS) {
        return lg_simdrv_leave(*out, (*out)->dead);
    }
    return error;
}

CUresult lg_simdrv_leave(lg_simdrv_context *context, CUresult result) {
    pthread_mutex_unlock(&context->lock);
    drop_user(context);
    return result;
}

static bool blocking_by_environment(void) {
    const char *text = getenv("CUDA_LAUNCH_BLOCKING");
    return text && *text && strcmp(text, "0") != 0;
}

CUresult lg_simdrv_cuCtxCreate(CUcontext *out, unsigned int flags, CUdevice device) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!out || (flags & ~(unsigned)CU_CTX_FLAGS_MASK)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (device != 0) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    lg_sim *sim = lg_sim_create();
    if (!sim) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    lg_simdrv_context *context = lg_xcalloc(1, sizeof *context);
    *context = (lg_simdrv_context){
        .id = new_id(), .n_users = 1, .sim = sim, .blocking = blocking_by_environment()};
    pthread_mutex_init(&context->lock, NULL);
    current = context->id;
    *out = (CUcontext)(uintptr_t)context->id;
    pthread_mutex_lock(&process.lock);
    context->next = process.contexts;
    process.contexts = context;
    pthread_mutex_unlock(&process.lock);
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuCtxDestroy(CUcontext handle) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    uint64_t id = (uintptr_t)handle;
    pthread_mutex_lock(&process.lock);
    lg_simdrv_context **link = find_context(id);
    lg_simdrv_context *context = *link;
    if (context) {
        *link = context->next;
    }
    pthread_mutex_unlock(&process.lock);
    if (!context) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    pthread_mutex_lock(&context->lock);
    context->destroyed = true;
    pthread_mutex_unlock(&context->lock);
    if (current == id) {
        current = 0;
    }
    drop_user(context);
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuCtxSetCurrent(CUcontext handle) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    uint64_t id = (uintptr_t)handle;
    pthread_mutex_lock(&process.lock);
    bool known = id == 0 || *find_context(id);
    pthread_mutex_unlock(&process.lock);
    if (!known) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    current = id;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuCtxGetCurrent(CUcontext *out) {
    if (!lg_simdrv_initialized()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (!out) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = (CUcontext)(uintptr_t)current;
    return CUDA_SUCCESS;
}

CUresult lg_simdrv_cuCtxSynchronize(void) {
    LG_ENTER(context);
    return lg_simdrv_leave(context, lg_simdrv_wait(context, context->n_submitted));
}

lg_simdrv_object *lg_simdrv_add(lg_simdrv_context *context, lg_simdrv_kind kind) {
    lg_simdrv_object *object = lg_xcalloc(1, sizeof *object);
    object->kind = kind;
    object->id = new_id();
    object->next = context->objects;
    context->objects = object;
    return object;
}

lg_simdrv_object *lg_simdrv_find(lg_simdrv_context *context, lg_simdrv_kind kind,
                                 const void *handle) {
    for (lg_simdrv_object **link = &context->objects; *link; link = &(*link)->next) {
        lg_simdrv_object *object = *link;
        if (object->kind == kind && object->id == (uintptr_t)handle) {
            *link = object->next; // to the front: what is used is used again
            object->next = context->objects;
            context->objects = object;
            return object;
        }
    }
    return NULL;
}

void lg_simdrv_remove(lg_simdrv_context *context, lg_simdrv_object *object) {
    lg_simdrv_object **link = &context->objects;
    while (*link != object) {
        link = &(*link)->next;
    }
    *link = object->next;
    if (object->kind == LG_SIMDRV_BUFFER) {
        lg_sim_free(context->sim, object->memory.address);
    } else if (object->kind == LG_SIMDRV_HOST) {
        lg_sim_free(context->sim, object->memory.address);
        free(object->memory.host);
    }
    free(object);
}
