// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/state/state.h"

#include <inttypes.h>
#include <stdarg.h>

static const lg_code *running_code(const lg_exec *x) {
    return x->warp ? x->warp->frames[x->warp->depth].code : x->code;
}

static const char *basename_of(const char *path) {
    const char *name = path;
    for (const char *c = path; *c; c++) {
        if (*c == '/') {
            name = c + 1;
        }
    }
    return name;
}

static void set_place(lg_exec *x, const lg_insn *insn, int lane, lg_sim_fault *fault) {
    const lg_code *code = running_code(x);
    fault->function = code->ptx->name;
    if (insn) {
        fault->ptx_line = code->ptx->insns[insn->index].line;
        int column;
        if (!lg_ptx_caller_source(x->module->ptx, code->ptx, (int)insn->index, &fault->file,
                                  &fault->line, &column)) {
            fault->file = NULL;
            fault->line = 0;
        }
    }
    if (x->warp) {
        const uint32_t *size = x->launch->block;
        uint32_t thread = (uint32_t)x->warp->number * LG_LANES + (uint32_t)lane;
        fault->thread[0] = thread % size[0];
        fault->thread[1] = thread / size[0] % size[1];
        fault->thread[2] = thread / size[0] / size[1];
        for (int i = 0; i < 3; i++) {
            fault->block[i] = x->block[i];
        }
    }
}

// "…, in kernel (nll_loss.cu:41), block [0,0,0], thread [3,0,0]" after what the caller says.
static void set_text(lg_exec *x, lg_sim_fault *fault, const char *what) {
    char place[256] = "";
    if (fault->file) {
        snprintf(place, sizeof place, " (%s:%d)", basename_of(fault->file), fault->line);
    } else if (fault->ptx_line) {
        snprintf(place, sizeof place, " (PTX line %d)", fault->ptx_line);
    }
    if (!x->warp) {
        fault->text = lg_arena_strdup(&x->result->arena, what);
        return;
    }
    fault->text =
        lg_arena_printf(&x->result->arena,
                        "%s, in %s%s, block [%" PRIu32 ",%" PRIu32 ",%" PRIu32 "], thread [%" PRIu32
                        ",%" PRIu32 ",%" PRIu32 "]",
                        what, fault->function, place, fault->block[0], fault->block[1],
                        fault->block[2], fault->thread[0], fault->thread[1], fault->thread[2]);
}

// An error is kept when it is the first error; a finding when it is the first of all.
static bool is_news(const lg_exec *x, bool is_error) {
    return is_error ? x->result->status == LG_SIM_OK : !x->result->has_fault;
}

void lg_raise(lg_exec *x, const lg_insn *insn, int lane, lg_sim_status status,
              lg_device_fault_kind kind, const char *format, ...) {
    if (!is_news(x, true)) {
        return;
    }
    va_list args;
    va_start(args, format);
    char what[512];
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    lg_sim_fault fault = {.kind = kind};
    set_place(x, insn, lane, &fault);
    set_text(x, &fault, what);
    x->result->status = status;
    x->result->has_fault = true;
    x->result->fault = fault;
}

static const char *const space_names[] = {
    [LG_SPACE_GENERIC] = "generic", [LG_SPACE_GLOBAL] = "global", [LG_SPACE_SHARED] = "shared",
    [LG_SPACE_LOCAL] = "local",     [LG_SPACE_CONST] = "const",   [LG_SPACE_PARAM] = "param",
};

// The window an address belongs to as an allocation, for those that are not global memory.
static bool nearest_window(const lg_exec *x, lg_sim_fault *fault) {
    lg_ptx_space space = fault->space;
    uint64_t base = 0, bytes;
    if (space == LG_SPACE_GENERIC) {
        base = fault->address / LG_WINDOW_BYTES * LG_WINDOW_BYTES;
        space = base == LG_SHARED_WINDOW  ? LG_SPACE_SHARED
                : base == LG_LOCAL_WINDOW ? LG_SPACE_LOCAL
                : base == LG_PARAM_WINDOW ? LG_SPACE_PARAM
                                          : LG_SPACE_GLOBAL;
    }
    if (space == LG_SPACE_SHARED) {
        bytes = x->shared_bytes;
    } else if (space == LG_SPACE_LOCAL) {
        bytes = x->warp->local_top;
    } else if (space == LG_SPACE_PARAM) {
        bytes = x->launch->param_bytes;
    } else {
        return false;
    }
    fault->space = space;
    fault->has_nearest = true;
    fault->nearest_base = base;
    fault->nearest_bytes = bytes;
    uint64_t offset = fault->address - base;
    fault->distance = offset >= bytes                 ? (int64_t)(offset - bytes) + 1
                      : fault->bytes > bytes - offset ? 1
                                                      : 0;
    return true;
}

// Nothing is ever allocated below: what lies there comes of a null pointer and an index.
enum { NULL_BYTES = 65536 };

static lg_device_fault_kind access_kind(const lg_sim_fault *fault, const lg_alloc *nearest,
                                        bool in_window) {
    bool inside = fault->has_nearest && fault->distance == 0;
    bool closed = nearest && !nearest->read_only; // memory that nobody has opened
    if (fault->address % fault->bytes) {
        return LG_DEVICE_FAULT_MISALIGNED;
    }
    if (!in_window && fault->address < NULL_BYTES) {
        return LG_DEVICE_FAULT_NULL_POINTER;
    }
    if (nearest && inside && !nearest->live) {
        return LG_DEVICE_FAULT_FREED;
    }
    return fault->write && inside && !closed ? LG_DEVICE_FAULT_READ_ONLY
                                             : LG_DEVICE_FAULT_OUT_OF_BOUNDS;
}

static void describe_distance(const lg_sim_fault *fault, const lg_alloc *nearest, char *out,
                              size_t n) {
    const char *what = nearest && !nearest->live ? "freed allocation" : "allocation";
    char owner[96];
    if (nearest) {
        snprintf(owner, sizeof owner, "the %" PRIu64 "-byte %s at 0x%" PRIx64, nearest->full_bytes,
                 what, nearest->base);
    } else {
        snprintf(owner, sizeof owner, "the %" PRIu64 " bytes of %s memory", fault->nearest_bytes,
                 space_names[fault->space]);
    }
    if (fault->address < 4096 && nearest) {
        snprintf(out, n, ": a null pointer");
    } else if (!fault->has_nearest) {
        snprintf(out, n, ": no memory is allocated");
    } else if (fault->distance > 0) {
        snprintf(out, n, ": byte %" PRId64 " past the end of %s", fault->distance, owner);
    } else if (fault->distance < 0) {
        snprintf(out, n, ": %" PRIu64 " bytes before %s", 0 - (uint64_t)fault->distance, owner);
    } else {
        snprintf(out, n, ": inside %s", owner);
    }
}

// Where the address lies: the allocation or window nearest to it.
static const lg_alloc *set_nearest(const lg_exec *x, lg_sim_fault *fault, bool *in_window) {
    *in_window = nearest_window(x, fault);
    if (*in_window) {
        return NULL;
    }
    const lg_alloc *nearest =
        lg_memory_nearest(x->sim, fault->address, fault->bytes, &fault->distance);
    if (nearest) {
        fault->has_nearest = true;
        fault->nearest_base = nearest->base;
        fault->nearest_bytes = nearest->full_bytes;
    }
    return nearest;
}

void lg_raise_access(lg_exec *x, const lg_insn *insn, int lane, lg_ptx_space space,
                     uint64_t address, uint32_t bytes, bool write) {
    if (!is_news(x, true)) {
        return;
    }
    lg_sim_fault fault = {.address = address, .bytes = bytes, .space = space, .write = write};
    set_place(x, insn, lane, &fault);
    bool in_window;
    const lg_alloc *nearest = set_nearest(x, &fault, &in_window);
    fault.kind = access_kind(&fault, nearest, in_window);
    char distance[192], what[320];
    describe_distance(&fault, nearest, distance, sizeof distance);
    snprintf(what, sizeof what, "%s of %" PRIu32 " bytes at 0x%" PRIx64 "%s",
             lg_device_fault_name(fault.kind, write), bytes, address, distance);
    set_text(x, &fault, what);
    x->result->status = address % bytes ? LG_SIM_MISALIGNED : LG_SIM_ILLEGAL_ADDRESS;
    x->result->has_fault = true;
    x->result->fault = fault;
}

void lg_find(lg_exec *x, const lg_insn *insn, int lane, lg_sim_fault fault, const char *what) {
    if (!is_news(x, false)) {
        return;
    }
    set_place(x, insn, lane, &fault);
    bool in_window;
    set_nearest(x, &fault, &in_window);
    set_text(x, &fault, what);
    x->result->has_fault = true;
    x->result->fault = fault;
}
