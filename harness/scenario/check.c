// SPDX-License-Identifier: Apache-2.0
// Keys that contradict each other: the loss, the sizes and the expectation.
#include "manifest/manifest.h"
#include "scenario/internal.h"

#include "support/alloc.h"

#include <stdlib.h>

bool lg_scenario_has(lg_scenario_reader *reader, const char *path) {
    return lg_yaml_at(reader->root, path) != NULL;
}

bool lg_scenario_error(lg_scenario_reader *reader, const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *message = lg_xvasprintf(format, args);
    va_end(args);
    lg_yaml_error(reader->binder.doc, lg_yaml_towards(reader->root, path), reader->binder.diags,
                  "%s", message);
    free(message);
    return false;
}

static void check_loss(lg_scenario_reader *reader) {
    const lg_scenario *scenario = reader->scenario;
    const lg_loss_options *loss = &scenario->loss;
    const char *name = lg_loss_kind_name(loss->kind);
    bool kind = lg_scenario_knows(reader, "loss.kind");
    if (kind && loss->label_smoothing != 0 && loss->kind != LG_CROSS_ENTROPY) {
        lg_scenario_error(reader, "loss.label_smoothing",
                          "loss.label_smoothing is %g, but %s has none; only cross_entropy has",
                          loss->label_smoothing, name);
    }
    if (kind && lg_loss_is_binary(loss->kind) && lg_scenario_has(reader, "loss.ignore_index")) {
        lg_scenario_error(reader, "loss.ignore_index",
                          "loss.ignore_index is given, but %s has no class labels", name);
    }
    if (kind && scenario->pos_weight.source != LG_ARRAY_ABSENT &&
        loss->kind != LG_BCE_WITH_LOGITS) {
        lg_scenario_error(reader, "loss.pos_weight",
                          "loss.pos_weight is given, but %s has none; only "
                          "binary_cross_entropy_with_logits has",
                          name);
    }
    if (scenario->grad_output.source != LG_ARRAY_ABSENT && loss->direction == LG_FORWARD &&
        lg_scenario_knows(reader, "loss.direction")) {
        lg_scenario_error(reader, "loss.grad_output",
                          "loss.grad_output is given, but loss.direction is forward");
    }
}

enum { MAX_ELEMENTS_LOG2 = 40 };

static void check_sizes(lg_scenario_reader *reader) {
    const lg_batch_spec *batch = &reader->scenario->batch;
    bool binary = lg_loss_is_binary(reader->scenario->loss.kind);
    bool sizes = lg_scenario_knows_sizes(reader);
    bool kind = lg_scenario_knows(reader, "loss.kind");
    if (sizes && batch->unbatched && batch->samples != 1) {
        lg_scenario_error(reader, "batch.unbatched",
                          "batch.unbatched is one sample, but batch.samples is %lld",
                          (long long)batch->samples);
    }
    if (sizes && batch->unbatched && batch->extent.n) {
        lg_scenario_error(reader, "batch.unbatched",
                          "batch.unbatched is an input of shape C, but batch.extent gives further "
                          "dimensions");
    }
    if (kind && batch->unbatched && binary) {
        lg_scenario_error(reader, "batch.unbatched", "batch.unbatched has no meaning for %s",
                          lg_loss_kind_name(reader->scenario->loss.kind));
    }
    int rank_limit = LG_MAX_RANK - 2;
    if (sizes && batch->extent.n > rank_limit) {
        lg_scenario_error(reader, "batch.extent", "batch.extent has %lld dimensions; at most %d",
                          (long long)batch->extent.n, rank_limit);
    }
    int64_t product = batch->samples;
    bool too_large = __builtin_mul_overflow(product, batch->classes, &product);
    for (int64_t i = 0; i < batch->extent.n; i++) {
        too_large |= __builtin_mul_overflow(product, batch->extent.items[i], &product);
    }
    if (sizes && (too_large || product > INT64_C(1) << MAX_ELEMENTS_LOG2)) {
        lg_scenario_error(reader, "batch", "the input would have more than 2^%d elements",
                          MAX_ELEMENTS_LOG2);
    }
    bool meaning = lg_scenario_knows(reader, "batch.targets.kind batch.targets.distribution");
    if (kind && meaning && batch->ignored_fraction > 0 &&
        (binary || batch->targets.probabilities)) {
        lg_scenario_error(reader, "batch.ignored_fraction",
                          "batch.ignored_fraction is given, but only class labels can be ignored");
    }
    if (batch->ignored_fraction > 0 && batch->targets.source != LG_ARRAY_GENERATED) {
        lg_scenario_error(reader, "batch.ignored_fraction",
                          "batch.ignored_fraction belongs to generated labels, but batch.targets "
                          "are listed");
    }
}

static void check_run(lg_scenario_reader *reader) {
    const lg_str_list *modes = &reader->scenario->modes;
    size_t n;
    const char *const *names = lg_mode_names(&n);
    for (int64_t i = 0; i < modes->n; i++) {
        bool matches = !modes->items[i]; // an item that is no text
        for (size_t k = 0; !matches && k < n; k++) {
            matches = lg_glob_match(modes->items[i], names[k]);
        }
        if (!matches) {
            const char *path = lg_arena_printf(reader->binder.scratch, "run.modes.%d", (int)i);
            lg_scenario_error(reader, path, "no launch mode matches '%.60s'%s", modes->items[i],
                              lg_bind_hint(&reader->binder, modes->items[i], names, n));
        }
    }
}

void lg_scenario_check(lg_scenario_reader *reader) {
    check_loss(reader);
    check_sizes(reader);
    lg_scenario_check_faults(reader);
    lg_scenario_check_arrays(reader);
    check_run(reader);
    lg_scenario_check_relations(reader);
    lg_scenario_check_expect(reader);
    lg_scenario_check_prospects(reader);
}
