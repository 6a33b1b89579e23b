// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"
#include "device/internal.h"
#include "result/assert_log.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ASSERTS_KEPT = 256, MAX_LOG_BYTES = 256 * 1024 };

static lg_device_status status_of(CUresult error) {
    switch (error) {
    case CUDA_SUCCESS:
        return LG_STATUS_OK;
    case CUDA_ERROR_ASSERT:
        return LG_STATUS_ASSERT;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
        return LG_STATUS_ILLEGAL_ADDRESS;
    case CUDA_ERROR_LAUNCH_TIMEOUT:
        return LG_STATUS_TIMEOUT;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        return LG_STATUS_ILLEGAL_INSTRUCTION;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
        return LG_STATUS_MISALIGNED;
    case CUDA_ERROR_LAUNCH_FAILED:
        return LG_STATUS_TRAP;
    default: // CUresult is the driver's enum, and grows
        return LG_STATUS_OTHER;
    }
}

static void observe_log(const lg_driver *driver, lg_observation *out) {
    char *log = driver->take_log();
    size_t n = strlen(log);
    out->n_asserts = lg_assert_log_parse(log, n, MAX_ASSERTS_KEPT, &out->arena, &out->asserts,
                                         &out->n_asserts_kept);
    if (n <= MAX_LOG_BYTES) {
        out->log = lg_arena_strdup(&out->arena, log);
    } else {
        char *start = lg_arena_strndup(&out->arena, log, MAX_LOG_BYTES);
        out->log = lg_arena_printf(&out->arena, "%s\n[%zu more bytes]\n", start, n - MAX_LOG_BYTES);
    }
    free(log);
}

// Which launch it was: the device knows, or the launch that returned its own error.
static int failed_launch(const lg_device_session *session, const lg_device_fault *fault,
                         const lg_calls *calls, bool blocking) {
    if (fault->present && fault->error && fault->launch >= session->base_launches &&
        fault->launch - session->base_launches < (uint64_t)calls->n_launches) {
        return (int)(fault->launch - session->base_launches);
    }
    // An asynchronous launch may return the error of an earlier kernel; a refusal is always its
    // own.
    bool own = blocking || status_of(calls->error) == LG_STATUS_OTHER;
    for (int i = 0; own && i < calls->n_launches; i++) {
        if (calls->launches[i].call == calls->surfaced_call) {
            return i;
        }
    }
    return -1;
}

static void observe_memory(const lg_buffers *buffers, const lg_device_fault *fault,
                           lg_observation *out) {
    int64_t distance = 0;
    const lg_device_buffer *buffer =
        lg_buffers_nearest(buffers, fault->address, fault->bytes, &distance);
    // The engine may know a nearer neighbour that is no argument, a variable of the module.
    if (buffer && !lg_far_owns(buffer, fault->address) && fault->nearest_base &&
        fault->nearest_base != buffer->address && llabs(fault->distance) < llabs(distance)) {
        buffer = NULL;
    }
    lg_arena *arena = &out->arena;
    bool null = fault->kind == LG_DEVICE_FAULT_NULL_POINTER;
    buffer = null ? NULL : buffer;
    out->memory = (lg_memory_finding){
        .present = true,
        .kind = fault->kind,
        .write = fault->write,
        .address = fault->address,
        .bytes = fault->bytes,
        .buffer = buffer ? lg_arena_strdup(arena, buffer->name) : NULL,
        .buffer_arg = buffer ? buffer->arg : LG_N_ARGS,
        .null_arguments = null ? lg_buffers_null(buffers, arena) : NULL,
        .distance = buffer ? distance : fault->distance,
        .offset = buffer ? (int64_t)(fault->address - buffer->address) : 0,
        .file = fault->file ? lg_arena_strdup(arena, fault->file) : NULL,
        .line = fault->line,
        .block = {fault->block[0], fault->block[1], fault->block[2]},
        .thread = {fault->thread[0], fault->thread[1], fault->thread[2]},
    };
}

static void observe_fault(const lg_buffers *buffers, const lg_device_fault *fault,
                          lg_observation *out) {
    lg_arena *arena = &out->arena;
    switch (fault->present ? lg_device_fault_finder(fault->kind) : LG_FINDER_NONE) {
    case LG_FINDER_ACCESS:
    case LG_FINDER_INIT:
        observe_memory(buffers, fault, out);
        return;
    case LG_FINDER_RACE:
        out->race = lg_arena_strdup(arena, fault->text);
        return;
    case LG_FINDER_BARRIER:
        out->barrier = (lg_barrier_finding){
            .text = lg_arena_strdup(arena, fault->text),
            .file = fault->file ? lg_arena_strdup(arena, fault->file) : NULL,
            .line = fault->line,
        };
        return;
    case LG_FINDER_NONE:
    case LG_FINDER_EXECUTION:
    case LG_FINDER_LAUNCH:
        return;
    }
}

void lg_observe(const lg_device_session *session, const lg_buffers *buffers, const lg_calls *calls,
                bool blocking, lg_observation *out) {
    lg_arena *arena = &out->arena;
    lg_device_fault fault = session->driver->fault();
    out->status = status_of(calls->error);
    out->n_launches = calls->n_launches;
    out->launches = lg_arena_array(arena, (size_t)calls->n_launches + 1, sizeof *out->launches);
    for (int i = 0; i < calls->n_launches; i++) {
        out->launches[i] = calls->launches[i].what;
        out->launches[i].entry = lg_arena_strdup(arena, calls->launches[i].what.entry);
    }
    out->failed_launch_index = -1;
    if (calls->error) {
        const char *name = NULL;
        session->driver->cuGetErrorName(calls->error, &name);
        out->status_text =
            lg_arena_printf(arena, "%s (%d)", name ? name : "unknown error", (int)calls->error);
        out->surfaced_at = lg_arena_strdup(arena, calls->surfaced_at);
        int failed = failed_launch(session, &fault, calls, blocking);
        out->failed_launch_index = failed;
        if (failed >= 0) {
            out->failed_launch = out->launches[failed].entry;
            out->calls_later = (int)(calls->surfaced_call - calls->launches[failed].call);
        }
    }
    observe_log(session->driver, out);
    observe_fault(buffers, &fault, out);
}
