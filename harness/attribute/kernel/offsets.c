// SPDX-License-Identifier: Apache-2.0
// Offsets that a kernel computes in 32 bits (or 16), on views that reach beyond (model/far_view.h):
// where a bad access went against where each element lies, and what such a kernel reads where it
// goes nowhere bad.
#include "attribute/kernel/internal.h"

#include "model/far_view.h"

#include <inttypes.h>
#include <string.h>

// A dimension that kernels address by one product: what an element's index adds to its offset.
typedef enum part { PART_SAMPLE, PART_CLASS, PART_POSITION, N_PARTS } part;

static const char *const part_names[] = {"sample", "class", "position"};

// How an offset may have been cut: some of its parts, added up, in a narrow type.
typedef struct cut {
    unsigned parts; // bits of those cut together
    int bits;
    bool is_signed;
} cut;

static const cut types[] = {
    {.bits = 32, .is_signed = true}, {.bits = 32}, {.bits = 16, .is_signed = true}, {.bits = 16}};
enum { N_TYPES = sizeof types / sizeof *types };

static int64_t narrow(int64_t value, cut how) {
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << how.bits) - 1);
    bool negative = how.is_signed && low >> (how.bits - 1);
    return (int64_t)low - (negative ? INT64_C(1) << how.bits : 0);
}

static part part_of(const lg_batch *batch, const lg_tensor *tensor, int axis) {
    bool binary = lg_batch_is_binary(batch);
    bool has_classes =
        !binary && (tensor == &batch->input || batch->target_is_probability) && tensor->rank > 0;
    bool batched = binary || tensor->rank > 1 || !has_classes;
    if (batched && axis == 0) {
        return PART_SAMPLE;
    }
    return has_classes && axis == (batched ? 1 : 0) ? PART_CLASS : PART_POSITION;
}

static int64_t cut_offset(const int64_t *parts, cut how) {
    int64_t inside = 0, outside = 0;
    for (int p = 0; p < N_PARTS; p++) {
        *(how.parts & 1u << p ? &inside : &outside) += parts[p];
    }
    return outside + narrow(inside, how);
}

typedef struct search {
    const lg_tensor *tensor;
    int64_t bytes; // of the access, from the first element
    int64_t size;  // of an element
    unsigned used; // parts that the tensor has
} search;

static const char *parts_text(const search *find, unsigned parts, lg_arena *arena) {
    if (parts == find->used) {
        return "";
    }
    const char *text = "";
    for (int p = 0; p < N_PARTS; p++) {
        if (parts & 1u << p) {
            text =
                lg_arena_printf(arena, "%s%s%s", text, *text ? " and " : " of its ", part_names[p]);
        }
    }
    return text;
}

// Why the access is that of an element whose offset was cut, in the arena; NULL: not so.
static const char *explain_cut(const search *find, const int64_t *parts, int64_t offset,
                               lg_arena *arena) {
    for (int type = 0; type < N_TYPES; type++) {
        cut how = types[type];
        const char *sign = how.is_signed ? " with a sign" : "";
        for (how.parts = find->used; how.parts > 0; how.parts = (how.parts - 1) & find->used) {
            int64_t cut_at = cut_offset(parts, how);
            if (cut_at != offset && cut_at * find->size == find->bytes) {
                return lg_arena_printf(arena, "the offset%s is cut to %d bits%s",
                                       parts_text(find, how.parts, arena), how.bits, sign);
            }
        }
        int64_t bytes = offset * find->size;
        if (bytes != find->bytes && narrow(bytes, how) == find->bytes) {
            return lg_arena_printf(arena, "the offset in bytes is cut to %d bits%s", how.bits,
                                   sign);
        }
    }
    return NULL;
}

static const char *index_text(const lg_tensor *tensor, const int64_t *index, lg_arena *arena) {
    const char *text = "";
    for (int d = 0; d < tensor->rank; d++) {
        text = lg_arena_printf(arena, "%s%s%" PRId64, text, d ? ", " : "", index[d]);
    }
    return lg_arena_printf(arena, "[%s]", text);
}

// Where an element lies: its index, what each part adds, and its place in a packed array.
static int64_t place(const lg_batch *batch, const lg_tensor *tensor, int64_t i, int64_t *index,
                     int64_t *parts) {
    int64_t offset = 0;
    memset(parts, 0, N_PARTS * sizeof *parts);
    for (int d = tensor->rank - 1; d >= 0; d--) {
        index[d] = i % tensor->shape[d];
        i /= tensor->shape[d];
        int64_t step = index[d] * tensor->far_stride[d];
        parts[part_of(batch, tensor, d)] += step;
        offset += step;
    }
    return offset;
}

static bool is_cut(const lg_suspicion *s, const search *find, const char *name, const char **why) {
    int64_t index[LG_MAX_RANK] = {0}, parts[N_PARTS];
    int64_t n = lg_tensor_numel(find->tensor);
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = place(s->batch, find->tensor, i, index, parts);
        const char *how = explain_cut(find, parts, offset, s->arena);
        if (how) {
            *why = lg_arena_printf(
                s->arena,
                "`%s` is accessed at byte %" PRId64 " from its start, where element %s, at offset "
                "%" PRId64 ", lands when %s",
                name, find->bytes, index_text(find->tensor, index, s->arena), offset, how);
            return true;
        }
    }
    return false;
}

// The far view whose buffer was left, or NULL.
static const lg_tensor *left_view(const lg_suspicion *s) {
    const lg_memory_finding *memory = &s->seen->memory;
    const lg_tensor *target = lg_batch_device_target(s->batch);
    if (memory->buffer && memory->buffer_arg == LG_ARG_INPUT && s->batch->input.is_far) {
        return &s->batch->input;
    }
    return memory->buffer && memory->buffer_arg == LG_ARG_TARGET && target->is_far ? target : NULL;
}

bool lg_reaches_beyond_32_bits(const lg_batch *batch) {
    return batch->input.is_far || lg_batch_device_target(batch)->is_far;
}

int lg_guess_cut_offset(const lg_suspicion *s, lg_guess *out) {
    const lg_tensor *tensor = left_view(s);
    if (!tensor) {
        return 0;
    }
    search find = {.tensor = tensor,
                   .bytes = s->seen->memory.offset,
                   .size = (int64_t)lg_dtype_bytes(tensor->dtype)};
    for (int d = 0; d < tensor->rank; d++) {
        find.used |= tensor->shape[d] > 1 ? 1u << part_of(s->batch, tensor, d) : 0;
    }
    int64_t n = lg_tensor_numel(tensor);
    int n_guesses = 0;
    const char *why;
    if (is_cut(s, &find, s->seen->memory.buffer, &why)) {
        out[n_guesses++] = (lg_guess){LG_CAUSE_INDEX_OVERFLOW, 1, why};
    }
    if (find.bytes >= 0 && find.bytes < n * find.size) {
        why = lg_arena_printf(s->arena,
                              "`%s` is accessed at byte %" PRId64
                              " from its start, where the element "
                              "would be if it were packed",
                              s->seen->memory.buffer, find.bytes);
        out[n_guesses++] = (lg_guess){LG_CAUSE_STRIDES_IGNORED, 1, why};
    }
    return n_guesses;
}

// Of strides that are multiples of 2^32 nothing is left in 32 bits: every index of that dimension
// finds the element of the first.
static bool cut_tensor(lg_tensor *tensor) {
    bool changed = false;
    for (int d = 0; d < tensor->rank && tensor->is_far; d++) {
        bool vanishes = tensor->shape[d] > 1 && tensor->far_stride[d] > 0 &&
                        tensor->far_stride[d] % (INT64_C(1) << 32) == 0;
        tensor->stride[d] = vanishes ? 0 : tensor->stride[d];
        changed = changed || vanishes;
    }
    return changed;
}

bool lg_read_input_in_32_bits(lg_batch *batch) {
    return cut_tensor(&batch->input);
}

bool lg_read_target_in_32_bits(lg_batch *batch) {
    bool other = lg_tensor_exists(&batch->device_target);
    return cut_tensor(other ? &batch->device_target : &batch->target);
}
