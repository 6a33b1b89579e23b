// SPDX-License-Identifier: Apache-2.0
// Clean class indices, drawn from (seed, stream, index).
#ifndef LG_LABELS_DRAW_H
#define LG_LABELS_DRAW_H

#include "model/dtype.h"
#include "scenario/scenario.h"

#include <stdbool.h>
#include <stdint.h>

// Writes n labels of [0, classes): UNIFORM (default), ROUND_ROBIN, ZIPF (class k in proportion to
// 1/(k+1)), CONSTANT (class `lo`). false when memory is out.
bool lg_labels_draw(const lg_array_spec *spec, uint64_t seed, int64_t classes, int64_t n,
                    int64_t *labels);

// Sets about `fraction` of the labels to ignore_index (a row each at its own address).
void lg_labels_ignore(double fraction, uint64_t seed, int64_t ignore_index, int64_t n,
                      int64_t *labels);

#endif
