// SPDX-License-Identifier: Apache-2.0
#include "result/judgement.h"

static const struct {
    const char *name, *help;
} detectors[] = {
    {0},
#define LG_DETECTOR(id, name, help) {name, help},
#include "result/detector.def"
#undef LG_DETECTOR
};

static const struct {
    const char *name, *help;
} reasons[] = {
    {"none", NULL},
#define LG_REASON(id, name, help) {name, help},
#include "result/reason.def"
#undef LG_REASON
};

const char *lg_detector_name(lg_detector detector) {
    return detectors[detector].name;
}

const char *lg_detector_help(lg_detector detector) {
    return detectors[detector].help;
}

const char *lg_reason_name(lg_reason reason) {
    return reasons[reason].name;
}

const char *lg_reason_help(lg_reason reason) {
    return reasons[reason].help;
}
