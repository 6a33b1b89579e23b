// SPDX-License-Identifier: Apache-2.0
#include "scenario/internal.h"

#include <float.h>

#define I64(member, lo, hi)                                                                        \
    .type = LG_FIELD_I64, .offset = offsetof(OWNER, member), .min = (lo), .max = (hi)
#define U64(member) .type = LG_FIELD_U64, .offset = offsetof(OWNER, member)
#define F64(member, least, most)                                                                   \
    .type = LG_FIELD_F64, .offset = offsetof(OWNER, member), .low = (least), .high = (most)
#define REAL(member) .type = LG_FIELD_REAL, .offset = offsetof(OWNER, member)
#define BOOL(member) .type = LG_FIELD_BOOL, .offset = offsetof(OWNER, member)
#define TEXT(member) .type = LG_FIELD_TEXT, .offset = offsetof(OWNER, member)
#define CHOICE(member, names, value)                                                               \
    .type = LG_FIELD_CHOICE, .offset = offsetof(OWNER, member), .choices = (names),                \
    .first = (int)(value)
#define I64_LIST(member, lo, hi)                                                                   \
    .type = LG_FIELD_I64_LIST, .offset = offsetof(OWNER, member), .min = (lo), .max = (hi)
#define FAULT_KIND(member, names, value)                                                           \
    CHOICE(member, names, value), .explain = lg_explain_fault_kind
#define CHOICE_SET(member, names, value)                                                           \
    .type = LG_FIELD_CHOICE_SET, .offset = offsetof(OWNER, member), .choices = (names),            \
    .first = (int)(value)
#define TEXT_LIST(member) .type = LG_FIELD_TEXT_LIST, .offset = offsetof(OWNER, member)
#define CUSTOM(function, keys) .type = LG_FIELD_CUSTOM, .read = (function), .table = &(keys)
#define ARRAY_OF(member, place)                                                                    \
    .type = LG_FIELD_CUSTOM, .read = lg_read_array, .table = &lg_array_table,                      \
    .offset = offsetof(OWNER, member), .first = (place)
#define SECTION(part) .type = LG_FIELD_CUSTOM, .read = lg_read_section, .table = &SECTION_##part
#define SECTION_LOSS lg_loss_table
#define SECTION_BATCH lg_batch_table
#define SECTION_RUN lg_run_table
#define SECTION_EXPECT lg_expect_table

#define NEEDED .required = true
#define INITIAL(text) .initial = (text)
#define FALLBACK(text) .fallback = (text)
#define NO_DEFAULT .fallback = NULL

#define ALL_PLACES (LG_PLACE_LOGITS | LG_PLACE_TARGETS | LG_PLACE_WEIGHT)
#define FK(id) (UINT32_C(1) << LG_CAUSE_##id)
_Static_assert(LG_CAUSE_MISSING_CHECK <= 32, "tags have a bit for each fault of the data");
#define ROW_FAULTS                                                                                 \
    (FK(LABEL_EQUALS_WIDTH) | FK(NEGATIVE_LABELS) | FK(SENTINEL_MISMATCH) | FK(FLOAT_TARGETS) |    \
     FK(CORRUPT_LABELS) | FK(TARGET_DTYPE) | FK(VALUE_DOMAIN) | FK(BCE_RANGE) |                    \
     FK(NONFINITE_LOGITS))
#define FORM_FAULTS                                                                                \
    (FK(TARGET_DTYPE) | FK(VALUE_DOMAIN) | FK(SHAPE_LAYOUT) | FK(BCE_RANGE) |                      \
     FK(NONFINITE_LOGITS) | FK(NO_SUPERVISED_ROW))

#define ROW(k, spec, standard, u, r, h)                                                            \
    {.key = (k), spec, standard, .unit = (u), .range = (r), .help = (h)},
#define TAGGED(t, k, spec, standard, u, r, h)                                                      \
    {.tags = (t), .key = (k), spec, standard, .unit = (u), .range = (r), .help = (h)},
#define TABLE(variable, path, rows)                                                                \
    const lg_field_table variable = {(path), rows, (int)(sizeof(rows) / sizeof *(rows))};

#define OWNER lg_scenario
static const lg_field root_fields[] = {
#define LG_ROOT ROW
#include "scenario/fields.def"
};
static const lg_field loss_fields[] = {
#define LG_LOSS ROW
#include "scenario/fields.def"
};
static const lg_field batch_fields[] = {
#define LG_BATCH ROW
#include "scenario/fields.def"
};
static const lg_field run_fields[] = {
#define LG_RUN ROW
#include "scenario/fields.def"
};
static const lg_field expect_fields[] = {
#define LG_EXPECT ROW
#include "scenario/fields.def"
};
#undef OWNER
#define OWNER lg_array_spec
static const lg_field array_fields[] = {
#define LG_ARRAY TAGGED
#include "scenario/fields.def"
};
#undef OWNER
#define OWNER lg_fault_spec
static const lg_field fault_fields[] = {
#define LG_FAULT TAGGED
#include "scenario/fields.def"
};
#undef OWNER

TABLE(lg_root_table, "", root_fields)
TABLE(lg_loss_table, "loss", loss_fields)
TABLE(lg_batch_table, "batch", batch_fields)
TABLE(lg_array_table, "array", array_fields)
TABLE(lg_fault_table, "faults", fault_fields)
TABLE(lg_run_table, "run", run_fields)
TABLE(lg_expect_table, "expect", expect_fields)

const lg_field_table lg_no_table = {"", NULL, 0};
