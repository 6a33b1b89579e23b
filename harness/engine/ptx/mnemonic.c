// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/mnemonic.h"

#include "engine/ptx/types.h"
#include "support/str.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum modifier_kind {
    MODIFIER_FLAG,
    MODIFIER_SUB,
    MODIFIER_CMP,
    MODIFIER_ROUND,
    MODIFIER_SPACE,
    MODIFIER_ORDER,
    MODIFIER_SCOPE,
    MODIFIER_VEC,
    MODIFIER_CONTEXT,
    MODIFIER_HINT,
    MODIFIER_DROP,
    MODIFIER_UNSUPPORTED,
} modifier_kind;

typedef struct modifier {
    const char *word;
    modifier_kind kind;
    int value; // FLAG: offset of the bool in lg_ptx_mods
} modifier;

#define VALUE_FLAG(value) offsetof(lg_ptx_mods, value)
#define VALUE_SUB(value) value
#define VALUE_CMP(value) value
#define VALUE_ROUND(value) value
#define VALUE_SPACE(value) value
#define VALUE_ORDER(value) value
#define VALUE_SCOPE(value) value
#define VALUE_VEC(value) value
#define VALUE_CONTEXT(value) value
#define VALUE_HINT(value) value
#define VALUE_DROP(value) value
#define VALUE_UNSUPPORTED(value) value

static const modifier modifiers[] = {
#define LG_PTX_MODIFIER(word, kind, value) {word, MODIFIER_##kind, (int)VALUE_##kind(value)},
#include "engine/ptx/modifiers.def"
#undef LG_PTX_MODIFIER
};
enum {
    N_MODIFIERS = sizeof modifiers / sizeof *modifiers,
    MAX_GUESS = 24, // longer words are no misspelling
};

static const char *const op_names[] = {
    NULL,
#define LG_PTX_OPCODE(id, name, help) name,
#include "engine/ptx/opcodes.def"
#undef LG_PTX_OPCODE
};

const char *lg_ptx_op_name(lg_ptx_op op) {
    return op > LG_OP_UNKNOWN && op < LG_N_OPS ? op_names[op] : "unknown";
}

static lg_ptx_op find_op(const char *word) {
    for (int op = 1; op < LG_N_OPS; op++) {
        if (strcmp(op_names[op], word) == 0) {
            return (lg_ptx_op)op;
        }
    }
    return LG_OP_UNKNOWN;
}

static const modifier *find_modifier(const char *word) {
    for (size_t i = 0; i < N_MODIFIERS; i++) {
        if (strcmp(modifiers[i].word, word) == 0) {
            return &modifiers[i];
        }
    }
    return NULL;
}

// Words whose meaning hangs on the opcode.
static void apply_context(lg_ptx_mnemonic *mnemonic, lg_ptx_sub sub) {
    lg_ptx_mods *mods = &mnemonic->mods;
    lg_ptx_op op = mnemonic->op;
    bool compares = op == LG_OP_SETP || op == LG_OP_SET;
    bool is_barrier = op == LG_OP_BAR || op == LG_OP_BARRIER;
    bool is_boolean =
        sub == LG_SUB_AND || sub == LG_SUB_OR || sub == LG_SUB_XOR || sub == LG_SUB_POPC;
    if (compares && sub == LG_SUB_LO) {
        mods->cmp = LG_CMP_LO;
    } else if (compares && sub == LG_SUB_HI) {
        mods->cmp = LG_CMP_HI;
    } else if (is_boolean && (compares || is_barrier || op == LG_OP_LOP3)) {
        mods->bool_op = sub;
    } else if (sub == LG_SUB_SYNC) {
        mods->sync = !is_barrier || mods->sub == LG_SUB_WARP;
        mods->sub = mods->sync ? mods->sub : LG_SUB_SYNC;
    } else if (sub == LG_SUB_UNI && op != LG_OP_VOTE) {
        mods->uni = true;
    } else {
        mods->sub = sub;
    }
}

static void apply(lg_ptx_mnemonic *mnemonic, const modifier *entry) {
    lg_ptx_mods *mods = &mnemonic->mods;
    switch (entry->kind) {
    case MODIFIER_FLAG:
        *(bool *)((char *)mods + entry->value) = true;
        return;
    case MODIFIER_SUB:
        mods->sub = (lg_ptx_sub)entry->value;
        return;
    case MODIFIER_CMP:
        mods->cmp = (lg_ptx_cmp)entry->value;
        return;
    case MODIFIER_ROUND:
        mods->round = (lg_ptx_round)entry->value;
        return;
    case MODIFIER_SPACE:
        mods->space = (lg_ptx_space)entry->value;
        mods->entry_param |= strcmp(entry->word, "param::entry") == 0;
        return;
    case MODIFIER_ORDER:
        mods->order = (lg_ptx_mem_order)entry->value;
        return;
    case MODIFIER_SCOPE:
        mods->scope = (lg_ptx_mem_scope)entry->value;
        return;
    case MODIFIER_VEC:
        mods->vec = (uint8_t)entry->value;
        return;
    case MODIFIER_CONTEXT:
        apply_context(mnemonic, (lg_ptx_sub)entry->value);
        return;
    case MODIFIER_HINT:
        mnemonic->cache_hint = true;
        return;
    case MODIFIER_DROP:
    case MODIFIER_UNSUPPORTED:
        return;
    }
}

static const char *suggest_op(lg_arena *arena, const char *word) {
    if (strlen(word) > MAX_GUESS) {
        return "";
    }
    const char *nearest = lg_nearest(word, op_names + 1, LG_N_OPS - 1);
    return nearest ? lg_arena_printf(arena, "; did you mean '%s'?", nearest) : "";
}

static const char *suggest_modifier(lg_arena *arena, const char *word) {
    const char *names[N_MODIFIERS + LG_PTX_N_TYPES];
    size_t n = 0;
    for (size_t i = 0; i < N_MODIFIERS; i++) {
        names[n++] = modifiers[i].word;
    }
    for (int type = 1; type < LG_PTX_N_TYPES; type++) {
        names[n++] = lg_ptx_type_name((lg_ptx_type)type);
    }
    const char *nearest =
        strlen(word) > 1 && strlen(word) <= MAX_GUESS ? lg_nearest(word, names, n) : NULL;
    return nearest ? lg_arena_printf(arena, "; did you mean '.%s'?", nearest) : "";
}

// One word behind a dot. A problem found first stays.
static void read_word(lg_arena *arena, lg_ptx_mnemonic *mnemonic, const char *word,
                      lg_ptx_words *words, const char *op_word) {
    lg_ptx_type type = lg_ptx_type_from_text(word, strlen(word));
    const modifier *entry = find_modifier(word);
    if (type != LG_PTX_NO_TYPE) {
        if (mnemonic->n_types == 4) {
            mnemonic->problem = "too many types";
            return;
        }
        mnemonic->types[mnemonic->n_types++] = type;
    } else if (entry && entry->kind != MODIFIER_UNSUPPORTED) {
        apply(mnemonic, entry);
    } else if (entry) {
        mnemonic->problem = lg_arena_printf(arena, "'.%s' of '%s' is not supported", word, op_word);
        return;
    } else {
        mnemonic->problem = lg_arena_printf(arena, "unknown modifier '.%s' of '%s'%s", word,
                                            op_word, suggest_modifier(arena, word));
        return;
    }
    words->text[words->n] = word;
    words->is_type[words->n] = type != LG_PTX_NO_TYPE;
    words->n++;
}

lg_ptx_mnemonic *lg_ptx_read_mnemonic(lg_arena *arena, const char *text, size_t n) {
    lg_ptx_mnemonic *mnemonic = lg_arena_alloc(arena, sizeof *mnemonic);
    mnemonic->text = lg_arena_strndup(arena, text, n);
    char *copy = lg_arena_strndup(arena, text, n);
    char *rest = copy;
    const char *op_word = strsep(&rest, ".");
    mnemonic->op = find_op(op_word);
    if (mnemonic->op == LG_OP_UNKNOWN) {
        mnemonic->problem = lg_arena_printf(arena, "unknown instruction '%s'%s", op_word,
                                            suggest_op(arena, op_word));
        return mnemonic;
    }
    if (!lg_ptx_op_has_forms(mnemonic->op)) {
        mnemonic->problem = lg_arena_printf(arena, "instruction '%s' is not supported", op_word);
        return mnemonic;
    }
    lg_ptx_words words = {0};
    int capacity = (int)(sizeof words.text / sizeof *words.text);
    while (rest && !mnemonic->problem) {
        const char *word = strsep(&rest, ".");
        if (words.n == capacity) {
            mnemonic->problem = "too many modifiers";
        } else {
            read_word(arena, mnemonic, word, &words, op_word);
        }
    }
    if (!mnemonic->problem) {
        lg_ptx_match_form(arena, mnemonic, &words);
    }
    return mnemonic;
}
