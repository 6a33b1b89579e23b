// SPDX-License-Identifier: Apache-2.0
// Which rows a block and a thread can mean. The launches are those of PyTorch's loss kernels, of
// their predecessors, and of lossgate's own.
#include "explain/internal.h"

#include <inttypes.h>
#include <string.h>

typedef enum mapping {
    MAP_UNKNOWN,
    MAP_ONE,     // one block of one thread, a single sample
    MAP_GRID,    // row = block · 1024 + thread
    MAP_MODULO,  // one block: rows thread, thread + T, thread + 2T, …
    MAP_SAMPLE,  // blocks belong to a sample, pixels modulo 1024
    MAP_PIXEL,   // row = block · 1024 + thread over N·H·W, the sample fastest
    MAP_ELEMENT, // block · 512 + something below 512
    MAP_OWN_GRID,
    MAP_OWN_MODULO,
} mapping;

typedef struct kernel_row {
    const char *function; // a part of its name
    mapping map;
} kernel_row;

// The first that fits counts: longer names come before those they contain.
static const kernel_row kernels[] = {
    {"nll_loss2d_forward_no_reduce_kernel", MAP_PIXEL},
    {"nll_loss2d_backward_no_reduce_kernel", MAP_PIXEL},
    {"SpatialClassNLLCriterion_updateOutput_no_reduce_kernel", MAP_PIXEL},
    {"SpatialClassNLLCriterion_updateGradInput_no_reduce_kernel", MAP_PIXEL},
    {"nll_loss2d_forward_kernel", MAP_SAMPLE},
    {"nll_loss2d_backward_kernel", MAP_SAMPLE},
    {"SpatialClassNLLCriterion", MAP_SAMPLE},
    {"nll_loss_forward_no_reduce_cuda_kernel", MAP_GRID},
    {"nll_loss_backward_no_reduce_cuda_kernel", MAP_GRID},
    {"ClassNLLCriterion_updateOutput_no_reduce_kernel", MAP_GRID},
    {"ClassNLLCriterion_updateGradInput_no_reduce_kernel", MAP_GRID},
    {"_reduce_cuda_kernel_1d", MAP_ONE},
    {"_reduce_cuda_kernel_2d", MAP_MODULO},
    {"ClassNLLCriterion_updateOutput_kernel1", MAP_ONE},
    {"ClassNLLCriterion_updateGradInput_kernel1", MAP_ONE},
    {"ClassNLLCriterion", MAP_MODULO},
    {"nll_loss_forward_no_reduce_", MAP_OWN_GRID},
    {"nll_loss_backward_no_reduce_", MAP_OWN_GRID},
    {"nll_loss_forward_reduce_", MAP_OWN_MODULO},
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

// Windows prints no function: the file and the name of the guarded variable tell the kernel.
static mapping map_of_file(const lg_log_group *group) {
    const char *file = group->file ? group->file : "";
    const char *expression = group->expression ? group->expression : "";
    bool row_by_row = strncmp(expression, "cur_target", 10) == 0;
    if (ends_with(file, "NLLLoss2d.cu") || ends_with(file, "SpatialClassNLLCriterion.cu")) {
        return row_by_row ? MAP_PIXEL : MAP_SAMPLE;
    }
    if (ends_with(file, "Loss.cu") || ends_with(file, "ClassNLLCriterion.cu")) {
        return row_by_row ? MAP_GRID : MAP_MODULO;
    }
    return MAP_UNKNOWN;
}

static mapping map_of(const lg_log_group *group) {
    if (group->what == LG_WHAT_INPUT_RANGE || group->what == LG_WHAT_TARGET_RANGE) {
        return MAP_ELEMENT;
    }
    const char *function = group->function ? group->function : "";
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strstr(function, kernels[i].function)) {
            return kernels[i].map;
        }
    }
    return *function ? MAP_UNKNOWN : map_of_file(group);
}

// The least power of two above the largest thread seen, at least 32.
static int64_t least_threads(const lg_log_group *group) {
    int64_t threads = 32;
    while (threads <= group->max_thread && threads < LG_LOG_BLOCK_THREADS) {
        threads *= 2;
    }
    return threads;
}

enum { LISTED = 4 };

// The threads of the first block that are listed, the first line's first; how many.
static int list_threads(const lg_log_group *group, int64_t out[LISTED]) {
    int n = 1;
    out[0] = group->thread[0];
    for (int64_t t = 0; t < LG_LOG_BLOCK_THREADS && n < LISTED; t++) {
        if (t != out[0] && group->threads[t / 64] >> (t % 64) & 1) {
            out[n++] = t;
        }
    }
    return n;
}

// ", 17, 20 …": what the other threads of the first block mean, where one means one row.
static const char *others_text(lg_arena *arena, const lg_log_group *group, int64_t first_row) {
    int64_t threads[LISTED];
    int n = list_threads(group, threads);
    const char *text = "";
    for (int i = 1; i < n; i++) {
        text = lg_arena_printf(arena, "%s, %" PRId64, text, first_row + threads[i]);
    }
    bool more = lg_log_group_threads(group) > n || group->n_blocks > 0;
    return more ? lg_arena_printf(arena, "%s …", text) : text;
}

static const char *modulo_text(lg_arena *arena, const lg_log_group *group, bool own) {
    int64_t least = least_threads(group);
    int64_t threads[LISTED];
    int n = list_threads(group, threads);
    const char *rows = "rows";
    for (int i = 0; i < n; i++) {
        int64_t t = threads[i];
        rows = lg_arena_printf(arena, "%s%s %" PRId64 ", %" PRId64 ", %" PRId64 " …", rows,
                               i ? " and" : "", t, t + least, t + 2 * least);
    }
    if (lg_log_group_threads(group) > n || group->n_blocks > 0) {
        rows = lg_arena_printf(arena, "%s and those of further threads", rows);
    }
    if (own) {
        return lg_arena_printf(arena,
                               "%s if the block has %" PRId64
                               " threads: the thread is the row modulo the block size",
                               rows, least);
    }
    if (least > 32) {
        return lg_arena_printf(arena,
                               "%s if the block has %" PRId64
                               " threads: the thread is the row modulo the block size, which is "
                               "above 32, so PyTorch is newer than 2.4 and the batch has more than "
                               "735 rows",
                               rows, least);
    }
    return lg_arena_printf(
        arena,
        "%s if the block has 32 threads (PyTorch up to 2.4, later ones up to 735 "
        "rows; else every 64th to 1024th row): the thread is the row modulo the "
        "block size",
        rows);
}

static const char *sample_text(lg_arena *arena, const lg_log_group *group) {
    int64_t t = group->thread[0];
    return lg_arena_printf(arena,
                           "sample %" PRId64 ", pixels %" PRId64 ", %" PRId64 ", %" PRId64
                           " … (h·W + w), if an image has at most 261120 pixels; beyond that "
                           "several blocks share a sample",
                           group->block[0], t, t + 1024, t + 2048);
}

static const char *pixel_text(lg_arena *arena, const lg_log_group *group) {
    int64_t i = group->block[0] * 1024 + group->thread[0];
    return lg_arena_printf(arena,
                           "one pixel: with i = %" PRId64
                           " it is sample i mod N, h = (i / N) mod H, w = (i / (N·H)) mod W",
                           i);
}

static void exact(lg_log_finding *finding, int64_t row, const char *why) {
    finding->has_row = true;
    finding->row = row;
    finding->rows = lg_arena_printf(&finding->arena, "row %" PRId64 " exactly: %s", row, why);
}

static void rows_of_thread(lg_log_finding *finding, const lg_log_group *group) {
    lg_arena *arena = &finding->arena;
    const char *others = "";
    switch (map_of(group)) {
    case MAP_ONE:
        exact(finding, 0, "the input is a single sample");
        break;
    case MAP_GRID:
        exact(finding, group->block[0] * 1024 + group->thread[0], "block · 1024 + thread");
        others = others_text(arena, group, group->block[0] * 1024);
        if (*others) {
            finding->rows = lg_arena_printf(
                arena, "rows %" PRId64 "%s exactly: block · 1024 + thread", finding->row, others);
        }
        break;
    case MAP_OWN_GRID:
        finding->rows = lg_arena_printf(
            arena, "row %" PRId64 "%s if the block has 256 threads: block · block size + thread",
            group->block[0] * 256 + group->thread[0],
            others_text(arena, group, group->block[0] * 256));
        break;
    case MAP_MODULO:
        finding->rows = modulo_text(arena, group, false);
        break;
    case MAP_OWN_MODULO:
        finding->rows = modulo_text(arena, group, true);
        break;
    case MAP_SAMPLE:
        finding->rows = sample_text(arena, group);
        break;
    case MAP_PIXEL:
        finding->rows = pixel_text(arena, group);
        break;
    case MAP_ELEMENT:
        finding->rows = lg_arena_printf(
            arena,
            "one of elements %" PRId64 " to %" PRId64
            " if a block has 512 of them: how they are spread over its threads differs by build",
            group->block[0] * 512, group->block[0] * 512 + 511);
        break;
    case MAP_UNKNOWN:
        finding->rows = "unknown: the launch of this kernel is not known";
        break;
    }
}

static bool is_about_rows(lg_log_what what) {
    return what == LG_WHAT_LABEL || what == LG_WHAT_LABEL_UINT8 || what == LG_WHAT_INPUT_RANGE ||
           what == LG_WHAT_TARGET_RANGE || what == LG_WHAT_ACCESS || what == LG_WHAT_OFFSET;
}

static void say_unknown(lg_log_finding *finding, const lg_log_group *group) {
    lg_str text = {0};
    bool label = group->what == LG_WHAT_LABEL || group->what == LG_WHAT_LABEL_UINT8 ||
                 group->what == LG_WHAT_ACCESS;
    if (label && group->n_values == 0) {
        lg_str_add(&text, "the label's value");
    }
    if (group->what == LG_WHAT_INPUT_RANGE || group->what == LG_WHAT_TARGET_RANGE) {
        lg_str_add(&text, "the value");
    }
    if (label && !group->has_width) {
        lg_str_add(&text, text.n ? ", the head width" : "the head width");
    }
    if (is_about_rows(group->what) && !finding->has_row) {
        lg_str_add(&text, text.n ? ", which row it is" : "which row it is");
    }
    if (is_about_rows(group->what)) {
        lg_str_add(&text, text.n ? ", and how many rows are wrong" : "how many rows are wrong");
        finding->unknown = lg_arena_strdup(&finding->arena, lg_str_text(&text));
    }
    lg_str_free(&text);
}

void lg_log_rows(lg_log_finding *finding, const lg_log_group *group) {
    if (group->row >= 0) {
        exact(finding, group->row, "the text names it");
    } else if (is_about_rows(group->what) && group->form == LG_ASSERT_SYCL) {
        finding->rows = lg_arena_printf(&finding->arena,
                                        "unknown: work item %" PRId64
                                        " is the row only where the kernel has one item a row",
                                        group->block[0]);
    } else if (is_about_rows(group->what) && group->has_thread) {
        rows_of_thread(finding, group);
    } else if (is_about_rows(group->what)) {
        finding->rows = "unknown: the text names neither a row nor a thread";
    }
    say_unknown(finding, group);
}
