// SPDX-License-Identifier: Apache-2.0
// Parsed PTX texts, shared by all contexts of the process: the kernels of one source are 10^5
// lines, and a run makes a context a worker and a new one after each device assert.
#include "engine/driver/internal.h"

#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// Bytes of texts whose parsed form is kept although no context uses them; that takes about five
// times as much memory.
enum { MAX_IDLE_BYTES = 32 << 20 };

struct lg_simdrv_image {
    lg_simdrv_image *next; // most recently used first
    XXH128_hash_t hash;
    size_t bytes;
    int n_users;
    pthread_mutex_t lock; // held while it is parsed
    bool tried;
    lg_ptx_module *ptx; // const once parsed; NULL when the text is bad
    lg_diags diags;
};

static struct {
    pthread_mutex_t lock; // of the list and of n_users
    lg_simdrv_image *images;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void free_image(lg_simdrv_image *image) {
    lg_ptx_free(image->ptx);
    lg_diags_free(&image->diags);
    pthread_mutex_destroy(&image->lock);
    free(image);
}

static lg_simdrv_image *find_or_add(XXH128_hash_t hash, size_t bytes) {
    pthread_mutex_lock(&cache.lock);
    lg_simdrv_image **link = &cache.images;
    while (*link && !((*link)->bytes == bytes && XXH128_isEqual((*link)->hash, hash))) {
        link = &(*link)->next;
    }
    lg_simdrv_image *image = *link;
    if (image) {
        *link = image->next;
    } else {
        image = lg_xcalloc(1, sizeof *image);
        image->hash = hash;
        image->bytes = bytes;
        pthread_mutex_init(&image->lock, NULL);
    }
    image->next = cache.images;
    cache.images = image;
    image->n_users++;
    pthread_mutex_unlock(&cache.lock);
    return image;
}

static void copy_diags(lg_diags *to, const lg_diags *from) {
    for (size_t i = 0; i < from->n; i++) {
        const lg_diag *diag = &from->items[i];
        lg_diags_add(to, diag->severity, (lg_loc){diag->file, diag->line, diag->column},
                     diag->source_line, "%s", diag->message);
    }
}

lg_simdrv_image *lg_simdrv_image_acquire(const char *text, lg_diags *diags) {
    size_t bytes = strlen(text);
    XXH128_hash_t hash = XXH3_128bits(text, bytes);
    lg_simdrv_image *image = find_or_add(hash, bytes);
    pthread_mutex_lock(&image->lock);
    if (!image->tried) {
        char name[40];
        snprintf(name, sizeof name, "module-%016llx.ptx", (unsigned long long)hash.low64);
        image->ptx = lg_ptx_load(name, text, bytes, &image->diags);
        image->tried = true;
    }
    copy_diags(diags, &image->diags);
    bool ok = image->ptx;
    pthread_mutex_unlock(&image->lock);
    if (!ok) {
        lg_simdrv_image_release(image);
        return NULL;
    }
    return image;
}

void lg_simdrv_image_release(lg_simdrv_image *image) {
    lg_simdrv_image *unused = NULL;
    pthread_mutex_lock(&cache.lock);
    image->n_users--;
    size_t idle_bytes = 0;
    for (lg_simdrv_image **link = &cache.images; *link;) {
        lg_simdrv_image *each = *link;
        idle_bytes += each->n_users == 0 ? each->bytes : 0;
        if (each->n_users == 0 && idle_bytes > MAX_IDLE_BYTES) {
            *link = each->next;
            each->next = unused;
            unused = each;
        } else {
            link = &each->next;
        }
    }
    pthread_mutex_unlock(&cache.lock);
    while (unused) {
        lg_simdrv_image *next = unused->next;
        free_image(unused);
        unused = next;
    }
}

const lg_ptx_module *lg_simdrv_image_ptx(const lg_simdrv_image *image) {
    return image->ptx;
}
