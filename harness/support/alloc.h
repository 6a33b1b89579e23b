// SPDX-License-Identifier: Apache-2.0
// Small allocations that do not fail: they end the process with exit code 4 when memory is out.
// Large buffers (batches, tensors) use lg_buffer_alloc, which may fail and says so.
#ifndef LG_SUPPORT_ALLOC_H
#define LG_SUPPORT_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

#define LG_NEVER_NULL __attribute__((returns_nonnull))

LG_NEVER_NULL void *lg_xmalloc(size_t bytes);           // free with free()
LG_NEVER_NULL void *lg_xcalloc(size_t n, size_t bytes); // zeroed
LG_NEVER_NULL void *lg_xrealloc(void *old, size_t bytes);
LG_NEVER_NULL char *lg_xstrdup(const char *text);
LG_NEVER_NULL char *lg_xstrndup(const char *text, size_t n);
LG_NEVER_NULL char *lg_xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
LG_NEVER_NULL char *lg_xvasprintf(const char *format, va_list args)
    __attribute__((format(printf, 1, 0)));

// 64-byte aligned, not cleared; NULL when memory is out or bytes is absurd. free() releases it.
void *lg_buffer_alloc(size_t bytes);

#endif
