// SPDX-License-Identifier: Apache-2.0
// The evidence of one case in a folder that replays it without anything else of the run:
//   scenario.yaml  the matrix point, with this kernel and mode alone
//   batch.npz      input, target and what else the loss was given; device_target when the device
//                  was given something else; source_*, the arrays that the scenario read from
//                  files
//   case.json      the case's line of cases.jsonl: what was seen
//   finding.txt    the same for people
//   evidence.txt   what it rests on: types, shapes, the labels counted, each call and output
//   device.log     what the kernels printed, when they did
#ifndef LG_CLI_BUNDLE_H
#define LG_CLI_BUNDLE_H

#include "result/case.h"
#include "support/error.h"

#include <stdbool.h>

bool lg_bundle_write(const char *folder, const lg_case_result *result, lg_diags *diags);
void lg_bundle_remove(const char *folder); // the files of a bundle, and the folder when it is empty

// Whether the folder holds a bundle.
bool lg_bundle_exists(const char *folder);

// Generates the batch of the bundle's scenario and compares it with batch.npz, bit for bit. false
// with an error that names the first difference; true also when the bundle has no batch.npz (a
// batch that is too large is left out), then `*compared` is false.
bool lg_bundle_check_batch(const char *folder, const lg_scenario *scenario, bool *compared,
                           lg_diags *diags);

#endif
