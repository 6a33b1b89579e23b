// SPDX-License-Identifier: Apache-2.0
// What a launch mode adds to a run: unrelated work queued behind it, other block sizes.
#include "device/internal.h"

#include "support/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Compiled once by hand: adds a number of its own to each element, so that both a launch that did
// not happen and memory somebody else wrote to show.
static const char bystander_ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                                    ".visible .entry lossgate_bystander(\n"
                                    "    .param .u64 data, .param .u32 n)\n"
                                    "{\n"
                                    "    .reg .pred %p<2>;\n"
                                    "    .reg .b32 %r<8>;\n"
                                    "    .reg .b64 %rd<5>;\n"
                                    "    ld.param.u64 %rd1, [data];\n"
                                    "    ld.param.u32 %r1, [n];\n"
                                    "    mov.u32 %r2, %ctaid.x;\n"
                                    "    mov.u32 %r3, %ntid.x;\n"
                                    "    mov.u32 %r4, %tid.x;\n"
                                    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                                    "    setp.ge.u32 %p1, %r5, %r1;\n"
                                    "    @%p1 bra DONE;\n"
                                    "    cvta.to.global.u64 %rd2, %rd1;\n"
                                    "    mul.wide.u32 %rd3, %r5, 4;\n"
                                    "    add.s64 %rd4, %rd2, %rd3;\n"
                                    "    ld.global.u32 %r6, [%rd4];\n"
                                    "    mad.lo.s32 %r7, %r6, 3, %r5;\n"
                                    "    st.global.u32 [%rd4], %r7;\n"
                                    "DONE:\n"
                                    "    ret;\n"
                                    "}\n";

enum { N_BYSTANDER = 256, BYSTANDER_BLOCK = 64 };

static uint32_t bystander_before(uint32_t i) {
    return i * 2654435761u;
}

static uint32_t bystander_after(uint32_t i) { // what the kernel makes of it
    return bystander_before(i) * 3 + i;
}

bool lg_bystander_make(lg_device_session *session, lg_bystander *by, lg_calls *calls,
                       lg_diags *diags) {
    const lg_driver *driver = session->driver;
    if (session->bystander_generation != session->generation) {
        if (!lg_device_load(session, bystander_ptx, "bystander.ptx", (lg_loc){0},
                            &session->bystander, diags)) {
            return false;
        }
        session->bystander_generation = session->generation;
    }
    uint32_t data[N_BYSTANDER];
    for (uint32_t i = 0; i < N_BYSTANDER; i++) {
        data[i] = bystander_before(i);
    }
    by->copied = lg_xcalloc(N_BYSTANDER, sizeof *by->copied);
    return (LG_CALL(calls, driver, cuStreamCreate, &by->other, CU_STREAM_DEFAULT) &&
            LG_CALL(calls, driver, cuMemAlloc, &by->same_stream, sizeof data) &&
            LG_CALL(calls, driver, cuMemAlloc, &by->other_stream, sizeof data) &&
            LG_CALL(calls, driver, cuMemcpyHtoD, by->same_stream, data, sizeof data) &&
            LG_CALL(calls, driver, cuMemcpyHtoD, by->other_stream, data, sizeof data)) ||
           lg_device_error(session, diags, (lg_loc){0}, calls->surfaced_at, calls->error);
}

static bool launch(lg_device_session *session, CUdeviceptr data, CUstream stream, lg_calls *calls) {
    CUfunction function;
    if (session->driver->cuModuleGetFunction(&function, session->bystander, "lossgate_bystander")) {
        return false;
    }
    uint32_t n = N_BYSTANDER;
    void *params[] = {&data, &n};
    calls->launches[calls->n_launches++] =
        (lg_launch_note){.what = {.entry = "lossgate_bystander",
                                  .stage = -1,
                                  .grid = {N_BYSTANDER / BYSTANDER_BLOCK, 1, 1},
                                  .block = {BYSTANDER_BLOCK, 1, 1}},
                         .call = calls->n_calls};
    return LG_CALL(calls, session->driver, cuLaunchKernel, function, N_BYSTANDER / BYSTANDER_BLOCK,
                   1, 1, BYSTANDER_BLOCK, 1, 1, 0, stream, params, NULL);
}

bool lg_bystander_queue(lg_device_session *session, lg_bystander *by, CUstream stream,
                        lg_calls *calls) {
    return launch(session, by->same_stream, stream, calls) &&
           launch(session, by->other_stream, by->other, calls) &&
           LG_CALL(calls, session->driver, cuMemcpyDtoHAsync, by->copied, by->other_stream,
                   N_BYSTANDER * sizeof *by->copied, by->other);
}

static bool is_right(const uint32_t *data) {
    for (uint32_t i = 0; i < N_BYSTANDER; i++) {
        if (data[i] != bystander_after(i)) {
            return false;
        }
    }
    return true;
}

const char *lg_bystander_check(lg_device_session *session, lg_bystander *by, lg_calls *calls) {
    uint32_t data[N_BYSTANDER] = {0};
    if (!is_right(by->copied)) {
        return "the unrelated kernel on another stream returned wrong numbers";
    }
    LG_CALL(calls, session->driver, cuMemcpyDtoH, data, by->same_stream, sizeof data);
    return is_right(data) ? NULL : "the unrelated kernel on the same stream returned wrong numbers";
}

void lg_bystander_free(lg_device_session *session, lg_bystander *by, bool context_dead) {
    if (!context_dead && by->copied) {
        session->driver->cuMemFree(by->same_stream);
        session->driver->cuMemFree(by->other_stream);
        session->driver->cuStreamDestroy(by->other);
    }
    free(by->copied);
    *by = (lg_bystander){0};
}

int lg_count_block_sizes(const lg_kernel *kernel, lg_direction direction) {
    const lg_stage **stages = lg_xcalloc((size_t)kernel->n_stages + 1, sizeof(lg_stage *));
    int n_stages = lg_stages_of(kernel, direction, stages);
    int n = 1;
    for (int i = 0; i < n_stages; i++) {
        n = stages[i]->n_block_x > n ? stages[i]->n_block_x : n;
    }
    free(stages);
    return n;
}

static int class_of(double value) {
    return isnan(value) ? 0 : !isinf(value) ? 1 : value > 0 ? 2 : 3;
}

static const char *class_name(double value) {
    static const char *const class_names[] = {"NaN", "finite", "+inf", "-inf"};
    return class_names[class_of(value)];
}

// The first difference in class between two runs, in the second's arena; NULL when there is none.
// *largest gets the largest relative difference of their finite values.
static const char *compare(const lg_observation *base, lg_observation *other, const char *size,
                           double *largest) {
    lg_arena *arena = &other->arena;
    *largest = 0;
    if (base->status != other->status) {
        return lg_arena_printf(arena, "block size %s ends with %s, the default with %s", size,
                               other->status_text ? other->status_text : "success",
                               base->status_text ? base->status_text : "success");
    }
    const char *unordered = other->race ? other->race : other->barrier.text;
    if (unordered) { // of the default nothing differs then: see below
        return lg_arena_printf(arena, "with block size %s there is a %s", size, unordered);
    }
    if (other->input_written) {
        return lg_arena_printf(arena, "with block size %s %s", size, other->input_written);
    }
    int64_t base_records = base->n_records + base->n_records_dropped;
    int64_t other_records = other->n_records + other->n_records_dropped;
    if (base_records != other_records) {
        return lg_arena_printf(arena, "block size %s writes %lld fault records, the default %lld",
                               size, (long long)other_records, (long long)base_records);
    }
    for (int i = 0; i < base->n_outputs; i++) {
        const lg_output *a = &base->outputs[i];
        const lg_output *b = &other->outputs[i];
        if (a->n_unwritten != b->n_unwritten) {
            return lg_arena_printf(
                arena, "block size %s leaves %lld of %s unwritten, the default %lld", size,
                (long long)b->n_unwritten, lg_arg_name(b->arg), (long long)a->n_unwritten);
        }
        bool both = lg_output_exists(a) && lg_output_exists(b);
        for (int64_t k = 0; both && k < a->n; k++) {
            double x = lg_output_get(a, k);
            double y = lg_output_get(b, k);
            if (class_of(x) != class_of(y)) {
                return lg_arena_printf(
                    arena, "%s[%lld] is %s with block size %s, %s with the default",
                    lg_arg_name(b->arg), (long long)k, class_name(y), size, class_name(x));
            }
            double scale = fmax(fabs(x), fabs(y));
            double share = x != y && isfinite(scale) ? fabs(x - y) / scale : 0;
            *largest = share > *largest ? share : *largest;
        }
    }
    return NULL;
}

// The size as the manifest has it, of the first stage that has so many.
static const char *size_text(const lg_kernel *kernel, int i) {
    int k = 0;
    while (k < kernel->n_stages - 1 && kernel->stages[k].n_block_x <= i) {
        k++;
    }
    return kernel->stages[k].n_block_x > i ? kernel->stages[k].block_x[i] : "";
}

bool lg_run_block_sizes(lg_device_session *session, const lg_run_request *request,
                        lg_observation *out, lg_diags *diags) {
    int n = lg_count_block_sizes(request->kernel, request->batch->loss.direction);
    lg_once_options options = {.blocking = true};
    if (!lg_run_once(session, request, &options, out, diags)) {
        return false;
    }
    lg_observation base = *out; // `out` is the worst so far; the default's while nothing differs
    bool out_is_base = true;
    double worst = 0;
    bool ok = true;
    const char *failure = NULL;
    // Whatever the size, or with a race to tell already.
    bool is_enough = base.input_written || base.not_run || base.race || base.barrier.text;
    for (int i = 1; ok && i < n && !failure && !is_enough; i++) {
        options.block_size = i;
        lg_observation other;
        ok = lg_run_once(session, request, &options, &other, diags);
        double largest = 0;
        failure = ok ? compare(&base, &other, size_text(request->kernel, i), &largest) : NULL;
        other.mode_failure = failure;
        if (ok && (failure || largest > worst)) {
            worst = largest;
            if (!out_is_base) {
                lg_observation_free(out);
            }
            *out = other;
            out_is_base = false;
        } else {
            lg_observation_free(&other);
        }
    }
    if (!out_is_base) {
        lg_observation_free(&base);
    }
    return ok;
}
