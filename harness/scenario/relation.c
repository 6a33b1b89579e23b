// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario.h"

static const char *const names[] = {
    "unset",
#define LG_RELATION(id, name, other, help) name,
#include "scenario/relation.def"
#undef LG_RELATION
};

static const char *const others[] = {
    "",
#define LG_RELATION(id, name, other, help) other,
#include "scenario/relation.def"
#undef LG_RELATION
};

static const char *const helps[] = {
    "",
#define LG_RELATION(id, name, other, help) help,
#include "scenario/relation.def"
#undef LG_RELATION
};

const char *lg_relation_name(lg_relation relation) {
    return (unsigned)relation < LG_N_RELATIONS ? names[relation] : "invalid";
}

const char *lg_relation_other(lg_relation relation) {
    return (unsigned)relation < LG_N_RELATIONS ? others[relation] : "";
}

const char *lg_relation_help(lg_relation relation) {
    return (unsigned)relation < LG_N_RELATIONS ? helps[relation] : "";
}

const char *const *lg_relation_names(size_t *n) {
    *n = LG_N_RELATIONS - 1;
    return names + 1;
}
