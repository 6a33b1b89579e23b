// SPDX-License-Identifier: Apache-2.0
// Replaces runs of instructions that nvcc writes often by one lane function each (lane.h,
// lg_fused_kind), in code that is decoded.
#ifndef LG_ENGINE_SIM_DECODE_FUSE_H
#define LG_ENGINE_SIM_DECODE_FUSE_H

#include "engine/sim/decode/internal.h"

// Once, when all of `d->code` is decoded and has its steps. The first instruction of a run becomes
// the fused one and steps over the others, which stay where they are: a run has no way in but its
// start.
void lg_fuse(lg_decoder *d);

#endif
