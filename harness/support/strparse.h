// SPDX-License-Identifier: Apache-2.0
// Numbers read whole or refused: no leading blanks, no trailing text, no silent overflow.
#ifndef LG_SUPPORT_STRPARSE_H
#define LG_SUPPORT_STRPARSE_H

#include <stdbool.h>
#include <stdint.h>

// Decimal digits with an optional sign. "12abc", "0x10", "1e3", "" and values outside int64 fail.
bool lg_parse_i64(const char *text, int64_t *value);
bool lg_parse_u64(const char *text, uint64_t *value); // no sign at all
// Decimal or scientific notation; also inf, +inf, -inf, nan (and YAML's .inf, .nan forms).
// Hexadecimal floats are refused.
bool lg_parse_f64(const char *text, double *value);

#endif
