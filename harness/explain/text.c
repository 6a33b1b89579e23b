// SPDX-License-Identifier: Apache-2.0
// The finding as people read it.
#include "explain/internal.h"

#include <inttypes.h>
#include <string.h>

static void field(lg_str *out, const char *name) {
    lg_str_printf(out, "  %-9s ", name);
}

static void print_times(lg_str *out, const lg_log_group *group) {
    if (group->count == 1) {
        lg_str_printf(out, "line %" PRId64, group->first_line);
    } else {
        lg_str_printf(out, "%" PRId64 " times, first in line %" PRId64, group->count,
                      group->first_line);
    }
}

// What the line is, in a few words.
static void print_what(lg_str *out, const lg_log_group *group) {
    switch (group->source) {
    case LG_LOG_ASSERT:
        if (!*group->expression) {
            lg_str_add(out, "device assert, cut off");
            return;
        }
        lg_str_printf(out, "%s `%s`", group->form == LG_ASSERT_PLAIN ? "assert" : "device assert",
                      group->expression);
        return;
    case LG_LOG_RECORD:
        lg_str_printf(out, "assertion record `%s`", group->expression ? group->expression : "");
        return;
    case LG_LOG_SANITIZER:
        lg_str_printf(out, "invalid %s of %" PRId64 " bytes", group->access ? group->access : "",
                      group->access_bytes);
        return;
    case LG_LOG_TEXT:
        lg_str_add(out, "error text");
        return;
    }
}

static void print_xyz(lg_str *out, const int64_t xyz[3]) {
    if (xyz[1] == 0 && xyz[2] == 0) {
        lg_str_printf(out, "%" PRId64, xyz[0]);
    } else {
        lg_str_printf(out, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", xyz[0], xyz[1], xyz[2]);
    }
}

static void print_place(lg_str *out, const lg_log_group *group) {
    bool file = group->file && *group->file;
    bool function = group->function && *group->function;
    if (!file && !function && !group->has_thread) {
        return;
    }
    field(out, "where");
    if (file) {
        lg_str_add(out, group->file);
        if (group->line > 0) {
            lg_str_printf(out, ":%d", group->line);
        }
    }
    if (function) {
        lg_str_printf(out, "%s%s", file ? ", " : "", group->function);
    }
    if (group->has_thread) {
        bool items = group->form == LG_ASSERT_SYCL;
        lg_str_printf(out, "%s%s ", file || function ? ", " : "", items ? "work item" : "block");
        print_xyz(out, group->block);
        lg_str_add(out, items ? ", local " : " thread ");
        print_xyz(out, group->thread);
        int n = items ? 1 : lg_log_group_threads(group);
        if (n > 1) {
            lg_str_printf(out, " (%d threads of that block)", n);
        }
        if (group->n_blocks > 0) {
            lg_str_add(out, ", and other blocks");
        }
    }
    lg_str_add(out, "\n");
}

// What a line that is cut off would have said.
static void print_cut(lg_str *out, const lg_log_group *group) {
    if (!group->lacks_head && !group->lacks_tail) {
        return;
    }
    field(out, "cut");
    lg_str_add(out, "the log cuts the line off; missing:");
    const char *comma = " ";
    if (group->lacks_head && !(group->file && *group->file)) {
        lg_str_printf(out, "%sthe file and the kernel", comma);
        comma = ", ";
    }
    if (!group->has_thread && group->form != LG_ASSERT_HIP) {
        lg_str_printf(out, "%sblock and thread", comma);
        comma = ", ";
    }
    if (group->lacks_head && !group->lacks_tail) {
        lg_str_printf(out, "%smaybe the beginning of the condition", comma);
    } else if (group->lacks_tail) {
        lg_str_printf(out, "%s%s", comma,
                      group->expression && *group->expression ? "what stands behind the condition"
                                                              : "the condition");
    }
    lg_str_add(out, "\n");
}

static void print_access(lg_str *out, const lg_log_group *group) {
    if (group->source != LG_LOG_SANITIZER || group->distance < 0) {
        return;
    }
    field(out, "address");
    if (group->distance == 0) {
        lg_str_add(out, "inside the nearest allocation");
    } else {
        lg_str_printf(out, "%" PRId64 " bytes %s the nearest allocation", group->distance,
                      group->direction);
    }
    if (group->nearest_bytes > 0) {
        lg_str_printf(out, ", which has %" PRId64 " bytes", group->nearest_bytes);
    }
    lg_str_add(out, "\n");
}

static void print_values(lg_str *out, const lg_log_group *group) {
    if (group->n_values == 0) {
        return;
    }
    field(out, "values");
    for (int64_t i = 0; i < group->n_values; i++) {
        lg_str_printf(out, "%s%" PRId64, i ? ", " : "", group->values[i].value);
        if (group->values[i].count > 1) {
            lg_str_printf(out, " (%" PRId64 " times)", group->values[i].count);
        }
    }
    if (group->has_width) {
        lg_str_printf(out, "; the head has %" PRId64 " outputs", group->width);
    }
    if (group->has_ignore) {
        lg_str_printf(out, "; ignore_index is %" PRId64, group->ignore_index);
    }
    lg_str_add(out, "\n");
}

static void print_bound(lg_str *out, const lg_log_group *group) {
    bool label = group->what == LG_WHAT_LABEL;
    if (group->n_values > 0 || (!group->bound && !group->has_width)) {
        return;
    }
    field(out, "bound");
    if (group->has_width) {
        lg_str_printf(out, "the index must be below %" PRId64 ": %s\n", group->width,
                      label ? "the head has so many outputs"
                            : "so many outputs has the head, if the check is a loss's");
    } else {
        lg_str_printf(out, "the index must be below %s, a size that the log does not hold\n",
                      group->bound);
    }
}

static void print_causes(lg_str *out, const lg_log_finding *finding) {
    for (int i = 0; i < finding->n_guesses; i++) {
        const lg_log_guess *guess = &finding->guesses[i];
        field(out, i ? "" : "causes");
        if (finding->from_labels) { // rounded down: only what is beyond doubt says 100 %
            lg_str_printf(out, "%3d %%", (int)(100 * guess->probability + 1e-9));
        } else {
            lg_str_printf(out, "%2d.", i + 1);
        }
        lg_str_printf(out, "  %-20s %s\n", lg_cause_name(guess->cause), guess->reason);
    }
    if (finding->n_guesses > 1) {
        field(out, "");
        lg_str_add(out,
                   finding->from_labels
                       ? "weighed over the labels that the text lists\n"
                       : "in the order of how often each is met and of the values above: a log "
                         "says no more; the labels decide\n");
    }
}

static void print_others(lg_str *out, const lg_log_finding *finding) {
    int shown = 0;
    for (int i = 0; i < finding->n_groups; i++) {
        const lg_log_group *group = &finding->groups[i];
        bool aftermath = group->what == LG_WHAT_AFTERMATH;
        if (i == finding->primary || shown >= 12) {
            continue;
        }
        shown++;
        field(out, aftermath                         ? "aftermath"
                   : group->what == LG_WHAT_OTHER_OP ? "unrelated"
                   : group->what == LG_WHAT_UNKNOWN  ? "unknown"
                                                     : "also");
        if (group->source != LG_LOG_TEXT) {
            print_what(out, group);
            lg_str_add(out, ", ");
        }
        print_times(out, group);
        lg_str_printf(out, ": %s", group->fired ? group->fired : "");
        if (aftermath && group->words[0]) {
            lg_str_printf(out, " (%s)", group->words[0]);
        }
        lg_str_add(out, "\n");
    }
    if (finding->dsa_hint) {
        field(out, "note");
        lg_str_add(out, "TORCH_USE_CUDA_DSA, which the log advises, changes nothing here: no loss "
                        "kernel reports through it\n");
    }
    if (finding->n_dropped > 0) {
        field(out, "note");
        lg_str_printf(out, "%" PRId64 " lines of further kinds are not shown\n",
                      finding->n_dropped);
    }
}

// --- what to do ---------------------------------------------------------------------------------

static void next_line(lg_str *out, bool first, const char *text) {
    field(out, first ? "next" : "");
    lg_str_printf(out, "%s\n", text);
}

static void next_diagnose(lg_str *out, const lg_log_group *group) {
    field(out, "");
    lg_str_add(out, "lossgate diagnose --targets labels.npy --head-width ");
    if (group->has_width) {
        lg_str_printf(out, "%" PRId64, group->width);
    } else {
        lg_str_add(out, "C");
    }
    if (group->has_ignore && group->ignore_index != -100) {
        lg_str_printf(out, " --ignore-index %" PRId64, group->ignore_index);
    }
    lg_str_add(out, "\n");
}

static void next_for_loss(lg_str *out, const lg_log_group *group) {
    bool device = group->has_thread || group->source == LG_LOG_RECORD;
    switch (group->what) {
    case LG_WHAT_LABEL:
    case LG_WHAT_LABEL_UINT8:
    case LG_WHAT_ACCESS:
        next_line(out, true,
                  "before the loss: numpy.save(\"labels.npy\", target.cpu().numpy()); then");
        next_diagnose(out, group);
        if (device) {
            next_line(out, false,
                      "CUDA_LAUNCH_BLOCKING=1 makes the traceback name the call that failed");
        }
        return;
    case LG_WHAT_INPUT_RANGE:
    case LG_WHAT_TARGET_RANGE:
        next_line(out, true,
                  "before the loss: print the min, the max and isnan().any() of input and target");
        if (device) {
            next_line(out, false,
                      "CUDA_LAUNCH_BLOCKING=1 makes the traceback name the call that failed");
        }
        return;
    case LG_WHAT_OFFSET:
        next_line(out, true, "split the batch, so that a call has fewer than 2^31 elements");
        return;
    case LG_WHAT_DTYPE:
    case LG_WHAT_SHAPE:
    case LG_WHAT_WEIGHT:
    case LG_WHAT_OPTION:
        next_line(out, true,
                  "before the loss: numpy.save both arrays as labels.npy and logits.npy; then");
        next_line(out, false, "lossgate diagnose --targets labels.npy --logits logits.npy");
        return;
    case LG_WHAT_OTHER_OP:
    case LG_WHAT_UNKNOWN:
    case LG_WHAT_AFTERMATH:
        return;
    }
}

static bool has_text(const lg_log_finding *finding, const char *part) {
    for (int i = 0; i < finding->n_groups; i++) {
        if (strstr(finding->groups[i].text, part)) {
            return true;
        }
    }
    return false;
}

static void next_for_lost(lg_str *out, const lg_log_finding *finding) {
    next_line(
        out, true,
        "run again with CUDA_LAUNCH_BLOCKING=1 and keep standard error: the assert that fired "
        "is printed there");
    if (has_text(finding, "illegal memory access") || has_text(finding, "launch failure") ||
        has_text(finding, "access fault")) {
        next_line(
            out, false,
            "no assert, but a bad access: compute-sanitizer --tool memcheck names the kernel");
    }
}

// --- the whole ----------------------------------------------------------------------------------

static void print_unknown(lg_str *out, const lg_log_finding *finding) {
    const lg_log_group *first = NULL;
    for (int i = finding->n_groups; i-- > 0;) {
        first = finding->groups[i].what == LG_WHAT_UNKNOWN ? &finding->groups[i] : first;
    }
    if (first) {
        print_place(out, first);
        print_cut(out, first);
        print_bound(out, first);
    }
    print_others(out, finding);
    next_line(out, true, "look up what stands there; if it is a check of class indices:");
    next_line(out, false,
              "before the loss: numpy.save(\"labels.npy\", target.cpu().numpy()); then");
    if (first) {
        next_diagnose(out, first);
    }
}

static void print_loss_fault(lg_str *out, const lg_log_finding *finding) {
    const lg_log_group *group = &finding->groups[finding->primary];
    lg_str_add(out, "LOSS FAULT — ");
    print_what(out, group);
    lg_str_add(out, ", ");
    print_times(out, group);
    lg_str_add(out, "\n");
    field(out, "fired");
    lg_str_printf(out, "%s\n", group->fired);
    print_place(out, group);
    print_cut(out, group);
    if (group->source == LG_LOG_TEXT || group->form == LG_ASSERT_PLAIN) {
        field(out, "text");
        lg_str_printf(out, "%s\n", group->text);
    }
    print_access(out, group);
    print_values(out, group);
    print_bound(out, group);
    if (finding->rows) {
        field(out, "rows");
        lg_str_printf(out, "%s\n", finding->rows);
    }
    if (finding->unknown) {
        field(out, "unknown");
        lg_str_printf(out, "%s\n", finding->unknown);
    }
    print_causes(out, finding);
    print_others(out, finding);
    next_for_loss(out, group);
}

void lg_log_finding_text(const lg_log_finding *finding, const char *name, lg_str *out) {
    switch (finding->conclusion) {
    case LG_LOG_EMPTY:
        lg_str_printf(out, "%s is empty: it proves nothing\n", name);
        return;
    case LG_LOG_QUIET:
        lg_str_printf(out, "no loss fault in %s: %" PRId64 " lines, none speaks of one\n", name,
                      finding->n_lines);
        return;
    case LG_LOG_LOSS_FAULT:
        print_loss_fault(out, finding);
        return;
    case LG_LOG_OTHER_FAULT:
        lg_str_printf(out, "no loss fault in %s: what failed is another operation\n", name);
        print_others(out, finding);
        next_line(out, true, "look at the arguments of that operation; the loss is not to blame");
        return;
    case LG_LOG_UNKNOWN_CHECK:
        lg_str_printf(out, "cannot tell from %s: a check that is not known here failed first\n",
                      name);
        print_unknown(out, finding);
        return;
    case LG_LOG_PACKED_FILE:
        lg_str_printf(out, "%s is compressed: %s %s | lossgate explain\n", name, finding->unpack,
                      name);
        return;
    case LG_LOG_NO_TEXT:
        lg_str_printf(out, "%s is no text, so that nothing is proven\n", name);
        return;
    case LG_LOG_ORIGIN_LOST:
        lg_str_printf(out, "%s shows that the device failed, but not where\n", name);
        print_others(out, finding);
        next_for_lost(out, finding);
        return;
    }
}
