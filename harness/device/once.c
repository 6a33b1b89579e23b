// SPDX-License-Identifier: Apache-2.0
// One run of a kernel's stages on one batch.
#include "device/internal.h"

#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    lg_device_session *session;
    const lg_driver *driver;
    const lg_kernel *kernel;
    const lg_batch *batch;
    const lg_once_options *options;
    lg_arena *arena; // the observation's
    lg_diags *diags;
    CUmodule module;
    CUstream stream;
    lg_size_values sizes;
    lg_buffers buffers;
    lg_calls calls;
    const lg_stage **stages;
    int n_stages;
    uint64_t budget;            // of a launch; 0: lg_device_budget
    const char *earlier_launch; // of a batch before, which ended the context; NULL: it lives
    const char *not_run;        // lg_observation.not_run
} run;

int lg_stages_of(const lg_kernel *kernel, lg_direction direction, const lg_stage **out) {
    bool forward = direction & LG_FORWARD;
    bool backward = direction & LG_BACKWARD;
    // Backward reads what only forward writes.
    for (int i = 0; i < kernel->n_stages && backward; i++) {
        const lg_stage *stage = &kernel->stages[i];
        forward |= stage->direction == LG_BACKWARD && lg_stage_takes(stage, LG_ARG_TOTAL_WEIGHT);
    }
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < kernel->n_stages; i++) {
            bool is_backward = kernel->stages[i].direction == LG_BACKWARD;
            if (is_backward == (pass == 1) && (is_backward ? backward : forward)) {
                out[n++] = &kernel->stages[i];
            }
        }
    }
    return n;
}

// What the stages use, and which outputs the run has to show: the loss only when forward was asked
// for.
uint64_t lg_device_budget(const lg_batch *batch, double n_warps) {
    const double most = 1e10;
    double n = (double)lg_tensor_numel(&batch->input) +
               (double)lg_tensor_numel(lg_batch_device_target(batch));
    double budget = LG_BUDGET_LEAST + LG_BUDGET_PER_WARP * n_warps + LG_BUDGET_PER_ELEMENT * n;
    return (uint64_t)(budget < most ? budget : most);
}

static bool plan_buffers(run *r, int64_t *scratch_bytes) {
    lg_buffers *buffers = &r->buffers;
    buffers->driver = r->driver;
    buffers->arena = r->arena;
    buffers->n_scratch = r->kernel->n_scratch;
    buffers->scratch =
        lg_arena_array(r->arena, (size_t)r->kernel->n_scratch + 1, sizeof *buffers->scratch);
    for (int i = 0; i < r->n_stages; i++) {
        const lg_stage *stage = r->stages[i];
        bool backward = stage->direction == LG_BACKWARD;
        for (int k = 0; k < stage->n_args; k++) {
            lg_buffers_use(buffers, &stage->args[k]);
        }
        buffers->args[LG_ARG_TOTAL_WEIGHT].reported |=
            !backward && lg_stage_takes(stage, LG_ARG_TOTAL_WEIGHT);
        buffers->args[LG_ARG_OUTPUT].reported |=
            (r->batch->loss.direction & LG_FORWARD) && lg_stage_takes(stage, LG_ARG_OUTPUT);
        buffers->args[LG_ARG_GRAD_INPUT].reported |=
            backward && lg_stage_takes(stage, LG_ARG_GRAD_INPUT);
    }
    for (int i = 0; i < r->kernel->n_scratch; i++) {
        if (!lg_sizes_eval(&r->sizes, r->kernel->scratch[i].bytes, 0, r->kernel->loc,
                           &scratch_bytes[i], r->diags)) {
            return false;
        }
        if (scratch_bytes[i] < 0) {
            return lg_error(r->diags, r->kernel->loc, "%s: scratch %s would have %lld bytes",
                            r->kernel->name, r->kernel->scratch[i].name,
                            (long long)scratch_bytes[i]);
        }
    }
    return true;
}

typedef struct geometry {
    int64_t grid[3];
    int64_t block[3];
    int64_t shared_bytes;
} geometry;

static bool measure(run *r, const lg_stage *stage, geometry *g) {
    lg_expr block_x = stage->block[0];
    if (stage->n_block_x > 0) {
        int last = stage->n_block_x - 1;
        block_x = stage->block_x[r->options->block_size < last ? r->options->block_size : last];
    }
    bool ok = lg_sizes_eval(&r->sizes, block_x, 1, stage->loc, &g->block[0], r->diags);
    r->sizes.block_x = g->block[0];
    for (int i = 0; ok && i < 3; i++) {
        ok = (i == 0 ||
              lg_sizes_eval(&r->sizes, stage->block[i], 1, stage->loc, &g->block[i], r->diags)) &&
             lg_sizes_eval(&r->sizes, stage->grid[i], 1, stage->loc, &g->grid[i], r->diags);
    }
    ok = ok &&
         lg_sizes_eval(&r->sizes, stage->shared_bytes, 0, stage->loc, &g->shared_bytes, r->diags);
    for (int i = 0; ok && i < 3; i++) {
        if (g->grid[i] < 0 || g->grid[i] > UINT32_MAX || g->block[i] < 1 ||
            g->block[i] > UINT32_MAX) {
            ok = lg_error(r->diags, stage->loc,
                          "%s: %s would have a grid of %lld and a block of %lld", r->kernel->name,
                          stage->entry, (long long)g->grid[i], (long long)g->block[i]);
        }
    }
    if (ok && (g->shared_bytes < 0 || g->shared_bytes > INT32_MAX)) {
        ok = lg_error(r->diags, stage->loc, "%s: %s would have %lld bytes of shared memory",
                      r->kernel->name, stage->entry, (long long)g->shared_bytes);
    }
    return ok;
}

static bool is_stride(lg_arg_id id) {
    return id >= LG_ARG_INPUT_STRIDE_N && id <= LG_ARG_TARGET_STRIDE_S;
}

// The values behind the parameters; each has 8 bytes of its own.
static bool fill_param(run *r, const lg_stage *stage, int i, size_t bytes, uint64_t *to) {
    const lg_arg *arg = &stage->args[i];
    lg_arg_id id = arg->id;
    lg_arg_kind kind = lg_arg_kind_of(id);
    if (kind == LG_ARG_BUFFER) {
        *to = lg_buffers_address(&r->buffers, arg);
        return true;
    }
    if (kind == LG_ARG_REAL) {
        double real = r->sizes.label_smoothing;
        float narrow = (float)real;
        memcpy(to, bytes == 8 ? (const void *)&real : (const void *)&narrow, bytes);
        return true;
    }
    int64_t value = id == LG_ARG_LAUNCH_INDEX ? r->calls.n_launches : r->sizes.value[id];
    if (bytes == 4 && (value < INT32_MIN || value > INT32_MAX)) {
        if (is_stride(id)) { // a caller that looks does not call such a kernel
            r->not_run =
                lg_arena_printf(r->arena, "it takes '%s' in 32 bits, and %lld does not fit",
                                arg->name, (long long)value);
            return false;
        }
        return lg_error(r->diags, stage->loc, "%s: %s takes '%s' in 32 bits, and %lld does not fit",
                        r->kernel->name, stage->entry, arg->name, (long long)value);
    }
    memcpy(to, &value, sizeof value); // little endian: the low half comes first
    return true;
}

static bool raise_shared_limit(run *r, CUfunction function, int64_t shared_bytes) {
    int limit = 0;
    CUresult error = r->driver->cuFuncGetAttribute(
        &limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
    if (!error && shared_bytes > limit) {
        error = r->driver->cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared_bytes);
    }
    return !error ||
           lg_device_error(r->session, r->diags, r->kernel->loc, "dynamic shared memory", error);
}

// Submits a stage. *submitted is false when its launch call returned an error: that is an
// observation.
static bool launch_stage(run *r, const lg_stage *stage, bool *submitted) {
    geometry g;
    if (!measure(r, stage, &g)) {
        return false;
    }
    if (g.grid[0] == 0 || g.grid[1] == 0 || g.grid[2] == 0) {
        return true; // nothing to do: an empty batch
    }
    char *name = lg_entry_name(r->kernel, stage->entry, r->batch->input.dtype,
                               lg_batch_device_target(r->batch)->dtype);
    const char *entry = lg_arena_strdup(r->arena, name);
    free(name);
    CUfunction function;
    CUresult error = r->driver->cuModuleGetFunction(&function, r->module, entry);
    if (error && r->earlier_launch) { // of no use to a caller, and nothing of ours
        lg_note_call(&r->calls, "cuModuleGetFunction", error);
        *submitted = false;
        return true;
    }
    if (error) { // not there for these types, or the context died: see below
        return lg_device_error(r->session, r->diags, stage->loc, entry, error);
    }
    size_t bytes[LG_MAX_PARAMS];
    uint64_t values[LG_MAX_PARAMS];
    void *params[LG_MAX_PARAMS];
    int n_params = lg_entry_params(r->driver, function, bytes, LG_MAX_PARAMS);
    if (n_params != stage->n_args) {
        return lg_error(r->diags, stage->loc, "%s: %s has %d parameters, not %d", r->kernel->name,
                        entry, n_params, stage->n_args);
    }
    for (int i = 0; i < n_params; i++) {
        params[i] = &values[i];
        if (!fill_param(r, stage, i, bytes[i], &values[i])) {
            return false;
        }
    }
    if (!raise_shared_limit(r, function, g.shared_bytes)) {
        return false;
    }
    double blocks = (double)g.grid[0] * (double)g.grid[1] * (double)g.grid[2];
    double threads = (double)g.block[0] * (double)g.block[1] * (double)g.block[2];
    double warps = blocks * ceil(threads / 32);
    r->driver->set_budget(r->budget ? r->budget : lg_device_budget(r->batch, warps));
    r->calls.launches[r->calls.n_launches++] =
        (lg_launch_note){.what = {.entry = entry,
                                  .stage = (int)(stage - r->kernel->stages),
                                  .grid = {g.grid[0], g.grid[1], g.grid[2]},
                                  .block = {g.block[0], g.block[1], g.block[2]}},
                         .call = r->calls.n_calls};
    *submitted = LG_CALL(&r->calls, r->driver, cuLaunchKernel, function, (unsigned)g.grid[0],
                         (unsigned)g.grid[1], (unsigned)g.grid[2], (unsigned)g.block[0],
                         (unsigned)g.block[1], (unsigned)g.block[2], (unsigned)g.shared_bytes,
                         r->stream, params, NULL);
    return true;
}

// A caller that gets an error from a blocking launch launches nothing more.
static bool launch_stages(run *r) {
    bool submitted = true;
    for (int i = 0; submitted && i < r->n_stages; i++) {
        bool backward = r->stages[i]->direction == LG_BACKWARD;
        if (backward && r->options->blocking &&
            (i == 0 || r->stages[i - 1]->direction != LG_BACKWARD)) {
            lg_buffers_keep_total_weight(&r->buffers);
        }
        if (!launch_stage(r, r->stages[i], &submitted)) {
            return false;
        }
    }
    return true;
}

// Runs a batch that must end the context, and forgets it: what the next caller finds.
static bool end_context(run *r) {
    if (!launch_stages(r)) {
        return false;
    }
    LG_CALL(&r->calls, r->driver, cuStreamSynchronize, r->stream);
    if (!r->calls.error || r->calls.n_launches == 0) {
        return lg_error(r->diags, r->kernel->loc, "%s: the batch before did not end the context",
                        r->kernel->name);
    }
    r->earlier_launch = r->calls.launches[0].what.entry;
    r->session->base_launches += (uint64_t)r->calls.n_launches;
    free(r->driver->take_log()); // the asserts are its own
    return true;
}

// Leaves the backward stages alone, and what they read of forward in their hands.
static void drop_forward(run *r) {
    int n = 0;
    for (int i = 0; i < r->n_stages; i++) {
        if (r->stages[i]->direction == LG_BACKWARD) {
            r->stages[n++] = r->stages[i];
        }
    }
    r->n_stages = n;
}

static bool give_total_weight(run *r, double value) {
    const lg_device_buffer *buffer = &r->buffers.args[LG_ARG_TOTAL_WEIGHT];
    if (!buffer->used || buffer->n != 1) {
        return true;
    }
    double room = 0;
    lg_dtype_set_f64(buffer->dtype, &room, 0, value);
    return LG_CALL(&r->calls, r->driver, cuMemcpyHtoD, buffer->address, &room, buffer->bytes) ||
           lg_device_error(r->session, r->diags, r->kernel->loc, "cuMemcpyHtoD", r->calls.error);
}

// Block sizes differ in how threads share work, which a batch without a fault shows: watching the
// many runs of faulty ones too would cost a tenth of a gate.
static bool looks_for_races(const lg_run_request *request) {
    return request->mode != LG_MODE_BLOCK_SIZES || request->batch->n_injections == 0;
}

static bool set_up(run *r, const lg_run_request *request) {
    const lg_prepared_kernel *prepared = lg_device_find(r->session, r->kernel, r->diags);
    if (!prepared || !lg_device_ensure_context(r->session, r->diags) ||
        !lg_device_module(r->session, prepared->ptx, r->kernel, r->batch->input.dtype,
                          lg_batch_device_target(r->batch)->dtype, &r->module, r->diags)) {
        return false;
    }
    if (!r->driver->set_launch_blocking(r->options->blocking)) {
        return lg_error(
            r->diags, r->kernel->loc,
            "the driver was started with %s launches; this mode needs a process of its own",
            r->options->blocking ? "asynchronous" : "blocking");
    }
    r->budget = request->budget;
    r->driver->set_checks(looks_for_races(request) ? LG_DEVICE_CHECK_RACE : 0);
    r->driver->set_schedule(request->schedule);
    free(r->driver->take_log()); // of the run before
    r->sizes = lg_sizes_measure(r->batch);
    r->stages = lg_arena_array(r->arena, (size_t)r->kernel->n_stages + 1, sizeof(lg_stage *));
    r->n_stages = lg_stages_of(r->kernel, r->batch->loss.direction, r->stages);
    if (request->total_weight) {
        drop_forward(r);
    }
    int64_t *scratch_bytes =
        lg_arena_array(r->arena, (size_t)r->kernel->n_scratch + 1, sizeof *scratch_bytes);
    if (!plan_buffers(r, scratch_bytes)) {
        return false;
    }
    bool made =
        lg_buffers_make(&r->buffers, r->kernel, r->batch, scratch_bytes, &r->calls, r->diags);
    r->not_run = r->buffers.not_made;
    if (!made || (request->total_weight && !give_total_weight(r, *request->total_weight))) {
        return false;
    }
    return LG_CALL(&r->calls, r->driver, cuStreamCreate, &r->stream, CU_STREAM_DEFAULT) ||
           lg_device_error(r->session, r->diags, r->kernel->loc, "cuStreamCreate", r->calls.error);
}

// Launches, waits, and reads what there is to read. False: the set-up is at fault.
static bool execute(run *r, lg_bystander *by, lg_observation *out) {
    if (!launch_stages(r)) {
        return false;
    }
    if (r->options->bystanders) {
        // Whoever waits first gets the error. Here that is somebody with another stream, who did
        // nothing wrong: what makes these reports hard to read.
        lg_bystander_queue(r->session, by, r->stream, &r->calls);
        LG_CALL(&r->calls, r->driver, cuStreamSynchronize, by->other);
    }
    LG_CALL(&r->calls, r->driver, cuStreamSynchronize, r->stream);
    bool dead = !LG_CALL(&r->calls, r->driver, cuCtxSynchronize);
    lg_observe(r->session, &r->buffers, &r->calls, r->options->blocking, out);
    out->earlier_launch = r->earlier_launch;
    lg_buffers_read_ring(&r->buffers, out);
    bool found = r->driver->fault().present;
    lg_buffers_read(&r->buffers, r->kernel, r->batch, dead, out, &r->calls);
    if (!dead && r->options->bystanders && !r->calls.error) {
        out->mode_failure = lg_bystander_check(r->session, by, &r->calls);
    }
    r->session->base_launches += (uint64_t)r->calls.n_launches;
    // A finding stays with its context, and must not be the next case's. The embedded device hands
    // out an address once, and far views take many.
    bool spent = r->driver->checks_accesses && lg_buffers_are_far(&r->buffers);
    if (dead || found || spent) {
        lg_bystander_free(r->session, by, true);
        lg_buffers_free_far(&r->buffers);
        lg_device_drop_context(r->session);
    } else {
        lg_bystander_free(r->session, by, false);
        lg_buffers_free(&r->buffers);
        r->driver->cuStreamDestroy(r->stream);
    }
    return true;
}

bool lg_run_once(lg_device_session *session, const lg_run_request *request,
                 const lg_once_options *options, lg_observation *out, lg_diags *diags) {
    *out = (lg_observation){.failed_launch_index = -1, .log = ""};
    run r = {.session = session,
             .driver = session->driver,
             .kernel = request->kernel,
             .batch = request->batch,
             .options = options,
             .arena = &out->arena,
             .diags = diags};
    lg_bystander by = {0};
    run before = r;
    before.batch = options->before;
    bool ok = (!options->before || set_up(&before, request)) && set_up(&r, request) &&
              (!options->before || end_context(&before));
    r.earlier_launch = before.earlier_launch;
    ok = ok && (!options->bystanders || lg_bystander_make(session, &by, &r.calls, diags)) &&
         execute(&r, &by, out);
    if (!ok) {
        free(by.copied);
        lg_buffers_free_far(&r.buffers);
        lg_buffers_free_far(&before.buffers);
        lg_device_drop_context(session);
    }
    out->not_run = r.not_run ? r.not_run : before.not_run;
    return ok || out->not_run;
}
