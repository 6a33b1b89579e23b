// SPDX-License-Identifier: Apache-2.0
// Single YAML values as C values, each whole or refused with a text that says what was wanted.
#include "support/str.h"
#include "support/strparse.h"
#include "support/yaml_bind.h"

#include <string.h>

static const char *const kind_names[] = {"a single value", "a list", "a mapping"};

const char *lg_bind_nearest(const char *word, const char *const *names, size_t n) {
    size_t length = strlen(word);
    const char *near = length < 100 ? lg_nearest(word, names, n) : NULL;
    for (size_t i = 0; !near && length >= 4 && i < n; i++) {
        near = strncmp(word, names[i], length) == 0 ? names[i] : NULL; // its beginning
    }
    return near;
}

const char *lg_bind_hint(lg_binder *binder, const char *word, const char *const *names, size_t n) {
    const char *near = lg_bind_nearest(word, names, n);
    return near ? lg_arena_printf(binder->scratch, "; did you mean '%s'?", near) : "";
}

static bool want_kind(lg_binder *binder, lg_yaml_node *node, const char *what, lg_yaml_kind kind) {
    if (node->kind == kind) {
        return true;
    }
    if (node->kind == LG_YAML_SCALAR && !*node->text && node->plain) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s has no value; want %s", what,
                             kind_names[kind]);
    }
    return lg_yaml_error(binder->doc, node, binder->diags, "%s is %s; want %s", what,
                         kind_names[node->kind], kind_names[kind]);
}

bool lg_bind_is_map(lg_binder *binder, lg_yaml_node *node, const char *what) {
    return want_kind(binder, node, what, LG_YAML_MAP);
}

bool lg_bind_is_list(lg_binder *binder, lg_yaml_node *node, const char *what) {
    return want_kind(binder, node, what, LG_YAML_LIST);
}

static bool want_scalar(lg_binder *binder, lg_yaml_node *node, const char *what,
                        const char *wanted) {
    if (node->kind != LG_YAML_SCALAR) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is %s; want %s", what,
                             kind_names[node->kind], wanted);
    }
    if (!*node->text) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s has no value; want %s", what,
                             wanted);
    }
    return true;
}

// A number, or true or false: what quotes would make a text of.
static bool want_plain(lg_binder *binder, lg_yaml_node *node, const char *what,
                       const char *wanted) {
    if (!want_scalar(binder, node, what, wanted)) {
        return false;
    }
    if (!node->plain) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is the text '%.60s'; want %s, without quotes", what, node->text,
                             wanted);
    }
    return true;
}

// Why a text that should be an integer is none, as far as it can be told.
static const char *integer_excuse(const char *text) {
    double real;
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits && strspn(digits, "0123456789") == strlen(digits)) {
        return " (it does not fit 64 bits)";
    }
    return lg_parse_f64(text, &real) ? " (no fraction, exponent, nan or inf)" : "";
}

bool lg_bind_i64(lg_binder *binder, lg_yaml_node *node, const char *what, int64_t min, int64_t max,
                 int64_t *value) {
    int64_t read;
    if (!want_plain(binder, node, what, "an integer")) {
        return false;
    }
    if (!lg_parse_i64(node->text, &read)) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is '%.60s'; want an integer%s",
                             what, node->text, integer_excuse(node->text));
    }
    if (read < min && max == INT64_MAX) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is %lld; it must be at least %lld", what, (long long)read,
                             (long long)min);
    }
    if (read < min || read > max) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is %lld; it must lie between %lld and %lld", what, (long long)read,
                             (long long)min, (long long)max);
    }
    *value = read;
    return true;
}

bool lg_bind_u64(lg_binder *binder, lg_yaml_node *node, const char *what, uint64_t *value) {
    if (!want_plain(binder, node, what, "an integer from 0")) {
        return false;
    }
    if (!lg_parse_u64(node->text, value) && *node->text == '-') {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is %.60s; it must be at least 0",
                             what, node->text);
    }
    if (!lg_parse_u64(node->text, value)) {
        return lg_yaml_error(binder->doc, node, binder->diags,
                             "%s is '%.60s'; want an integer from 0%s", what, node->text,
                             integer_excuse(node->text));
    }
    return true;
}

bool lg_bind_real(lg_binder *binder, lg_yaml_node *node, const char *what, double *value) {
    if (!want_plain(binder, node, what, "a number")) {
        return false;
    }
    if (!lg_parse_f64(node->text, value)) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is '%.60s'; want a number", what,
                             node->text);
    }
    return true;
}

bool lg_bind_bool(lg_binder *binder, lg_yaml_node *node, const char *what, bool *value) {
    if (!want_plain(binder, node, what, "true or false")) {
        return false;
    }
    bool is_true = strcmp(node->text, "true") == 0;
    if (!is_true && strcmp(node->text, "false") != 0) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is '%.60s'; want true or false",
                             what, node->text);
    }
    *value = is_true;
    return true;
}

bool lg_bind_text(lg_binder *binder, lg_yaml_node *node, const char *what, const char **text) {
    if (!want_scalar(binder, node, what, "text")) {
        return false;
    }
    *text = node->text;
    return true;
}

bool lg_bind_choice(lg_binder *binder, lg_yaml_node *node, const char *what,
                    const char *const *choices, size_t n, int *index) {
    if (!want_scalar(binder, node, what, "a word")) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(node->text, choices[i]) == 0) {
            *index = (int)i;
            return true;
        }
    }
    const char *hint = lg_bind_hint(binder, node->text, choices, n);
    if (*hint) {
        return lg_yaml_error(binder->doc, node, binder->diags, "%s is '%.60s'%s", what, node->text,
                             hint);
    }
    lg_str list = {0};
    for (size_t i = 0; i < n; i++) {
        lg_str_printf(&list, "%s%s", i ? ", " : "", choices[i]);
    }
    lg_yaml_error(binder->doc, node, binder->diags, "%s is '%.60s'; want one of %s", what,
                  node->text, lg_str_text(&list));
    lg_str_free(&list);
    return false;
}
