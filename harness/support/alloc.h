// SPDX-License-Identifier: Apache-2.0
// Small allocations that do not fail: they end the process with exit code 4 when memory is out.
// Large buffers (batches, tensors) use lg_buffer_alloc, which may fail and says so.
#ifndef LG_SUPPORT_ALLOC_H
#define LG_SUPPORT_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

void *lg_xmalloc(size_t bytes);           // free with free()
void *lg_xcalloc(size_t n, size_t bytes); // zeroed
void *lg_xrealloc(void *old, size_t bytes);
char *lg_xstrdup(const char *text);
char *lg_xstrndup(const char *text, size_t n);
char *lg_xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *lg_xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

// 64-byte aligned, not cleared; NULL when memory is out or bytes is absurd. free() releases it.
void *lg_buffer_alloc(size_t bytes);

#endif
