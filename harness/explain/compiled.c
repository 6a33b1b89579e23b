// SPDX-License-Identifier: Apache-2.0
// The checks of kernels that torch.compile makes: "index out of bounds: 0 <= tmp4 < 50257". The
// condition has the bound, which is the head width where the check is a loss's; a kernel's name has
// the operations that were fused into it. Without a name it may be any operation that reads at an
// index: an embedding, a gather, a loss.
#include "explain/internal.h"

#include <string.h>

static const char begin_mark[] = "index out of bounds: ";

// Without what C and C++ write around a constant: "10L", "static_cast<int64_t>(10L)".
static bool read_size(lg_span text, int64_t *value) {
    static const char cast[] = "static_cast<";
    const char *close = NULL;
    if (text.n > strlen(cast) && memcmp(text.text, cast, strlen(cast)) == 0) {
        close = memchr(text.text, '(', text.n);
    }
    size_t at = close ? (size_t)(close - text.text) + 1 : 0;
    int64_t sum = 0;
    size_t start = at;
    for (; at < text.n && text.text[at] >= '0' && text.text[at] <= '9'; at++) {
        if (__builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, text.text[at] - '0', &sum)) {
            return false;
        }
    }
    bool digits = at > start;
    while (at < text.n && (text.text[at] == 'L' || (close && text.text[at] == ')'))) {
        at++;
    }
    *value = sum;
    return digits && at == text.n;
}

static lg_span trimmed(const char *from, const char *to) {
    while (from < to && *from == ' ') {
        from++;
    }
    while (to > from && to[-1] == ' ') {
        to--;
    }
    return (lg_span){from, (size_t)(to - from)};
}

// The last " < " that is no part of a call's arguments.
static const char *last_less(const char *text, size_t n) {
    static const char less[] = " < ";
    int depth = 0;
    for (size_t at = n; at >= strlen(less); at--) {
        char c = text[at - 1];
        depth += (c == ')' || c == ']') - (c == '(' || c == '[');
        if (depth == 0 && memcmp(text + at - strlen(less), less, strlen(less)) == 0) {
            return text + at - strlen(less);
        }
    }
    return NULL;
}

static bool is_any(const char *name, const char *const *parts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strstr(name, parts[i])) {
            return true;
        }
    }
    return false;
}

// Fused kernels are named for what is in them: triton_red_fused__log_softmax_nll_loss_forward_2.
static void decide_owner(lg_log_group *like) {
    static const char *const others[] = {"embedding", "index", "gather", "scatter"};
    const char *name = like->function ? like->function : "";
    bool fused = strstr(name, "_fused_") != NULL;
    bool loss = fused && lg_log_is_loss_kernel(name);
    bool other = fused && is_any(name, others, sizeof others / sizeof *others);
    like->what = loss && !other   ? LG_WHAT_LABEL
                 : other && !loss ? LG_WHAT_OTHER_OP
                                  : LG_WHAT_UNKNOWN;
    like->fired =
        loss && !other ? "the label check of a loss that torch.compile fused into this kernel"
        : other && !loss
            ? "an embedding, indexing, gather or scatter that torch.compile fused into this kernel"
        : loss
            ? "a kernel that torch.compile made of a loss and of indexing: either's check"
            : "a kernel that torch.compile made: a loss's labels, an embedding's ids or an index";
}

bool lg_log_compiled(lg_log_group *like, lg_span condition, char *bound, size_t bound_bytes,
                     lg_log_captures *found) {
    if (condition.n < strlen(begin_mark) ||
        memcmp(condition.text, begin_mark, strlen(begin_mark)) != 0) {
        return false;
    }
    const char *end = condition.text + condition.n;
    const char *at = condition.text + strlen(begin_mark);
    const char *less = last_less(at, (size_t)(end - at));
    decide_owner(like);
    if (!less || like->lacks_tail) {
        return true; // only "0 <= tmp4", or the bound may lack its end
    }
    lg_span upper = trimmed(less + 3, end);
    if (read_size(upper, &found->width) && found->width > 0) {
        found->has_width = true;
    }
    if (upper.n > 0) {
        lg_log_put(bound, bound_bytes, upper.text, upper.n);
        like->bound = bound;
    }
    return true;
}
