// SPDX-License-Identifier: Apache-2.0
// Text of users, kernels and device logs made safe for JSON and XML.
#ifndef LG_REPORT_ESCAPE_H
#define LG_REPORT_ESCAPE_H

#include "support/str.h"

// Appends `text` as valid UTF-8: bytes that are none become U+FFFD.
void lg_add_utf8(lg_str *out, const char *text);
// Appends `text` for XML content or a quoted attribute: markup escaped, characters XML 1.0 does not
// allow (control characters, bad UTF-8, surrogates) become U+FFFD.
void lg_add_xml(lg_str *out, const char *text);

#endif
