// SPDX-License-Identifier: Apache-2.0
#include "device/device.h"

#include "device/internal.h"
#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct lg_compiler {
    char *nvcc;
    char *cache_dir; // absolute: the compiler runs elsewhere
    char *version_text;
    void (*notice)(void *context, const char *source); // or NULL
    void *notice_context;
};

// What a source is to the compiler: `root` is where it runs, `relative` what it is given.
typedef struct place {
    char *root;
    char *folder;   // "kernels", or "." in the file system's root
    char *relative; // "kernels/nll_loss.cu"
    char *absolute;
} place;

static const char *const base_flags[] = {"-ptx", "-lineinfo", "-arch=compute_75", "-std=c++17"};
enum { N_BASE_FLAGS = sizeof base_flags / sizeof *base_flags };

static bool make_folders(const char *path) {
    char *copy = lg_xstrdup(path);
    bool ok = true;
    for (char *at = copy + 1; ok; at++) {
        if (*at == '/' || *at == '\0') {
            char kept = *at;
            *at = '\0';
            ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
            *at = kept;
            if (!kept) {
                break;
            }
        }
    }
    free(copy);
    return ok;
}

lg_compiler *lg_compiler_open(const char *nvcc, const char *cache_dir, lg_diags *diags) {
    lg_str version = {0};
    int status = 0;
    // A relative path must still lead there when the compiler runs in another folder.
    char *program = strchr(nvcc, '/') ? realpath(nvcc, NULL) : lg_xstrdup(nvcc);
    bool ran = program && lg_run_program((const char *const[]){program, "--version", NULL}, NULL,
                                         &version, &status);
    if (!ran || status != 0) {
        lg_error(diags, (lg_loc){nvcc, 0, 0}, "this CUDA compiler does not run: %s",
                 ran ? lg_str_text(&version) : strerror(errno));
        lg_str_free(&version);
        free(program);
        return NULL;
    }
    char *folder = *cache_dir && make_folders(cache_dir) ? realpath(cache_dir, NULL) : NULL;
    if (!folder) {
        lg_error(diags, (lg_loc){cache_dir, 0, 0}, "cannot use it as the cache folder: %s",
                 strerror(errno));
        lg_str_free(&version);
        free(program);
        return NULL;
    }
    lg_compiler *compiler = lg_xcalloc(1, sizeof *compiler);
    compiler->nvcc = program;
    compiler->cache_dir = folder;
    compiler->version_text = lg_str_take(&version);
    return compiler;
}

void lg_compiler_close(lg_compiler *compiler) {
    if (compiler) {
        free(compiler->nvcc);
        free(compiler->cache_dir);
        free(compiler->version_text);
        free(compiler);
    }
}

void lg_compiler_notify(lg_compiler *compiler, void (*notice)(void *context, const char *source),
                        void *context) {
    compiler->notice = notice;
    compiler->notice_context = context;
}

void lg_compiled_free(lg_compiled *compiled) {
    free(compiled->path);
    if (compiled->mapped) {
        munmap(compiled->ptx, compiled->mapped);
    } else {
        free(compiled->ptx);
    }
    *compiled = (lg_compiled){0};
}

void lg_compiled_rest(const lg_compiled *compiled) {
    if (compiled->mapped) {
        madvise(compiled->ptx, compiled->mapped, MADV_DONTNEED);
    }
}

static bool find_place(const char *source, place *out, lg_diags *diags) {
    char *absolute = realpath(source, NULL);
    if (!absolute) {
        return lg_error(diags, (lg_loc){source, 0, 0}, "cannot read it: %s", strerror(errno));
    }
    char *file = strrchr(absolute, '/');
    char *folder = file;
    while (folder > absolute && folder[-1] != '/') {
        folder--;
    }
    *out = (place){.absolute = absolute};
    if (folder == absolute) { // directly in the root of the file system
        out->root = lg_xstrdup("/");
        out->folder = lg_xstrdup(".");
        out->relative = lg_xstrdup(file + 1);
    } else {
        out->root =
            lg_xstrndup(absolute, folder - absolute > 1 ? (size_t)(folder - absolute - 1) : 1);
        out->folder = lg_xstrndup(folder, (size_t)(file - folder));
        out->relative = lg_xstrdup(folder);
    }
    return true;
}

static void free_place(place *at) {
    free(at->root);
    free(at->folder);
    free(at->relative);
    free(at->absolute);
}

// The folders headers may lie in: the source's, then each -I of the flags, from `root`.
static char **include_folders(const place *at, const char *const *flags, int n_flags, size_t *n) {
    char **folders = lg_xcalloc((size_t)n_flags + 1, sizeof *folders);
    folders[(*n)++] = lg_xasprintf("%s/%s", at->root, at->folder);
    for (int i = 0; i < n_flags; i++) {
        const char *folder = "";
        if (strcmp(flags[i], "-I") == 0 && i + 1 < n_flags) {
            folder = flags[i + 1];
        } else if (strncmp(flags[i], "-I", 2) == 0) {
            folder = flags[i] + 2;
        } else if (strncmp(flags[i], "--include-path=", 15) == 0) {
            folder = flags[i] + 15;
        }
        if (*folder) {
            folders[(*n)++] =
                *folder == '/' ? lg_xstrdup(folder) : lg_xasprintf("%s/%s", at->root, folder);
        }
    }
    return folders;
}

// The file in the cache this compilation belongs to, NULL on error.
static char *cache_path(const lg_compiler *compiler, const place *at, const char *const *flags,
                        int n_flags, bool *opaque, lg_diags *diags) {
    lg_str key = {0};
    lg_str_printf(&key, "1\n%s\n%s\n", compiler->version_text, at->relative);
    for (int i = 0; i < N_BASE_FLAGS; i++) {
        lg_str_printf(&key, "%s\n", base_flags[i]);
    }
    for (int i = 0; i < n_flags; i++) {
        lg_str_printf(&key, "%zu %s\n", strlen(flags[i]), flags[i]);
    }
    size_t n_folders = 0;
    char **folders = include_folders(at, flags, n_flags, &n_folders);
    bool ok = lg_collect_sources(at->absolute, (const char *const *)folders, n_folders, at->root,
                                 &key, opaque, diags);
    XXH128_hash_t hash = XXH3_128bits(lg_str_text(&key), key.n);
    for (size_t i = 0; i < n_folders; i++) {
        free(folders[i]);
    }
    free(folders);
    lg_str_free(&key);
    const char *base = strrchr(at->absolute, '/') + 1;
    return ok ? lg_xasprintf("%s/%.*s-%016llx%016llx.ptx", compiler->cache_dir,
                             (int)strcspn(base, "."), base, (unsigned long long)hash.high64,
                             (unsigned long long)hash.low64)
              : NULL;
}

static bool write_file(const char *path, const char *text, size_t n) {
    FILE *file = fopen(path, "we");
    bool ok = file && fwrite(text, 1, n, file) == n;
    return (!file || fclose(file) == 0) && ok;
}

// Runs nvcc into `path`; the text there is complete from the moment it exists.
static bool compile_into(lg_compiler *compiler, const place *at, const char *const *flags,
                         int n_flags, const char *path, lg_diags *diags) {
    char *temporary = lg_xasprintf("%s.%ld-%p.tmp", path, (long)getpid(), (const void *)diags);
    char *include = lg_xasprintf("-I%s", at->folder);
    const char **argv = lg_xcalloc((size_t)n_flags + N_BASE_FLAGS + 6, sizeof *argv);
    int n = 0;
    argv[n++] = compiler->nvcc;
    for (int i = 0; i < N_BASE_FLAGS; i++) {
        argv[n++] = base_flags[i];
    }
    argv[n++] = include;
    for (int i = 0; i < n_flags; i++) {
        argv[n++] = flags[i];
    }
    argv[n++] = "-o";
    argv[n++] = temporary;
    argv[n++] = at->relative;

    if (compiler->notice) {
        compiler->notice(compiler->notice_context, at->relative);
    }
    lg_str output = {0};
    int status = 0;
    bool ran = lg_run_program(argv, at->root, &output, &status);
    size_t n_errors = lg_parse_compiler_output(lg_str_text(&output), diags);
    bool ok = ran && status == 0;
    if (!ran) {
        lg_error(diags, (lg_loc){compiler->nvcc, 0, 0}, "cannot start it: %s", strerror(errno));
    } else if (!ok && n_errors == 0) {
        lg_error(diags, (lg_loc){at->relative, 0, 0}, "nvcc ended with status %d: %.*s", status,
                 (int)strcspn(lg_str_text(&output), "\n"), lg_str_text(&output));
    }
    size_t n_bytes;
    char *ptx = ok ? lg_read_file(temporary, &n_bytes) : NULL;
    if (ok) {
        lg_str shortened = {0};
        lg_shorten_ptx_paths(ptx ? ptx : "", at->root, &shortened);
        ok = ptx && write_file(temporary, lg_str_text(&shortened), shortened.n) &&
             rename(temporary, path) == 0;
        if (!ok) {
            lg_error(diags, (lg_loc){path, 0, 0}, "cannot write it: %s", strerror(errno));
        }
        lg_str_free(&shortened);
    }
    unlink(temporary);
    free(ptx);
    lg_str_free(&output);
    free(argv);
    free(include);
    free(temporary);
    return ok;
}

// One compilation of a key at a time, over threads and processes. The lock files are few and stay:
// removing one while another waits for it would let both in.
static int lock_key(const lg_compiler *compiler, const char *path) {
    const char *hash = strrchr(path, '-') + 1;
    char *lock = lg_xasprintf("%s/lock-%.2s", compiler->cache_dir, hash);
    int file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    free(lock);
    while (file >= 0 && flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
    return file;
}

// Maps it: hundreds of kernels are many megabytes of text, and a case needs a few pages. A file of
// the cache appears whole under its name and is never written to again.
static bool read_compiled(const char *path, lg_compiled *out) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool ok = file >= 0 && fstat(file, &status) == 0;
    if (ok) {
        // Bytes of zero behind the last page of the file: the text ends with a NUL whatever its
        // size.
        size_t n = (size_t)status.st_size, space = n + (size_t)sysconf(_SC_PAGESIZE);
        char *at = mmap(NULL, space, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ok = at != MAP_FAILED;
        if (ok && n > 0 && mmap(at, n, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED) {
            munmap(at, space);
            ok = false;
        }
        if (ok) {
            out->ptx = at;
            out->n_bytes = n;
            out->mapped = space;
        }
    }
    int error = errno;
    if (file >= 0) {
        close(file);
    }
    errno = error;
    return ok;
}

bool lg_compile(lg_compiler *compiler, const char *source, const char *const *flags, int n_flags,
                lg_compiled *out, lg_diags *diags) {
    *out = (lg_compiled){0};
    place at = {0};
    if (!find_place(source, &at, diags)) {
        return false;
    }
    bool opaque = false;
    out->path = cache_path(compiler, &at, flags, n_flags, &opaque, diags);
    bool ok = out->path != NULL;
    if (ok) {
        out->from_cache = !opaque && read_compiled(out->path, out);
    }
    if (ok && !out->from_cache) {
        int lock = lock_key(compiler, out->path);
        out->from_cache = !opaque && read_compiled(out->path, out);
        if (!out->from_cache) {
            ok = compile_into(compiler, &at, flags, n_flags, out->path, diags) &&
                 (read_compiled(out->path, out) || lg_error(diags, (lg_loc){out->path, 0, 0},
                                                            "cannot read it: %s", strerror(errno)));
        }
        if (lock >= 0) {
            close(lock);
        }
    }
    if (!ok) {
        lg_compiled_free(out);
    }
    free_place(&at);
    return ok;
}
