// SPDX-License-Identifier: Apache-2.0
// Matches the modifiers of a mnemonic against the rows of forms.def, and reads the operands that
// the row asks for. Runs once for each different mnemonic of a module, so it may read the rows as
// text.
#include "engine/ptx/mnemonic.h"
#include "engine/ptx/types.h"

#include <string.h>

typedef struct form {
    lg_ptx_op op;
    const char *modifiers;
    const char *operands;
} form;

static const form forms[] = {
#define LG_PTX_FORM(op, modifiers, operands) {LG_OP_##op, modifiers, operands},
#include "engine/ptx/forms.def"
#undef LG_PTX_FORM
};
enum { N_FORMS = sizeof forms / sizeof *forms };

// The next piece of `*at` up to a blank; n is 0 at the end.
static const char *next_piece(const char **at, size_t *n) {
    *at += strspn(*at, " ");
    const char *start = *at;
    *n = strcspn(start, " ");
    *at = start + *n;
    return start;
}

static bool has_word(const char *alternatives, size_t n, const char *word) {
    size_t length = strlen(word);
    const char *end = alternatives + n;
    while (alternatives < end) {
        const char *bar = memchr(alternatives, '|', (size_t)(end - alternatives));
        const char *stop = bar ? bar : end;
        if ((size_t)(stop - alternatives) == length && memcmp(alternatives, word, length) == 0) {
            return true;
        }
        alternatives = stop + 1;
    }
    return false;
}

// Finds an unused word that the slot takes. Types must come in order.
static int find_word(const lg_ptx_words *words, uint32_t used, const char *slot, size_t n,
                     bool is_type) {
    for (int i = 0; i < words->n; i++) {
        if ((used >> i & 1) || words->is_type[i] != is_type) {
            continue;
        }
        if (has_word(slot, n, words->text[i])) {
            return i;
        }
        if (is_type) {
            return -1;
        }
    }
    return -1;
}

typedef struct match {
    bool ok;
    int n_matched;
    const char *missing; // required slot without a word
    size_t missing_n;
    bool missing_type;
    int extra; // word without a slot, -1 none
} match;

static match match_row(const form *row, const lg_ptx_words *words) {
    match result = {.ok = true, .extra = -1};
    uint32_t used = 0;
    const char *at = row->modifiers;
    size_t n;
    for (const char *slot = next_piece(&at, &n); n > 0; slot = next_piece(&at, &n)) {
        bool is_type = slot[0] == ':';
        bool optional = slot[n - 1] == '?';
        const char *text = slot + is_type;
        size_t length = n - is_type - optional;
        int word = find_word(words, used, text, length, is_type);
        if (word >= 0) {
            used |= 1U << word;
            result.n_matched++;
        } else if (!optional) {
            result.ok = false;
            if (!result.missing) {
                result.missing = text;
                result.missing_n = length;
                result.missing_type = is_type;
            }
        }
    }
    for (int i = 0; i < words->n; i++) {
        if (!(used >> i & 1)) {
            result.ok = false;
            if (result.extra < 0) {
                result.extra = i;
            }
        }
    }
    return result;
}

// Which of two failed rows explains better what is wrong.
static bool is_nearer(const match *a, const match *b) {
    if (a->n_matched != b->n_matched) {
        return a->n_matched > b->n_matched;
    }
    return !a->missing && b->missing;
}

static const char *explain(lg_arena *arena, const lg_ptx_mnemonic *mnemonic,
                           const lg_ptx_words *words, const match *nearest) {
    const char *op = lg_ptx_op_name(mnemonic->op);
    const char *extra = nearest->extra >= 0 ? words->text[nearest->extra] : NULL;
    if (nearest->missing) {
        const char *wanted = lg_arena_strndup(arena, nearest->missing, nearest->missing_n);
        const char *what = nearest->missing_type ? "a type out of " : "one of ";
        const char *single = strchr(wanted, '|') ? what : "";
        if (extra && nearest->missing_type == words->is_type[nearest->extra]) {
            return lg_arena_printf(arena, "'%s': expected %s.%s, not '.%s'", mnemonic->text, single,
                                   wanted, extra);
        }
        return lg_arena_printf(arena, "'%s': missing %s.%s", mnemonic->text, single, wanted);
    }
    return lg_arena_printf(arena, "'%s': '.%s' does not go with this form of '%s'", mnemonic->text,
                           extra ? extra : "", op);
}

static lg_ptx_type slot_type(const lg_ptx_mnemonic *mnemonic, const char *text, size_t n) {
    if (n == 1 && (text[0] == '0' || text[0] == '1')) {
        return mnemonic->types[text[0] - '0'];
    }
    if (n == 1 && text[0] == 'w') {
        return lg_ptx_type_wide(mnemonic->types[0]);
    }
    return lg_ptx_type_from_text(text, n);
}

static lg_ptx_slot read_slot(const lg_ptx_mnemonic *mnemonic, const char *text, size_t n) {
    static const char roles[] = "dsmalt";
    lg_ptx_slot slot = {.role = (lg_ptx_slot_role)(strchr(roles, text[0]) - roles)};
    size_t length = strcspn(text, "~?|*#% ");
    length = length < n ? length : n;
    slot.type = slot_type(mnemonic, text + 1, length - 1);
    for (size_t i = length; i < n; i++) {
        slot.relaxed |= text[i] == '~';
        slot.optional |= text[i] == '?';
        slot.pair |= text[i] == '|';
        slot.vector |= text[i] == '*';
        slot.immediate |= text[i] == '#';
        slot.sreg |= text[i] == '%';
    }
    return slot;
}

bool lg_ptx_op_has_forms(lg_ptx_op op) {
    for (size_t i = 0; i < N_FORMS; i++) {
        if (forms[i].op == op) {
            return true;
        }
    }
    return false;
}

void lg_ptx_match_form(lg_arena *arena, lg_ptx_mnemonic *mnemonic, const lg_ptx_words *words) {
    match nearest = {.n_matched = -1};
    for (size_t i = 0; i < N_FORMS; i++) {
        if (forms[i].op != mnemonic->op) {
            continue;
        }
        match result = match_row(&forms[i], words);
        if (!result.ok) {
            if (is_nearer(&result, &nearest)) {
                nearest = result;
            }
            continue;
        }
        mnemonic->special = mnemonic->op == LG_OP_CALL || mnemonic->op == LG_OP_MOV;
        const char *at = forms[i].operands;
        size_t n;
        for (const char *text = next_piece(&at, &n); n > 0; text = next_piece(&at, &n)) {
            mnemonic->slots[mnemonic->n_slots++] = read_slot(mnemonic, text, n);
        }
        return;
    }
    mnemonic->problem = explain(arena, mnemonic, words, &nearest);
}
