// SPDX-License-Identifier: Apache-2.0
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void free_work(lg_simdrv_work *work) {
    free(work->data);
    free(work);
}

static CUresult error_of_status(lg_sim_status status) {
    switch (status) {
    case LG_SIM_OK:
        return CUDA_SUCCESS;
    case LG_SIM_ASSERT:
        return CUDA_ERROR_ASSERT;
    case LG_SIM_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case LG_SIM_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case LG_SIM_TRAP:
        return CUDA_ERROR_LAUNCH_FAILED;
    case LG_SIM_ILLEGAL_INSTRUCTION:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case LG_SIM_TIMEOUT:
    case LG_SIM_BARRIER: // on a GPU the block waits until the watchdog ends it
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case LG_SIM_STACK_OVERFLOW:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case LG_SIM_LAUNCH_REFUSED:
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    case LG_SIM_OUT_OF_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_ERROR_UNKNOWN;
}

// An error after which the context cannot be used again.
static bool is_sticky(CUresult error) {
    return error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_TIMEOUT ||
           error == CUDA_ERROR_ASSERT ||
           (error >= CUDA_ERROR_HARDWARE_STACK_ERROR && error <= CUDA_ERROR_LAUNCH_FAILED);
}

// A sanitizer's finding (error 0) gives way to the first fault that ends a launch; after that the
// first one stays.
static void keep_fault(lg_simdrv_context *context, const lg_device_fault *fault) {
    if (context->fault.present && (context->fault.error || !fault->error)) {
        return;
    }
    lg_arena *arena = &context->arena;
    context->fault = *fault;
    lg_device_fault *kept = &context->fault;
    kept->present = true;
    kept->entry = lg_arena_strdup(arena, fault->entry ? fault->entry : "");
    kept->file = fault->file ? lg_arena_strdup(arena, fault->file) : NULL;
    kept->text = lg_arena_strdup(arena, fault->text ? fault->text : "");
}

static void keep_launch_fault(lg_simdrv_context *context, const lg_simdrv_work *work,
                              const lg_sim_result *result) {
    const lg_sim_fault *from = &result->fault;
    lg_device_fault fault = {
        .error = error_of_status(result->status),
        .kind = from->kind,
        .write = from->write,
        .entry = lg_simdrv_function(work->function)->name,
        .launch = work->launch_index,
        .address = from->address,
        .bytes = from->bytes,
        .nearest_base = from->has_nearest ? from->nearest_base : 0,
        .nearest_bytes = from->has_nearest ? from->nearest_bytes : 0,
        .distance = from->has_nearest ? from->distance : 0,
        .file = from->file,
        .line = from->line,
        .block = {from->block[0], from->block[1], from->block[2]},
        .thread = {from->thread[0], from->thread[1], from->thread[2]},
        .text = from->text,
    };
    keep_fault(context, &fault);
}

static CUresult run_launch(lg_simdrv_context *context, lg_simdrv_work *work) {
    work->launch.budget = context->budget;
    work->launch.checks = context->checks;
    work->launch.schedule = context->schedule;
    work->launch.params = work->data;
    lg_sim_result result = {0};
    lg_sim_launch_kernel(context->sim, work->function->function.module->module.decoded,
                         work->function->function.index, &work->launch, &result);
    CUresult error = error_of_status(result.status);
    if (result.log) {
        lg_str_add(&context->log, result.log);
    }
    if (error || result.has_fault) {
        keep_launch_fault(context, work, &result);
    }
    lg_sim_result_free(&result);
    return error;
}

// A copy whose range was right when it was submitted and is not any more, or that spans two
// allocations: on a GPU the copy engine faults.
static CUresult copy_fault(lg_simdrv_context *context, const lg_simdrv_work *work) {
    lg_device_fault fault = {.error = CUDA_ERROR_ILLEGAL_ADDRESS,
                             .kind = LG_DEVICE_FAULT_COPY,
                             .write = work->kind != LG_SIMDRV_READ,
                             .launch = context->n_launches,
                             .address = work->address,
                             .bytes = (int64_t)work->bytes,
                             .text = "an asynchronous copy or memset left its allocation"};
    keep_fault(context, &fault);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void run_record(lg_simdrv_context *context, const lg_simdrv_work *work) {
    lg_simdrv_object *event =
        lg_simdrv_find(context, LG_SIMDRV_EVENT, (void *)(uintptr_t)work->event);
    if (event && work->event_record == event->event.recorded) {
        event->event.completed = work->event_record;
        event->event.time_ns = now_ns();
    }
}

static CUresult run_work(lg_simdrv_context *context, lg_simdrv_work *work) {
    bool ok = true;
    switch (work->kind) {
    case LG_SIMDRV_LAUNCH:
        return run_launch(context, work);
    case LG_SIMDRV_WRITE:
        ok = lg_sim_write(context->sim, work->address, work->data, work->bytes);
        break;
    case LG_SIMDRV_READ:
        ok = lg_sim_read(context->sim, work->address, work->to, work->bytes);
        break;
    case LG_SIMDRV_FILL:
        ok = lg_sim_fill(context->sim, work->address, &work->value, 1, work->bytes);
        break;
    case LG_SIMDRV_RECORD:
        run_record(context, work);
        break;
    }
    return ok ? CUDA_SUCCESS : copy_fault(context, work);
}

void lg_simdrv_run_one(lg_simdrv_context *context) {
    lg_simdrv_work *work = context->head;
    if (!work) {
        return;
    }
    context->head = work->next;
    if (!context->head) {
        context->tail = NULL;
    }
    context->n_queued--;
    bool dead = context->dead || is_sticky(context->pending);
    if (!dead) {
        CUresult error = run_work(context, work);
        if (error && (!context->pending || is_sticky(error))) {
            context->pending = error;
        }
    } else if (work->kind == LG_SIMDRV_RECORD) {
        run_record(context, work); // the event completes with the error, it does not hang
    }
    context->n_completed = work->number;
    free_work(work);
}

void lg_simdrv_run_to(lg_simdrv_context *context, uint64_t number) {
    while (context->head && context->n_completed < number) {
        lg_simdrv_run_one(context);
    }
}

CUresult lg_simdrv_surface(lg_simdrv_context *context) {
    CUresult error = context->pending;
    context->pending = CUDA_SUCCESS;
    if (is_sticky(error)) {
        context->dead = error;
    }
    return error;
}

CUresult lg_simdrv_wait(lg_simdrv_context *context, uint64_t number) {
    lg_simdrv_run_to(context, number);
    return lg_simdrv_surface(context);
}

void lg_simdrv_submit(lg_simdrv_context *context, lg_simdrv_object *stream, lg_simdrv_work *work) {
    work->number = ++context->n_submitted;
    work->next = NULL;
    if (context->tail) {
        context->tail->next = work;
    } else {
        context->head = work;
    }
    context->tail = work;
    context->n_queued++;
    if (stream) {
        stream->stream.last = work->number;
    }
    while (context->n_queued > LG_SIMDRV_QUEUE_LENGTH) {
        lg_simdrv_run_one(context);
    }
}

void lg_simdrv_drop_queue(lg_simdrv_context *context) {
    while (context->head) {
        lg_simdrv_work *work = context->head;
        context->head = work->next;
        free_work(work);
    }
    context->tail = NULL;
    context->n_queued = 0;
    context->n_completed = context->n_submitted;
}

uint64_t lg_simdrv_last(const lg_simdrv_context *context, const lg_simdrv_object *stream) {
    return stream ? stream->stream.last : context->n_submitted;
}

CUresult lg_simdrv_find_stream(lg_simdrv_context *context, CUstream handle,
                               lg_simdrv_object **stream) {
    *stream = NULL;
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        return CUDA_SUCCESS;
    }
    *stream = lg_simdrv_find(context, LG_SIMDRV_STREAM, handle);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
