// SPDX-License-Identifier: Apache-2.0
#ifndef LG_CLI_LIST_REPORTS_H
#define LG_CLI_LIST_REPORTS_H

#include "cli/cli.h"

// One line a scenario file that has an origin: origin, scenario, the verdict and cause it must
// have, and those of the run whose cases.jsonl is in --out (default: out), or "not run".
int lg_list_reports(const lg_cli *cli);

#endif
