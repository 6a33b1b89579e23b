// SPDX-License-Identifier: Apache-2.0
// IEEE binary16 and bfloat16 against float and double. Round to nearest even, once (double goes
// straight to the half: double → float → half would round twice). NaN stays NaN, quiet.
#ifndef LG_MODEL_HALF_H
#define LG_MODEL_HALF_H

#include <stdint.h>

float lg_f16_to_f32(uint16_t bits);
float lg_bf16_to_f32(uint16_t bits);
uint16_t lg_f64_to_f16(double value);
uint16_t lg_f64_to_bf16(double value);

#endif
