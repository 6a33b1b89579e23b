// SPDX-License-Identifier: Apache-2.0
// One scenario point as a file. Sizes and dtypes are written out, so that reading it back does not
// depend on defaults.
#include "scenario/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lg_write_text(lg_str *out, const char *text) {
    lg_str_add(out, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            lg_str_printf(out, "\\%c", c);
        } else if (c < 0x20) {
            lg_str_printf(out, "\\x%02x", c);
        } else {
            lg_str_add_n(out, text, 1);
        }
    }
    lg_str_add(out, "\"");
}

void lg_write_number(lg_str *out, double value) {
    if (isnan(value)) {
        lg_str_add(out, ".nan");
    } else if (isinf(value)) {
        lg_str_add(out, value < 0 ? "-.inf" : ".inf");
    } else {
        // The fewest digits that read back as the same number.
        char text[40];
        int digits = 1;
        do {
            snprintf(text, sizeof(text), "%.*g", digits, value);
        } while (strtod(text, NULL) != value && ++digits <= 17);
        lg_str_add(out, text);
    }
}

static void write_keyed(lg_str *out, const char *key, double value, const char *end) {
    lg_str_printf(out, "%s: ", key);
    lg_write_number(out, value);
    lg_str_add(out, end);
}

void lg_write_set(lg_str *out, const char *key, uint64_t bits, const char *const *names) {
    if (!bits) {
        return;
    }
    lg_str_printf(out, "  %s: [", key);
    const char *between = "";
    for (int i = 1; i < 64; i++) {
        if (bits & UINT64_C(1) << i) {
            lg_str_printf(out, "%s%s", between, names[i - 1]);
            between = ", ";
        }
    }
    lg_str_add(out, "]\n");
}

void lg_write_ints(lg_str *out, const char *key, lg_i64_list list) {
    lg_str_printf(out, "%s: [", key);
    for (int64_t i = 0; i < list.n; i++) {
        lg_str_printf(out, "%s%lld", i ? ", " : "", (long long)list.items[i]);
    }
    lg_str_add(out, "]");
}

static void write_values(lg_str *out, const lg_array_spec *spec) {
    lg_str_add(out, "values: [");
    for (int64_t i = 0; i < spec->values.n; i++) {
        lg_str_add(out, i ? ", " : "");
        if (spec->values_are_integers) {
            // A zero may be a negative one, which only the double knows.
            bool negative_zero = spec->int_values.items[i] == 0 && signbit(spec->values.items[i]);
            lg_str_printf(out, "%s%lld", negative_zero ? "-" : "",
                          (long long)spec->int_values.items[i]);
        } else {
            lg_write_number(out, spec->values.items[i]);
        }
    }
    lg_str_add(out, "]");
    if (spec->shape.n || spec->scalar) {
        lg_write_ints(out, ", shape", spec->shape);
    }
}

static void write_distribution(lg_str *out, const lg_array_spec *spec, bool labels) {
    if (spec->distribution == LG_DIST_DEFAULT) {
        return;
    }
    lg_str_printf(out, ", distribution: %s", lg_distribution_name(spec->distribution));
    if (spec->distribution == LG_DIST_NORMAL) {
        write_keyed(out, ", scale", spec->scale, "");
    } else if (spec->distribution == LG_DIST_CONSTANT) {
        write_keyed(out, ", value", spec->lo, "");
    } else if (spec->distribution == LG_DIST_UNIFORM && !labels) {
        write_keyed(out, ", lo", spec->lo, "");
        write_keyed(out, ", hi", spec->hi, "");
    }
}

static void write_array(lg_str *out, const char *key, const lg_array_spec *spec, lg_place place) {
    if (spec->source == LG_ARRAY_ABSENT) {
        return;
    }
    lg_str_printf(out, "  %s: {", key);
    if (!spec->open_dtype) {
        lg_str_printf(out, "dtype: %s", lg_dtype_name(spec->dtype));
    }
    if (place == LG_PLACE_TARGETS) {
        lg_str_printf(out, "%skind: %s", spec->open_dtype ? "" : ", ",
                      spec->probabilities ? "probabilities" : "indices");
    }
    if (spec->source == LG_ARRAY_VALUES) {
        lg_str_add(out, ", ");
        write_values(out, spec);
    } else if (spec->source == LG_ARRAY_FILE) {
        lg_str_add(out, ", file: ");
        lg_write_text(out, spec->file);
    } else if (place == LG_PLACE_WEIGHT) {
        lg_str_add(out, ", uniform: [");
        lg_write_number(out, spec->lo);
        lg_str_add(out, ", ");
        lg_write_number(out, spec->hi);
        lg_str_add(out, "]");
    } else {
        write_distribution(out, spec, place == LG_PLACE_TARGETS && !spec->probabilities);
    }
    if (spec->stride.n) {
        lg_write_ints(out, ", stride", spec->stride);
    }
    lg_str_add(out, "}\n");
}

static void write_loss(lg_str *out, const lg_scenario *scenario) {
    const lg_loss_options *loss = &scenario->loss;
    lg_str_printf(out, "loss:\n  kind: %s\n  reduction: %s\n  direction: %s\n",
                  lg_loss_kind_name(loss->kind), lg_reduction_name(loss->reduction),
                  lg_direction_name(loss->direction));
    if (!lg_loss_is_binary(loss->kind)) {
        lg_str_printf(out, "  ignore_index: %lld\n", (long long)loss->ignore_index);
    }
    if (loss->label_smoothing != 0) {
        write_keyed(out, "  label_smoothing", loss->label_smoothing, "\n");
    }
    write_array(out, "weight", &scenario->weight, LG_PLACE_WEIGHT);
    write_array(out, "pos_weight", &scenario->pos_weight, LG_PLACE_WEIGHT);
    write_array(out, "grad_output", &scenario->grad_output, LG_PLACE_WEIGHT);
}

static void write_batch(lg_str *out, const lg_batch_spec *batch) {
    lg_str_printf(out, "batch:\n  seed: %llu\n  samples: %lld\n", (unsigned long long)batch->seed,
                  (long long)batch->samples);
    if (batch->unbatched) {
        lg_str_add(out, "  unbatched: true\n");
    }
    lg_write_ints(out, "  extent", batch->extent);
    lg_str_printf(out, "\n  classes: %lld\n", (long long)batch->classes);
    if (batch->ignored_fraction > 0) {
        write_keyed(out, "  ignored_fraction", batch->ignored_fraction, "\n");
    }
    write_array(out, "logits", &batch->logits, LG_PLACE_LOGITS);
    write_array(out, "targets", &batch->targets, LG_PLACE_TARGETS);
}

static void write_count(lg_str *out, const char *key, int64_t count) {
    if (count) {
        lg_str_printf(out, ", %s: %lld", key, (long long)count);
    }
}

static void write_fault(lg_str *out, const lg_fault_spec *fault) {
    lg_str_printf(out, "  - {kind: %s", lg_cause_name(fault->kind));
    if (fault->kind == LG_CAUSE_FLOAT_TARGETS) {
        lg_str_printf(out, ", form: %s", lg_float_form_name(fault->form));
    }
    if (fault->where) {
        lg_str_printf(out, ", where: %s", lg_fault_form_name(fault->where));
    }
    if (fault->dtype) {
        lg_str_printf(out, ", dtype: %s", lg_dtype_name(fault->dtype));
    }
    write_count(out, "head_width", fault->head_width);
    write_count(out, "count", fault->count);
    write_count(out, "length", fault->length);
    if (fault->fraction != 0) {
        write_keyed(out, ", fraction", fault->fraction, "");
    }
    if (fault->number != 0) {
        write_keyed(out, ", number", fault->number, "");
    }
    if (fault->rows.n) {
        lg_write_ints(out, ", rows", fault->rows);
    }
    if (fault->values.n) {
        lg_write_ints(out, ", values", fault->values);
    }
    if (fault->shape.n) {
        lg_write_ints(out, ", shape", fault->shape);
    }
    lg_str_add(out, "}\n");
}

static void write_globs(lg_str *out, const char *key, lg_str_list list) {
    if (list.n == 0) {
        return;
    }
    lg_str_printf(out, "  %s: [", key);
    for (int64_t i = 0; i < list.n; i++) {
        lg_str_add(out, i ? ", " : "");
        lg_write_text(out, list.items[i]);
    }
    lg_str_add(out, "]\n");
}

void lg_scenario_write(const lg_scenario *scenario, lg_str *out) {
    lg_str_add(out, "title: ");
    lg_write_text(out, scenario->title);
    lg_str_add(out, "\n");
    if (scenario->origin) {
        lg_str_add(out, "origin: ");
        lg_write_text(out, scenario->origin);
        lg_str_add(out, "\n");
    }
    write_loss(out, scenario);
    write_batch(out, &scenario->batch);
    if (scenario->n_faults) {
        lg_str_add(out, "faults:\n");
    }
    for (int i = 0; i < scenario->n_faults; i++) {
        write_fault(out, &scenario->faults[i]);
    }
    if (scenario->kernels.n || scenario->modes.n || scenario->relations || scenario->foreign) {
        lg_str_add(out, "run:\n");
    }
    write_globs(out, "kernels", scenario->kernels);
    lg_str_add(out, scenario->foreign ? "  foreign: true\n" : "");
    write_globs(out, "modes", scenario->modes);
    size_t n;
    lg_write_set(out, "relations", scenario->relations, lg_relation_names(&n));
    lg_write_expect(out, &scenario->expect);
}
