// SPDX-License-Identifier: Apache-2.0
// Reads and checks scenario files over libyaml with one field table (scenario_fields.def), from
// which the reference page of scenarios/README.md and the JSON Schema are generated too.
#ifndef LG_SCENARIO_READ_H
#define LG_SCENARIO_READ_H

#include "scenario/scenario.h"
#include "support/error.h"
#include "support/str.h"

typedef struct lg_read_options {
    const char *root;        // folder that scenario names are relative to; NULL: the file's folder
    lg_str_list allow_paths; // folders outside the scenario's own that `file:` may reach
} lg_read_options;

// Reads one file and expands its matrix. Reports *all* errors; false when there was one (the set is
// then empty). Contradictions are checked for every matrix point and name the point.
bool lg_scenario_read(const char *path, const lg_read_options *options, lg_scenario_set *set,
                      lg_diags *diags);

// The same for a file that is in memory. `name` is its path: for diagnostics, for the scenario's
// name, and for the folder that `file:` is relative to.
bool lg_scenario_read_text(const char *name, const char *text, size_t n,
                           const lg_read_options *options, lg_scenario_set *set, lg_diags *diags);

// Writes one point as a scenario file that reads back to the same point.
void lg_scenario_write(const lg_scenario *scenario, lg_str *out);

void lg_scenario_reference_page(lg_str *out); // Markdown, from the field table
void lg_scenario_json_schema(lg_str *out);    // JSON Schema 2020-12, from the field table

#endif
