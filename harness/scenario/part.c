// SPDX-License-Identifier: Apache-2.0
// What the checks of arrays and of faults share: the keys of one mapping.
#include "scenario/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

const char *lg_part_key(const lg_part *part, const char *name) {
    return lg_arena_printf(part->reader->binder.scratch, "%s.%s", part->path, name);
}

bool lg_part_has(const lg_part *part, const char *name) {
    return lg_scenario_has(part->reader, lg_part_key(part, name));
}

bool lg_part_knows(const lg_part *part, const char *names) {
    while (*names) {
        size_t length = strcspn(names, " ");
        const char *name = lg_arena_strndup(part->reader->binder.scratch, names, length);
        if (!lg_scenario_knows(part->reader, lg_part_key(part, name))) {
            return false;
        }
        names += length + (names[length] == ' ');
    }
    return true;
}

static void add_error(const lg_part *part, const char *name, bool begins_with_key,
                      const char *format, va_list args) {
    const char *key = lg_part_key(part, name);
    char *message = lg_xvasprintf(format, args);
    lg_scenario_error(part->reader, key, "%s%s%s", begins_with_key ? key : "",
                      begins_with_key ? " " : "", message);
    free(message);
}

void lg_part_error(const lg_part *part, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_error(part, name, false, format, args);
    va_end(args);
}

void lg_part_key_error(const lg_part *part, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_error(part, name, true, format, args);
    va_end(args);
}
