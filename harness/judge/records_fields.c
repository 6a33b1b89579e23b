// SPDX-License-Identifier: Apache-2.0
#include "judge/internal.h"

#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// The stage of a launch that was given the ring, or NULL.
static const lg_stage *recording_stage(const lg_record_check *c, int64_t launch) {
    if (!c->seen->launches || launch < 0 || launch >= c->seen->n_launches) {
        return NULL;
    }
    int stage = c->seen->launches[launch].stage;
    bool known = stage >= 0 && stage < c->kernel->n_stages;
    return known && lg_stage_takes(&c->kernel->stages[stage], LG_ARG_FAULT_RECORD)
               ? &c->kernel->stages[stage]
               : NULL;
}

void lg_record_check_begin(lg_record_check *c, const lg_batch *batch, const lg_reference *reference,
                           const lg_kernel *kernel, const lg_observation *seen, lg_arena *arena) {
    *c = (lg_record_check){.batch = batch,
                           .reference = reference,
                           .kernel = kernel,
                           .seen = seen,
                           .arena = arena,
                           .sizes = lg_sizes_measure(batch),
                           .numbered = true};
    for (int i = 0; i < seen->n_launches; i++) {
        const lg_stage *stage = recording_stage(c, i);
        if (stage) {
            c->n_launches++;
            c->directions |= (int)stage->direction;
            c->numbered = c->numbered && lg_stage_takes(stage, LG_ARG_LAUNCH_INDEX);
        }
    }
}

const lg_stage *lg_record_stage(const lg_record_check *c, const lg_fault_record *record) {
    return recording_stage(c, record->kernel);
}

static double from_bits(int64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const char *number_text(double value, lg_arena *arena) {
    return isnan(value) ? "nan" : lg_arena_printf(arena, "%.9g", value);
}

// Targets and inputs that are numbers in [0, 1]; else they are labels.
static bool has_numbers(const lg_batch *batch) {
    return lg_batch_is_binary(batch) || batch->target_is_probability;
}

const char *lg_record_value_text(const lg_batch *batch, const lg_fault_record *record,
                                 lg_arena *arena) {
    return has_numbers(batch) ? number_text(from_bits(record->value), arena)
                              : lg_arena_printf(arena, "%" PRId64, record->value);
}

static const char *wrong(const lg_record_check *c, const lg_fault_record *record, const char *field,
                         const char *got, const char *want) {
    return lg_arena_printf(
        c->arena, "the fault record of row %" PRId64 " (launch %" PRIu32 ") has %s %s, right is %s",
        record->row, record->kernel, field, got, want);
}

static const char *wrong_integer(const lg_record_check *c, const lg_fault_record *record,
                                 const char *field, int64_t got, int64_t want) {
    return wrong(c, record, field, lg_arena_printf(c->arena, "%" PRId64, got),
                 lg_arena_printf(c->arena, "%" PRId64, want));
}

static bool in_unit(double value) { // false for NaN
    return value >= 0 && value <= 1;
}

// The operand of a binary loss that a code names. NULL: this loss guards none by that code.
static const lg_tensor *binary_operand(const lg_batch *batch, uint32_t code) {
    return code == LG_RECORD_TARGET                                ? lg_batch_device_target(batch)
           : code == LG_RECORD_INPUT && batch->loss.kind == LG_BCE ? &batch->input
                                                                   : NULL;
}

static const char *check_binary(const lg_record_check *c, const lg_fault_record *record) {
    const lg_tensor *operand = binary_operand(c->batch, record->code);
    if (!operand) {
        return wrong_integer(c, record, "code", record->code,
                             c->batch->loss.kind == LG_BCE &&
                                     !in_unit(lg_tensor_get_f64(&c->batch->input, record->row))
                                 ? LG_RECORD_INPUT
                                 : LG_RECORD_TARGET);
    }
    double held = lg_tensor_get_f64(operand, record->row);
    if (in_unit(held)) {
        return lg_arena_printf(c->arena,
                               "the fault record of row %" PRId64 " (launch %" PRIu32
                               ") accuses its %s, and %s is in range",
                               record->row, record->kernel,
                               record->code == LG_RECORD_INPUT ? "input" : "target",
                               number_text(held, c->arena));
    }
    double recorded = from_bits(record->value);
    if (!(recorded == held || (isnan(recorded) && isnan(held)))) {
        return wrong(c, record, "value", number_text(recorded, c->arena),
                     number_text(held, c->arena));
    }
    return NULL;
}

// A row of class probabilities: the value is one of those that are none.
static const char *check_probability(const lg_record_check *c, const lg_fault_record *record) {
    if (record->code != LG_RECORD_TARGET) {
        return wrong_integer(c, record, "code", record->code, LG_RECORD_TARGET);
    }
    const lg_tensor *target = lg_batch_device_target(c->batch);
    double recorded = from_bits(record->value);
    double first = NAN;
    bool found = false;
    for (int64_t i = lg_batch_head_width(c->batch) - 1; i >= 0; i--) {
        double held = lg_row_read_class(target, record->row, i);
        if (!in_unit(held)) {
            first = held;
            found = found || recorded == held || (isnan(recorded) && isnan(held));
        }
    }
    return found ? NULL
                 : wrong(c, record, "value", number_text(recorded, c->arena),
                         number_text(first, c->arena));
}

static const char *check_label(const lg_record_check *c, const lg_fault_record *record) {
    if (record->code != LG_RECORD_LABEL) {
        return wrong_integer(c, record, "code", record->code, LG_RECORD_LABEL);
    }
    int64_t label = lg_tensor_get_i64(lg_batch_device_target(c->batch), record->row);
    return record->value == label ? NULL : wrong_integer(c, record, "value", record->value, label);
}

static int64_t linear(const int32_t at[3], const int64_t size[3]) {
    return (at[2] * size[1] + at[1]) * size[0] + at[0];
}

// The thread, counted over all blocks of the launch, that the manifest says writes this record.
static const char *check_recorder(const lg_record_check *c, const lg_fault_record *record,
                                  const lg_stage *stage, const lg_launch *launch) {
    int64_t per_block = launch->block[0] * launch->block[1] * launch->block[2];
    lg_size_values sizes = c->sizes;
    sizes.block_x = launch->block[0];
    sizes.row = record->row;
    sizes.threads = per_block * launch->grid[0] * launch->grid[1] * launch->grid[2];
    lg_diags diags = {0};
    int64_t want;
    bool known = lg_sizes_eval(&sizes, stage->recorder, -1, stage->loc, &want, &diags);
    lg_diags_free(&diags);
    int64_t got =
        linear(record->block, launch->grid) * per_block + linear(record->thread, launch->block);
    if (known && got == want) {
        return NULL;
    }
    return lg_arena_printf(
        c->arena,
        "the fault record of row %" PRId64 " (launch %" PRIu32
        ") has block %d thread %d, which is thread %" PRId64 " of the launch, right is %" PRId64,
        record->row, record->kernel, record->block[0], record->thread[0], got, want);
}

static const char *check_place(const lg_record_check *c, const lg_fault_record *record,
                               const lg_stage *stage, const lg_launch *launch) {
    for (int i = 0; i < 3; i++) {
        const char axis = "xyz"[i];
        if (record->block[i] < 0 || record->block[i] >= launch->grid[i]) {
            return wrong(c, record, lg_arena_printf(c->arena, "block.%c", axis),
                         lg_arena_printf(c->arena, "%d", record->block[i]),
                         lg_arena_printf(c->arena, "one of %" PRId64, launch->grid[i]));
        }
        if (record->thread[i] < 0 || record->thread[i] >= launch->block[i]) {
            return wrong(c, record, lg_arena_printf(c->arena, "thread.%c", axis),
                         lg_arena_printf(c->arena, "%d", record->thread[i]),
                         lg_arena_printf(c->arena, "one of %" PRId64, launch->block[i]));
        }
    }
    return stage->recorder ? check_recorder(c, record, stage, launch) : NULL;
}

// A record that does not know its launch lies in one of those it can be of.
static const char *check_some_place(const lg_record_check *c, const lg_fault_record *record) {
    const char *why = "a fault record was written, and no launch was given the ring";
    for (int i = 0; i < c->seen->n_launches; i++) {
        const lg_stage *stage = recording_stage(c, i);
        const char *here = stage ? check_place(c, record, stage, &c->seen->launches[i]) : NULL;
        if (stage && !here) {
            return NULL;
        }
        why = here ? here : why;
    }
    return why;
}

const char *lg_record_wrong_field(const lg_record_check *c, const lg_fault_record *record) {
    const char *why = lg_batch_is_binary(c->batch)      ? check_binary(c, record)
                      : c->batch->target_is_probability ? check_probability(c, record)
                                                        : check_label(c, record);
    if (why) {
        return why;
    }
    int64_t upper = has_numbers(c->batch) ? 1 : lg_batch_head_width(c->batch);
    if (record->lower != 0) {
        return wrong_integer(c, record, "lower bound", record->lower, 0);
    }
    if (record->upper != upper) {
        return wrong_integer(c, record, "upper bound", record->upper, upper);
    }
    if (!c->numbered) {
        return check_some_place(c, record);
    }
    const lg_stage *stage = lg_record_stage(c, record);
    if (!stage) {
        return lg_arena_printf(c->arena,
                               "the fault record of row %" PRId64 " names launch %" PRIu32
                               ", which was not given the ring",
                               record->row, record->kernel);
    }
    return check_place(c, record, stage, &c->seen->launches[record->kernel]);
}

int64_t lg_record_operands(const lg_record_check *c) {
    if (!lg_batch_is_binary(c->batch)) {
        return c->reference->n_invalid;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < c->reference->n_invalid; i++) {
        int64_t row = c->reference->invalid_rows[i];
        for (uint32_t code = LG_RECORD_INPUT; code <= LG_RECORD_TARGET; code++) {
            const lg_tensor *operand = binary_operand(c->batch, code);
            n += operand && !in_unit(lg_tensor_get_f64(operand, row));
        }
    }
    return n;
}
