// SPDX-License-Identifier: Apache-2.0
// One batch with its options: what a scenario point generates and what the reference and the
// kernels are given, plus the ground truth of what was injected.
#ifndef LG_MODEL_BATCH_H
#define LG_MODEL_BATCH_H

#include "model/cause.h"
#include "model/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lg_loss_kind {
    LG_NLL_LOSS = 1,
    LG_CROSS_ENTROPY,
    LG_BCE,             // "binary_cross_entropy"
    LG_BCE_WITH_LOGITS, // "binary_cross_entropy_with_logits"
} lg_loss_kind;

typedef enum lg_reduction { LG_REDUCTION_NONE, LG_REDUCTION_MEAN, LG_REDUCTION_SUM } lg_reduction;

typedef enum lg_direction {
    LG_FORWARD = 1,
    LG_BACKWARD = 2,
    LG_BOTH = 3, // a bit set
} lg_direction;

typedef struct lg_loss_options {
    lg_loss_kind kind;
    lg_reduction reduction;
    int64_t ignore_index; // tested before the bounds; may lie inside or outside [0, C)
    double label_smoothing;
    lg_direction direction;
    // Class probabilities: a class of probability 0 adds 0 whatever its logit is (0·log 0 = 0). No
    // key of a scenario: a kernel's manifest declares it.
    bool zero_log_zero;
} lg_loss_options;

const char *lg_loss_kind_name(lg_loss_kind kind);
const char *lg_reduction_name(lg_reduction reduction);
bool lg_loss_kind_parse(const char *name, lg_loss_kind *kind);
const char *lg_direction_name(lg_direction direction); // "forward", "backward", "both"
// The names in the order of the enums, from the first valid value on.
const char *const *lg_loss_kind_names(size_t *n);
const char *const *lg_reduction_names(size_t *n);
const char *const *lg_direction_names(size_t *n);

enum { LG_MAX_FAULTS = 4 };

// What one injected fault really did to the batch: the ground truth attribution is judged by.
typedef struct lg_injection {
    lg_cause cause;
    bool fired;        // false: it changed nothing a kernel could see, and proves nothing
    int64_t n_changed; // elements changed (a shift changes every supervised label)
    int64_t n_rows;
    int64_t *rows; // ascending: rows that are invalid because of this fault; owned by the batch
} lg_injection;

typedef struct lg_batch {
    lg_loss_options loss;
    int64_t classes; // K, the classes of the data set; 0: unknown. The head width is in the input
    lg_tensor input; // logits, log-probabilities or probabilities
    // What the caller means: class indices or probabilities. A float dtype with index semantics is
    // the `float_targets` fault.
    lg_tensor target;
    // What is passed to the device when it differs from `target` (bits of float labels read as
    // int64, labels truncated or narrowed by a loader); LG_DTYPE_NONE: hand over `target` itself.
    lg_tensor device_target;
    bool target_is_probability;
    lg_tensor weight;     // class weights (C), or elementwise for BCE; may be absent
    lg_tensor pos_weight; // BCE with logits only
    lg_tensor
        grad_output; // upstream gradient: a scalar for mean/sum, one a row for none; absent: 1
    int n_injections;
    lg_injection injections[LG_MAX_FAULTS];
} lg_batch;

void lg_batch_free(lg_batch *batch);
bool lg_batch_is_binary(const lg_batch *batch);     // a BCE loss: every element is a row
int64_t lg_batch_rows(const lg_batch *batch);       // N·S (for BCE: numel)
int64_t lg_batch_head_width(const lg_batch *batch); // C, measured from the input's shape (BCE: 1)
int64_t lg_batch_samples(const lg_batch *batch);    // N (1 for an unbatched input)
int64_t lg_batch_spatial(const lg_batch *batch);    // S
// The tensor whose bytes go to the device as the target.
const lg_tensor *lg_batch_device_target(const lg_batch *batch);

#endif
