// SPDX-License-Identifier: Apache-2.0
// Size expressions of a manifest: "ceil_div(samples, block_x)", "16 * rows + 4".
//
//   sum     = product { (+ | -) product }
//   product = factor { (* | /) factor }            / rounds down, towards minus infinity
//   factor  = integer | name | - factor | ( sum ) | function ( sum {, sum} )
//   function: ceil_div(a, b), mod(a, b), min(a, b), max(a, b), next_pow2(a)
//
// Over int64_t; mod is what / leaves; an overflow, a division by zero and next_pow2 of what has
// none are errors. Pure.
#ifndef LG_MANIFEST_EXPR_H
#define LG_MANIFEST_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LG_EXPR_MAX_DEPTH = 32, LG_EXPR_PROBLEM = 160 };

// What went wrong: a text and the byte of the expression where.
typedef struct lg_expr_problem {
    char text[LG_EXPR_PROBLEM];
    size_t at;
} lg_expr_problem;

// The value of a name; false: unknown.
typedef bool (*lg_expr_lookup)(void *context, const char *name, int64_t *value);

bool lg_expr_eval(const char *text, lg_expr_lookup lookup, void *context, int64_t *value,
                  lg_expr_problem *problem);

// Syntax and names only: nothing is divided. `names` are those that an evaluation will know.
bool lg_expr_check(const char *text, const char *const *names, size_t n, lg_expr_problem *problem);

// The names that sizes may use: the SIZE arguments of args.def, block_x and dtype_bytes.
const char *const *lg_expr_names(size_t *n);

#endif
