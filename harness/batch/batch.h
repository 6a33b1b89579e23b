// SPDX-License-Identifier: Apache-2.0
// Scenario point → batch: clean data first, then each fault in the order of the file.
#ifndef LG_BATCH_BATCH_H
#define LG_BATCH_BATCH_H

#include "manifest/manifest.h"
#include "model/batch.h"
#include "model/cause.h"
#include "scenario/scenario.h"
#include "support/arena.h"
#include "support/error.h"

#include <stdbool.h>
#include <stdint.h>

// Generates or reads every array, injects the faults and records for each the rows it spoiled. With
// `with_faults` false: the control, the same data without them. A fault that cannot fire on this
// batch (nothing to spoil) leaves `fired` false. Errors (unreadable file, wrong shape) point at the
// file.
bool lg_generate(const lg_scenario *scenario, bool with_faults, lg_batch *batch, lg_diags *diags);

// The same, but a generated input keeps its shape and dtype only: `data` is NULL and no value is
// drawn. For measuring attribution, which needs labels and shapes. Faults of the input's values do
// not fire.
bool lg_generate_labels_only(const lg_scenario *scenario, bool with_faults, lg_batch *batch,
                             lg_diags *diags);

// --- The types a kernel is given a scenario in. A scenario that gives no dtype for its input
// speaks of values; a kernel that takes no float32 is given them in a type of its own, so that a
// kernel for half precision is launched by the same scenarios as any other. Where every type is
// asked for, a kernel is given such a scenario once more in each further type that it offers.

typedef struct lg_fit {
    lg_dtype input;
    lg_dtype labels; // of class indices without a dtype; NONE: as batch/fit_labels.h chooses
    bool further;    // a type besides the one that the kernel is given anyway
} lg_fit;

enum { LG_MAX_FITS = LG_N_DTYPES + 1 };

// The types the kernel is given the scenario in, and their number, at least 1. The first has the
// input's type of the scenario, when the kernel takes it, or it is fixed, or a value of it does not
// fit, or a loss is written out. With `every_type` follow further ones, until each type that the
// kernel takes and the values fit was there, of the input and of labels: the two lists side by
// side, the shorter one begun `turn` places on, so that over several points each type meets each.
int lg_fits(const lg_scenario *scenario, const lg_kernel *kernel, bool every_type, int64_t turn,
            lg_fit fits[LG_MAX_FITS]);
// The scenario with its input, and whatever has the input's type by default, of that type; a
// further one says so in `point`. The copy lives in `arena`, what it points to is borrowed.
const lg_scenario *lg_fit_input(const lg_scenario *scenario, const lg_fit *fit, lg_arena *arena);
// Whether a scenario is such a copy: a fault of it may be none in its type.
bool lg_input_was_fitted(const lg_scenario *scenario);

// --- Labels in a kernel's own type. A scenario that gives no dtype for its class indices speaks of
// their values; a kernel that takes no int64 is given them as int32 (or uint8), as a caller of it
// would, when all of them fit.

// True: `*out` is `batch` with a target of its own (lg_tensor_free(&out->target)); everything else
// is borrowed. False: the batch is passed as it is, because the kernel takes its type, the
// scenario fixes it, a label does not fit, or what the device gets was changed on the way.
bool lg_fit_labels(const lg_scenario *scenario, const lg_kernel *kernel, const lg_batch *batch,
                   lg_batch *out);

// --- What a checked call refuses before any launch: shapes, dtypes, weights, options
// (SEMANTICS 1.5), and class indices that are not integers. Label *ranges* are the kernel's
// business and not looked at, nor are the values of inputs, probabilities and binary targets.
//
// The order is PyTorch's: the input's rank; whether the target is probabilities, and what they
// need; label_smoothing; a cross_entropy's input type; the shape of class indices; the weights'
// shapes; the types of input, weight and target. What PyTorch does not check on the host comes
// last: the values of weights, and fractions lost on the way to the device. Decisions where PyTorch
// is laxer or stricter:
//   - a negative label_smoothing is refused, not taken for 0; so is smoothing with another loss;
//   - uint8 and int32 class indices are taken with every shape;
//   - class probabilities have the input's dtype: a kernel reads both through one type;
//   - weights are finite and not negative; zero is legal.
// Floating-point class indices whose raw bits were passed to the device are *not* refused: a call
// that receives int64 cannot know. Values that were cut to integers are, because here both are at
// hand.

typedef struct lg_refusal {
    lg_cause cause;   // LG_CAUSE_NONE: accepted
    const char *text; // lossgate's own words: what is wrong, and what would be right
    int64_t n_rows;   // rows concerned, when the check is about rows (fractional labels); else 0
    int64_t *rows;    // ascending
} lg_refusal;

// The first refusal in PyTorch's order of checks; strings and rows live in `arena`. Reads no more
// of the tensors than the values of weights and of floating-point class indices.
lg_refusal lg_hostcheck(const lg_batch *batch, lg_arena *arena);
// The part of it that looks at the type of class indices only.
lg_refusal lg_hostcheck_index_dtype(const lg_batch *batch, lg_arena *arena);

// --- What a row of log-probabilities or probabilities can and cannot be, within the rounding of
// the narrowest dtype (bfloat16: 2^-8 relative).

// No entry above 0 (a logarithm of at most 1). Rows that do not sum to 1 pass: nll_loss itself
// takes them, and masked or truncated distributions are in use. NaN passes: it is nonfinite_logits.
bool lg_could_be_log_probabilities(const double *row, int64_t width);
bool lg_could_be_log_probability(double value);
// Whether exponentials that sum so are those of log-probabilities of that entropy, in nats: an
// entry l that is off by one part in 2^8 moves its exponential by exp(l) |l| / 2^8.
bool lg_could_be_log_probability_sum(double exp_sum, double entropy);

// One probability, and the sum of a row of them.
bool lg_could_be_probability(double value);
bool lg_could_be_probability_sum(double sum);

// Every entry in [0, 1] and the sum 1: what softmax leaves. width > 0.
bool lg_could_be_probabilities(const double *row, int64_t width);

// --- The small batches a column proves itself on, in a shape and types its kernel takes.

typedef enum lg_proof_fault {
    LG_PROOF_CLEAN,
    // Class indices.
    LG_PROOF_AT_WIDTH,      // C in one row among valid ones
    LG_PROOF_AT_WIDTH_LAST, // C in the last row: it reads past the input's end
    LG_PROOF_NEGATIVE,      // -1
    LG_PROOF_FAR,           // C + 100
    LG_PROOF_LEAST,         // the least number of the type
    LG_PROOF_SEVERAL,       // C, -1 (uint8: C) and C + 100, two of them side by side
    // Numbers in [0, 1]: class probabilities, and the operands of binary losses.
    LG_PROOF_TARGET_ABOVE, // 1.5
    LG_PROOF_TARGET_BELOW, // -0.5
    LG_PROOF_TARGET_NAN,
    LG_PROOF_INPUT_ABOVE, // of binary_cross_entropy
    LG_PROOF_INPUT_BELOW,
    LG_PROOF_INPUT_NAN,
    LG_N_PROOF_FAULTS
} lg_proof_fault;

// "label C in one row"; static.
const char *lg_proof_fault_text(lg_proof_fault fault);

// Whether there is such a batch for this kernel: uint8 labels are never negative, a loss on labels
// has no probabilities.
bool lg_proof_applies(const lg_kernel *kernel, lg_proof_fault fault);

// False when memory is out or the kernel takes no type that can be made. The fault should apply; a
// kernel without labels is given TARGET_ABOVE for one of labels.
bool lg_proof_batch(const lg_kernel *kernel, lg_proof_fault fault, lg_direction direction,
                    lg_batch *batch);

#endif
