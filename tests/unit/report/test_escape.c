// SPDX-License-Identifier: Apache-2.0
#include "report/internal.h"
#include "unit/testing.h"

#include <string.h>

#define BAD "\xef\xbf\xbd"

typedef struct escape_row {
    const char *name;
    const char *text;
    const char *utf8;
    const char *xml;
} escape_row;

static const escape_row rows[] = {
    {"plain", "abc", "abc", "abc"},
    {"markup", "<a b=\"c\">'&", "<a b=\"c\">'&", "&lt;a b=&quot;c&quot;&gt;&apos;&amp;"},
    {"umlaut and sign", "\xc3\xa4\xe2\x80\xa6\xf0\x9f\x98\x80",
     "\xc3\xa4\xe2\x80\xa6\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x80\xa6\xf0\x9f\x98\x80"},
    {"control characters", "a\x01\x1b[0m", "a\x01\x1b[0m", "a" BAD BAD "[0m"},
    {"line ends", "a\nb\tc\r", "a\nb\tc\r", "a&#10;b&#9;c" BAD},
    {"lone continuation", "a\x80z", "a" BAD "z", "a" BAD "z"},
    {"cut sequence", "a\xe2\x80", "a" BAD BAD, "a" BAD BAD},
    {"overlong", "\xc0\xaf", BAD BAD, BAD BAD},
    {"surrogate", "\xed\xa0\x80", BAD BAD BAD, BAD BAD BAD},
    {"beyond unicode", "\xf4\x90\x80\x80", BAD BAD BAD BAD, BAD BAD BAD BAD},
    {"not a character", "\xef\xbf\xbf", "\xef\xbf\xbf", BAD},
};

static void test_text_becomes_safe(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lg_str utf8 = {0};
        lg_str xml = {0};
        lg_add_utf8(&utf8, rows[i].text);
        lg_add_xml(&xml, rows[i].text);
        LG_CHECK_ROW(rows[i].name, strcmp(lg_str_text(&utf8), rows[i].utf8) == 0);
        LG_CHECK_ROW(rows[i].name, strcmp(lg_str_text(&xml), rows[i].xml) == 0);
        lg_str_free(&utf8);
        lg_str_free(&xml);
    }
}

int main(void) {
    const lg_test tests[] = {{"text becomes safe", test_text_becomes_safe}};
    return lg_run_tests(LG_SUITE, tests, sizeof(tests) / sizeof(tests[0]));
}
