// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "engine/driver/internal.h"

#include "support/alloc.h"

CUresult lg_simdrv_cuStreamCreate(CUstream *out, unsigned int flags) {
    LG_ENTER(context);
    if (!out || (flags != CU_STREAM_DEFAULT && flags != CU_STREAM_NON_BLOCKING)) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    *out = (CUstream)(uintptr_t)lg_simdrv_add(context, LG_SIMDRV_STREAM)->id;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuStreamDestroy(CUstream handle) {
    LG_ENTER(context);
    lg_simdrv_object *stream = lg_simdrv_find(context, LG_SIMDRV_STREAM, handle);
    if (!stream) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_HANDLE);
    }
    lg_simdrv_remove(context, stream); // its work stays in the queue and runs in its turn
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuStreamSynchronize(CUstream handle) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, handle, &stream);
    if (!error) {
        error = lg_simdrv_wait(context, lg_simdrv_last(context, stream));
    }
    return lg_simdrv_leave(context, error);
}

// One piece of work runs for each query, so that a loop that polls comes to its end.
static CUresult query(lg_simdrv_context *context, uint64_t number) {
    if (context->n_completed < number) {
        lg_simdrv_run_one(context);
    }
    CUresult error = lg_simdrv_surface(context);
    return error ? error : context->n_completed < number ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult lg_simdrv_cuStreamQuery(CUstream handle) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, handle, &stream);
    if (!error) {
        error = query(context, lg_simdrv_last(context, stream));
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    LG_ENTER(context);
    CUresult error = CUDA_SUCCESS;
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, handle, &stream);
    const lg_simdrv_object *waited = lg_simdrv_find(context, LG_SIMDRV_EVENT, event);
    if (!error && !waited) {
        error = CUDA_ERROR_INVALID_HANDLE;
    }
    if (!error && flags != CU_EVENT_WAIT_DEFAULT && flags != CU_EVENT_WAIT_EXTERNAL) {
        error = CUDA_ERROR_INVALID_VALUE;
    }
    // The queue runs in order of submission, so whatever the event marks runs first anyway; only
    // who waits for the stream has to wait for the event as well.
    if (!error && stream && waited->event.recorded > stream->stream.last) {
        stream->stream.last = waited->event.recorded;
    }
    return lg_simdrv_leave(context, error);
}

CUresult lg_simdrv_cuEventCreate(CUevent *out, unsigned int flags) {
    LG_ENTER(context);
    if (!out || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))) {
        return lg_simdrv_leave(context, CUDA_ERROR_INVALID_VALUE);
    }
    lg_simdrv_object *event = lg_simdrv_add(context, LG_SIMDRV_EVENT);
    event->event.flags = flags;
    *out = (CUevent)(uintptr_t)event->id;
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

// Every call on one event begins alike.
static CUresult enter_event(CUevent handle, lg_simdrv_context **context, lg_simdrv_object **event) {
    CUresult error = lg_simdrv_enter(context);
    if (error) {
        return error;
    }
    *event = lg_simdrv_find(*context, LG_SIMDRV_EVENT, handle);
    return *event ? CUDA_SUCCESS : lg_simdrv_leave(*context, CUDA_ERROR_INVALID_HANDLE);
}

CUresult lg_simdrv_cuEventDestroy(CUevent handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *event;
    CUresult error = enter_event(handle, &context, &event);
    if (error) {
        return error;
    }
    lg_simdrv_remove(context, event);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuEventRecord(CUevent handle, CUstream stream_handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *event;
    CUresult error = enter_event(handle, &context, &event);
    if (error) {
        return error;
    }
    lg_simdrv_object *stream;
    error = lg_simdrv_find_stream(context, stream_handle, &stream);
    if (error) {
        return lg_simdrv_leave(context, error);
    }
    lg_simdrv_work *work = lg_xcalloc(1, sizeof *work);
    work->kind = LG_SIMDRV_RECORD;
    work->event = event->id;
    work->event_record = event->event.recorded = context->n_submitted + 1;
    lg_simdrv_submit(context, stream, work);
    return lg_simdrv_leave(context, CUDA_SUCCESS);
}

CUresult lg_simdrv_cuEventSynchronize(CUevent handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *event;
    CUresult error = enter_event(handle, &context, &event);
    if (error) {
        return error;
    }
    return lg_simdrv_leave(context, lg_simdrv_wait(context, event->event.recorded));
}

CUresult lg_simdrv_cuEventQuery(CUevent handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *event;
    CUresult error = enter_event(handle, &context, &event);
    if (error) {
        return error;
    }
    return lg_simdrv_leave(context, query(context, event->event.recorded));
}

CUresult lg_simdrv_cuEventElapsedTime(float *ms, CUevent start_handle, CUevent end_handle) {
    lg_simdrv_context *context;
    lg_simdrv_object *start;
    CUresult error = enter_event(start_handle, &context, &start);
    if (error) {
        return error;
    }
    const lg_simdrv_object *end = lg_simdrv_find(context, LG_SIMDRV_EVENT, end_handle);
    if (!ms) {
        error = CUDA_ERROR_INVALID_VALUE;
    } else if (!end || !start->event.recorded || !end->event.recorded ||
               ((start->event.flags | end->event.flags) & CU_EVENT_DISABLE_TIMING)) {
        error = CUDA_ERROR_INVALID_HANDLE;
    } else if (start->event.completed < start->event.recorded ||
               end->event.completed < end->event.recorded) {
        error = CUDA_ERROR_NOT_READY;
    } else {
        *ms = (float)((double)(end->event.time_ns - start->event.time_ns) * 1e-6);
    }
    return lg_simdrv_leave(context, error);
}
