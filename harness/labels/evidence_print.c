// SPDX-License-Identifier: Apache-2.0
// The evidence as people read it.
#include "labels/labels.h"

#include <inttypes.h>

void lg_evidence_print(const lg_label_evidence *e, lg_str *out) {
    lg_str_printf(out, "labels        %" PRId64 " of %s, %" PRId64 " ignored (%" PRId64 ")\n", e->n,
                  lg_dtype_name(e->dtype), e->n_ignored, e->ignore_index);
    lg_str_printf(out, "classes       head width %" PRId64, e->head_width);
    if (e->classes > 0) {
        lg_str_printf(out, ", data set %" PRId64, e->classes);
    }
    lg_str_add(out, "\n");
    if (e->n > e->n_ignored) {
        lg_str_printf(out, "range         %" PRId64 " .. %" PRId64 ", %" PRId64 " distinct\n",
                      e->min, e->max, e->n_distinct);
    }
    lg_str_printf(
        out, "in range      %" PRId64 " labels, %" PRId64 " classes, class 0 %" PRId64 " times\n",
        e->n_in_range, e->n_distinct_in_range, e->n_zero);
    lg_str_printf(out,
                  "out of range  %" PRId64 " negative, %" PRId64 " equal to the width, %" PRId64
                  " above it, %" PRId64 " distinct\n",
                  e->n_negative, e->n_at_width, e->n_above_width, e->n_distinct_out);
    if (e->n_dominant_out > 0) {
        lg_str_printf(out, "dominant      %" PRId64 ", %" PRId64 " times\n", e->dominant_out,
                      e->n_dominant_out);
    }
    if (e->n_out_runs > 0) {
        lg_str_printf(out,
                      "runs          %" PRId64 " of one value out of range, the longest %" PRId64
                      " times %" PRId64 "\n",
                      e->n_out_runs, e->longest_out_run, e->longest_out_run_value);
    }
    if (e->row_length > 0) {
        lg_str_printf(out,
                      "map           rows of %" PRId64 ", %" PRId64
                      " labels out of range touch their like\n",
                      e->row_length, e->n_out_joined);
    }
    const struct {
        const char *name;
        int64_t n;
    } patterns[] = {{"float32 bits", e->n_float32_bits}, {"float64 bits", e->n_float64_bits},
                    {"int32 pairs", e->n_int32_pairs},   {"signed bytes", e->n_sign_bytes},
                    {"INT_MIN", e->n_int_min},           {"addresses", e->n_pointers},
                    {"fractional", e->n_fractional}};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (patterns[i].n > 0) {
            lg_str_printf(out, "pattern       %s %" PRId64 "\n", patterns[i].name, patterns[i].n);
        }
    }
    if (e->n_fractional > 0) {
        lg_str_printf(out, "fractional    %g in row %" PRId64 "\n", e->first_fractional,
                      e->first_fractional_row);
    }
}
