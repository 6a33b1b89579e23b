// SPDX-License-Identifier: Apache-2.0
// What a run showed wrong, in one line for people.
#include "judge/internal.h"

#include "support/plain.h"
#include "support/str.h"

#include <inttypes.h>
#include <stdlib.h>

static const char *rows_text(const lg_deviation *deviation, lg_arena *arena) {
    lg_str text = {0};
    for (int64_t i = 0; i < deviation->n_rows && i < 8; i++) {
        lg_str_printf(&text, " %" PRId64, deviation->rows[i]);
    }
    if (deviation->n_rows > 8) {
        lg_str_add(&text, " …");
    }
    const char *kept = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}

// "output rows 3 7 …: got 0.52, not NaN"
const char *lg_deviation_text(const lg_deviation *d, const char *what, lg_arena *arena) {
    if (d->n_rows > 0) {
        return lg_arena_printf(arena, "%s: %s row%s%s (got %.9g, right is %.9g)", what,
                               lg_arg_name(d->output), d->n_rows > 1 ? "s" : "",
                               rows_text(d, arena), lg_plain(d->got), lg_plain(d->want));
    }
    return lg_arena_printf(arena, "%s: %s is %.9g, right is %.9g", what, lg_arg_name(d->output),
                           lg_plain(d->got), lg_plain(d->want));
}

const char *lg_assert_text(const lg_observation *seen, lg_arena *arena) {
    if (seen->n_asserts_kept == 0) {
        return "the device asserted and printed no line";
    }
    const lg_assert_line *line = &seen->asserts[0];
    return lg_arena_printf(arena, "device assert `%s` at %s:%d", line->expression, line->file,
                           line->line);
}

const char *lg_memory_text(const lg_observation *seen, lg_arena *arena) {
    const lg_memory_finding *m = &seen->memory;
    const char *status = seen->status_text ? seen->status_text : "illegal address";
    if (!m->present) {
        return lg_arena_printf(arena, "the device reported %s", status);
    }
    lg_str text = {0};
    lg_str_printf(&text, "%s of %" PRId64 " bytes", lg_device_fault_name(m->kind, m->write),
                  m->bytes);
    if (m->buffer && m->distance != 0) {
        lg_str_printf(&text,
                      m->distance > 0 ? ", byte %" PRId64 " past the end of `%s`"
                                      : ", %" PRId64 " bytes before `%s`",
                      (int64_t)llabs(m->distance), m->buffer);
    }
    if (m->buffer && m->distance == 0 && m->kind == LG_DEVICE_FAULT_OUT_OF_BOUNDS) {
        lg_str_printf(&text, ", between the elements of `%s`", m->buffer);
    }
    if (m->null_arguments) {
        lg_str_printf(&text, ", byte %" PRIu64 " of %s, which the call leaves out", m->address,
                      m->null_arguments);
    }
    if (m->file) {
        lg_str_printf(&text, ", at %s:%d", m->file, m->line);
    }
    const char *kept = lg_arena_strdup(arena, lg_str_text(&text));
    lg_str_free(&text);
    return kept;
}
