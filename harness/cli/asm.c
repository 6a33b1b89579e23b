// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "device/device.h"
#include "engine/ptx/ptx.h"
#include "support/alloc.h"
#include "support/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// "nll_loss_{dtype}_{target}" with the names filled in.
static char *expand_entry(const char *entry, const char *dtype, const char *target) {
    lg_str out = {0};
    for (const char *p = entry; *p;) {
        if (strncmp(p, "{dtype}", 7) == 0) {
            lg_str_add(&out, dtype);
            p += 7;
        } else if (strncmp(p, "{target}", 8) == 0) {
            lg_str_add(&out, target);
            p += 8;
        } else {
            lg_str_add_n(&out, p++, 1);
        }
    }
    return lg_str_take(&out);
}

static char *load_ptx(const lg_cli *cli, const lg_kernel *kernel, size_t *n, lg_diags *diags) {
    if (kernel->ptx) {
        char *text = lg_read_file(kernel->ptx, n);
        if (!text) {
            lg_error(diags, (lg_loc){.file = kernel->ptx}, "cannot read: %s", strerror(errno));
        }
        return text;
    }
    char *cache = lg_cli_cache(cli);
    lg_compiler *compiler = lg_compiler_open(lg_cli_nvcc(cli), cache, diags);
    free(cache);
    lg_compiled compiled = {0};
    char *text = NULL;
    if (compiler && lg_compile(compiler, kernel->source, kernel->nvcc_flags, kernel->n_nvcc_flags,
                               &compiled, diags)) {
        *n = compiled.n_bytes;
        text = lg_xstrndup(compiled.ptx, compiled.n_bytes);
        lg_compiled_free(&compiled);
    }
    lg_compiler_close(compiler);
    return text;
}

static bool print_stages(const lg_cli *cli, const lg_kernel *kernel, lg_diags *diags) {
    size_t n = 0;
    char *text = load_ptx(cli, kernel, &n, diags);
    lg_ptx_module *module = text ? lg_ptx_load(kernel->name, text, n, diags) : NULL;
    bool ok = module != NULL;
    for (int i = 0; module && i < kernel->n_stages; i++) {
        const lg_stage *stage = &kernel->stages[i];
        char *entry = expand_entry(stage->entry, cli->dtype ? cli->dtype : "float32",
                                   cli->target ? cli->target : "int64");
        int function = lg_ptx_find_function(module, entry);
        if (function < 0) {
            ok = lg_error(diags, stage->loc, "the module has no entry '%s'", entry);
        } else {
            lg_str listing = {0};
            lg_ptx_dump(module, &module->functions[function], &listing);
            fputs(lg_str_text(&listing), stdout);
            lg_str_free(&listing);
        }
        free(entry);
    }
    lg_ptx_free(module);
    free(text);
    return ok;
}

static int unknown_kernel(const lg_kernel_set *kernels, const char *name) {
    const char **names = lg_xmalloc(((size_t)kernels->n + 1) * sizeof(*names));
    for (int64_t i = 0; i < kernels->n; i++) {
        names[i] = kernels->items[i].name;
    }
    const char *near = lg_nearest(name, names, (size_t)kernels->n);
    fprintf(stderr, "lossgate asm: error: no kernel '%s'", name);
    if (near) {
        fprintf(stderr, ", did you mean '%s'?", near);
    }
    fputs("\n", stderr);
    free(names);
    return LG_EXIT_USAGE;
}

int lg_verb_asm(const lg_cli *cli) {
    if (cli->words.n != 1) {
        fputs("lossgate asm: error: give one kernel, as `lossgate list kernels` names it\n",
              stderr);
        return LG_EXIT_USAGE;
    }
    lg_diags diags = {0};
    lg_kernel_set kernels;
    int status = lg_kernels_load(cli, &kernels, &diags) ? LG_EXIT_OK : LG_EXIT_USAGE;
    int64_t found = -1;
    for (int64_t i = 0; i < kernels.n; i++) {
        found = strcmp(kernels.items[i].name, cli->words.items[0]) == 0 ? i : found;
    }
    if (status == LG_EXIT_OK && found < 0) {
        status = unknown_kernel(&kernels, cli->words.items[0]);
    } else if (status == LG_EXIT_OK && !print_stages(cli, &kernels.items[found], &diags)) {
        status = LG_EXIT_USAGE;
    }
    fflush(stdout);
    lg_diags_print(&diags, stderr);
    lg_diags_free(&diags);
    lg_kernel_set_free(&kernels);
    return status;
}
