// SPDX-License-Identifier: Apache-2.0
// A mnemonic with all its modifiers, understood once and shared by every instruction that uses it.
// Private to engine/ptx. The forms stand in forms.def, the modifiers in modifiers.def.
#ifndef LG_ENGINE_PTX_MNEMONIC_H
#define LG_ENGINE_PTX_MNEMONIC_H

#include "engine/ptx/ast.h"
#include "support/arena.h"

enum { LG_PTX_MAX_MNEMONIC = 200, LG_PTX_MAX_SLOTS = 8 };

typedef enum lg_ptx_slot_role {
    LG_SLOT_DEST,
    LG_SLOT_SOURCE,
    LG_SLOT_MEM,     // [address]
    LG_SLOT_ADDRESS, // register, or the name of a variable
    LG_SLOT_LABEL,
    LG_SLOT_TARGETS, // name of a .branchtargets table
} lg_ptx_slot_role;

// What a form expects of one operand.
typedef struct lg_ptx_slot {
    lg_ptx_slot_role role;
    lg_ptx_type type; // of DEST and SOURCE
    bool relaxed;     // the register may be wider (ld, st, cvt)
    bool optional;
    bool pair;      // may be d|p
    bool vector;    // {…} when the mnemonic has .v2 or .v4
    bool immediate; // literals only
    bool sreg;      // a special register may stand here
} lg_ptx_slot;

typedef struct lg_ptx_mnemonic {
    const char *text;
    lg_ptx_op op;
    int n_types;
    lg_ptx_type types[4];
    lg_ptx_mods mods;
    const char *problem; // why there is no such form, or NULL
    bool cache_hint;     // .L2::cache_hint: one more operand, a 64-bit policy
    bool special;        // call, mov: checked by code of their own
    int n_slots;
    lg_ptx_slot slots[LG_PTX_MAX_SLOTS];
} lg_ptx_mnemonic;

// Reads "setp.lt.s64". Never NULL; everything lives in the arena.
lg_ptx_mnemonic *lg_ptx_read_mnemonic(lg_arena *arena, const char *text, size_t n);

// forms.c. An opcode without any form is not supported.
bool lg_ptx_op_has_forms(lg_ptx_op op);
// Fills slots and special, or `problem`. `words` are the modifiers without their dots.
typedef struct lg_ptx_words {
    int n;
    const char *text[24];
    bool is_type[24];
} lg_ptx_words;
void lg_ptx_match_form(lg_arena *arena, lg_ptx_mnemonic *mnemonic, const lg_ptx_words *words);

#endif
