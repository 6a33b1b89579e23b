// SPDX-License-Identifier: Apache-2.0
// What is told over several lines: blocks of compute-sanitizer, records of device-side assertions.
#include "explain/internal.h"

#include <string.h>

static const char *find(const char *text, size_t n, const char *mark) {
    return n ? memmem(text, n, mark, strlen(mark)) : NULL;
}

// The number behind `mark`; -1 when there is none.
static int64_t number_after(const char *text, size_t n, const char *mark) {
    const char *at = find(text, n, mark);
    if (!at) {
        return -1;
    }
    lg_log_captures found;
    at += strlen(mark);
    bool ok = lg_log_match_at("%v", at, (size_t)(text + n - at), &found);
    return ok && found.value >= 0 ? found.value : -1;
}

// "[x,y,z]" or "(x,y,z)" behind `mark`.
static bool triple_after(const char *text, size_t n, const char *mark, int64_t out[3]) {
    const char *at = find(text, n, mark);
    if (!at) {
        return false;
    }
    at += strlen(mark);
    for (int i = 0; i < 3; i++) {
        lg_log_captures found;
        size_t left = (size_t)(text + n - at);
        if (!lg_log_match_at(i < 2 ? "%v," : "%v", at, left, &found) || found.value < 0) {
            return false;
        }
        out[i] = found.value;
        at += found.end;
        at += i < 2 && at < text + n && *at == ' ';
    }
    return true;
}

// "file:line" → its parts.
static void take_place(lg_log_block *block, const char *text, size_t n) {
    const char *colon = n ? memrchr(text, ':', n) : NULL;
    lg_log_captures found;
    if (colon && lg_log_match_at("%v", colon + 1, (size_t)(text + n - colon - 1), &found) &&
        found.value > 0 && found.value < INT32_MAX) {
        lg_log_put(block->file, sizeof block->file, text, (size_t)(colon - text));
        block->group.file = block->file;
        block->group.line = (int)found.value;
    }
}

bool lg_log_is_loss_kernel(const char *name) {
    static const char *const names[] = {"nll_loss",       "NLLCriterion",     "NLLLoss",
                                        "cross_entropy",  "CrossEntropy",     "SoftmaxWithLoss",
                                        "softmax_with_c", "softmax_xentropy", "SparseXent"};
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        if (strstr(name, names[i])) {
            return true;
        }
    }
    return false;
}

static void close_block(lg_log_reader *reader, lg_log_block *block) {
    if (!block->open) {
        return;
    }
    block->open = false;
    lg_log_group *like = &block->group;
    if (like->source == LG_LOG_SANITIZER) {
        bool loss = lg_log_is_loss_kernel(like->function);
        like->what = loss ? LG_WHAT_ACCESS : LG_WHAT_OTHER_OP;
        like->fired = loss ? "a loss kernel that reads or writes at an index from the labels"
                           : "another kernel";
    } else {
        const char *expression = like->expression ? like->expression : "";
        lg_log_guard(like, expression, strlen(expression), false);
    }
    int64_t thread[3];
    int64_t at[3];
    memcpy(thread, like->thread, sizeof thread);
    memcpy(at, like->block, sizeof at);
    lg_log_group *group = lg_log_group_add(reader, like, NULL);
    if (group && like->has_thread) {
        lg_log_group_thread(group, at, thread);
    }
}

void lg_log_close_blocks(lg_log_reader *reader) {
    close_block(reader, &reader->access);
    close_block(reader, &reader->record);
}

static void open_block(lg_log_reader *reader, lg_log_block *block, const lg_log_line *line,
                       lg_log_source source) {
    close_block(reader, block);
    block->open = true;
    block->group = (lg_log_group){.source = source,
                                  .first_line = line->number,
                                  .row = -1,
                                  .distance = -1,
                                  .nearest_bytes = -1};
    lg_log_put(block->text, sizeof block->text, line->text, line->n);
    block->group.text = block->text;
}

// --- compute-sanitizer --------------------------------------------------------------------------

// "Invalid __global__ read of size 4 bytes": kind, space and size.
static bool take_invalid(lg_log_reader *reader, const lg_log_line *line) {
    lg_log_captures found;
    if (!lg_log_match("Invalid %w %w of size %v", line->text, line->n, line->n, &found)) {
        return false;
    }
    open_block(reader, &reader->access, line, LG_LOG_SANITIZER);
    lg_log_block *block = &reader->access;
    lg_log_put(block->access, sizeof block->access, found.words[1].text, found.words[1].n);
    block->group.access = block->access;
    block->group.access_bytes = found.value;
    return true;
}

// "    at kernel(args)+0x120 in file:line"; the first such line is the kernel's.
static void take_kernel(lg_log_reader *reader, const lg_log_line *line) {
    static const char mark[] = "     at ";
    lg_log_block *block = &reader->access;
    const char *name = find(line->text, line->n, mark);
    if (!name || block->group.function) {
        return;
    }
    name += sizeof mark - 1;
    size_t n = (size_t)(line->text + line->n - name);
    const char *offset = find(name, n, "+0x");
    const char *in =
        offset ? find(offset, n - (size_t)(offset - name), " in ") : find(name, n, " in ");
    const char *end = offset ? offset : in ? in : name + n;
    lg_log_put(block->function, sizeof block->function, name, (size_t)(end - name));
    block->group.function = block->function;
    if (in) {
        in += 4;
        take_place(block, in, (size_t)(line->text + line->n - in));
    }
}

bool lg_log_take_sanitizer(lg_log_reader *reader, const lg_log_line *line) {
    if (take_invalid(reader, line)) {
        return true;
    }
    if (!reader->access.open) {
        return false; // a banner, or a summary: the line may hold an error's text
    }
    lg_log_group *group = &reader->access.group;
    take_kernel(reader, line);
    if (triple_after(line->text, line->n, "by thread (", group->thread) &&
        triple_after(line->text, line->n, "in block (", group->block)) {
        group->has_thread = true;
    }
    lg_log_captures found;
    if (lg_log_match("is %v bytes %w the nearest allocation", line->text, line->n, line->n,
                     &found)) {
        group->distance = found.value;
        lg_log_put(reader->access.direction, sizeof reader->access.direction, found.words[0].text,
                   found.words[0].n);
        group->direction = reader->access.direction;
        group->nearest_bytes = number_after(line->text, line->n, " of size ");
    } else if (find(line->text, line->n, "is inside the nearest allocation")) {
        group->distance = 0;
        group->direction = "inside";
        group->nearest_bytes = number_after(line->text, line->n, " of size ");
    }
    if (find(line->text, line->n, "ERROR SUMMARY") || find(line->text, line->n, "Program hit")) {
        close_block(reader, &reader->access);
        return false;
    }
    return true;
}

// --- device-side assertion records --------------------------------------------------------------

// What stands behind " = "; NULL when nothing does.
static const char *text_after(const lg_log_line *line, size_t *n) {
    static const char mark[] = " = ";
    const char *at = find(line->text + line->hit, line->n - line->hit, mark);
    if (!at) {
        return NULL;
    }
    at += sizeof mark - 1;
    *n = (size_t)(line->text + line->n - at);
    return at;
}

bool lg_log_take_record(lg_log_reader *reader, const lg_log_line *line, lg_log_mark mark) {
    if (mark == LG_MARK_RECORD) {
        lg_log_captures found;
        if (!lg_log_match("Assertion failure %v", line->text, line->n, line->hit, &found)) {
            return false;
        }
        open_block(reader, &reader->record, line, LG_LOG_RECORD);
        reader->record.group.form = LG_ASSERT_CUDA;
        return true;
    }
    if (!reader->record.open) {
        return false;
    }
    lg_log_group *group = &reader->record.group;
    size_t n;
    if (mark == LG_MARK_RECORD_ID) {
        if (triple_after(line->text, line->n, "Thread ID that failed assertion = [",
                         group->thread)) {
            group->has_thread = true;
        }
        triple_after(line->text, line->n, "Block ID that failed assertion = [", group->block);
        return true;
    }
    const char *text = text_after(line, &n);
    if (!text) {
        return false;
    }
    lg_log_block *block = &reader->record;
    if (mark == LG_MARK_RECORD_MESSAGE) {
        lg_log_put(block->expression, sizeof block->expression, text, n);
        group->expression = block->expression;
    } else if (mark == LG_MARK_RECORD_FILE) {
        take_place(block, text, n);
    } else if (mark == LG_MARK_RECORD_FUNCTION ||
               (mark == LG_MARK_RECORD_KERNEL && !group->function)) {
        lg_log_put(block->function, sizeof block->function, text, n);
        group->function = block->function;
    }
    return true;
}
