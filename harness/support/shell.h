// SPDX-License-Identifier: Apache-2.0
// Words of a command line as a POSIX shell reads them: for lines that are shown to be run again.
#ifndef LG_SUPPORT_SHELL_H
#define LG_SUPPORT_SHELL_H

#include "support/str.h"

// Appends `word`, quoted where a shell would change or split it.
void lg_shell_add(lg_str *line, const char *word);

// Splits a line into words: blanks separate, single quotes keep, a backslash keeps the next
// character. Nothing is expanded. NULL when a quote is not closed. The words and the
// NULL-terminated array are one allocation, released with free(); *n gets their number.
char **lg_shell_split(const char *line, size_t *n);

#endif
