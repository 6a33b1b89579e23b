// SPDX-License-Identifier: Apache-2.0
// The judge's word on one case: a verdict, and as values what it rests on. `text` says the same to
// people; no decision reads it.
#ifndef LG_RESULT_JUDGEMENT_H
#define LG_RESULT_JUDGEMENT_H

#include "manifest/manifest.h"
#include "model/verdict.h"

// What showed it first.
typedef enum lg_detector {
    LG_DETECTOR_NONE = 0,
#define LG_DETECTOR(id, name, help) LG_DETECTOR_##id,
#include "result/detector.def"
#undef LG_DETECTOR
    LG_N_DETECTORS
} lg_detector;

// Why the verdict is what it is.
typedef enum lg_reason {
    LG_REASON_NONE = 0, // a pass, or a fault detected as the policy promises
#define LG_REASON(id, name, help) LG_REASON_##id,
#include "result/reason.def"
#undef LG_REASON
    LG_N_REASONS
} lg_reason;

typedef struct lg_judgement {
    lg_verdict verdict;
    lg_detector detected_by;
    lg_reason reason;
    lg_arg_id output;       // the output that `reason` concerns; LG_N_ARGS: none in particular
    double got, want;       // of `output`, the example of a wrong number; 0 for other reasons
    const char *text;       // one line, or NULL
    bool kernel_fault;      // a valid batch came out wrong, and nobody but the kernel made it so
    double max_error_share; // largest |got - want| / bound of all numbers compared; NaN: none was
} lg_judgement;

const char *lg_detector_name(lg_detector detector); // NULL for NONE
const char *lg_detector_help(lg_detector detector); // as people read it; NULL for NONE
const char *lg_reason_name(lg_reason reason);       // "none" for NONE
const char *lg_reason_help(lg_reason reason);       // as people read it; NULL for NONE

#endif
