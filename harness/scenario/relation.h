// SPDX-License-Identifier: Apache-2.0
// Metamorphic relations: what must stay the same between two runs of a kernel on batches that are
// the same rows written differently. Needs no right answer, only two answers of the kernel.
#ifndef LG_SCENARIO_RELATION_H
#define LG_SCENARIO_RELATION_H

#include <stddef.h>
#include <stdint.h>

typedef enum lg_relation {
    LG_RELATION_UNSET = 0,
#define LG_RELATION(id, name, other, help) LG_RELATION_##id,
#include "scenario/relation.def"
#undef LG_RELATION
    LG_N_RELATIONS
} lg_relation;

// A set of relations has a bit for each.
#define LG_RELATION_BIT(relation) (UINT32_C(1) << (relation))

const char *lg_relation_name(lg_relation relation);
const char *lg_relation_other(lg_relation relation);
const char *lg_relation_help(lg_relation relation);
const char *const *lg_relation_names(size_t *n); // without "unset"

#endif
