// SPDX-License-Identifier: Apache-2.0
// PTX text → tokens, one at a time. Private to engine/ptx.
//
// Comments, preprocessor lines (#…) and @@DWARF lines are skipped. Lines and columns count from 1;
// a column is a byte of the line.
#ifndef LG_ENGINE_PTX_TOKEN_H
#define LG_ENGINE_PTX_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_token_kind {
    LG_TOKEN_END,
    LG_TOKEN_WORD,   // add, %r1, $L__BB0_2, _
    LG_TOKEN_DOT,    // .global, .s32, .L1::evict_last: with its dot
    LG_TOKEN_INT,    // bits
    LG_TOKEN_F32,    // 0f3F800000: low 32 of bits
    LG_TOKEN_F64,    // 0d…, 1.5, 1e-3
    LG_TOKEN_STRING, // start and n without the quotes, escapes untouched
    LG_TOKEN_PUNCT,  // punct: the character, or LG_PUNCT2('<', '<') …
    LG_TOKEN_BAD,    // message says why
} lg_token_kind;

#define LG_PUNCT2(a, b) (((a) << 8) | (b))

typedef struct lg_token {
    lg_token_kind kind;
    const char *start; // into the text
    size_t n;
    int line, column;
    int punct;
    uint64_t bits;
    const char *message; // BAD
} lg_token;

typedef struct lg_lexer {
    const char *at, *end;
    const char *line_start;
    int line;
} lg_lexer;

void lg_lexer_init(lg_lexer *lexer, const char *text, size_t n);
void lg_lexer_next(lg_lexer *lexer, lg_token *token); // END for ever at the end

#endif
