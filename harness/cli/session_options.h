// SPDX-License-Identifier: Apache-2.0
// What the verbs that run cases share: the session a command line means, and its filters.
#ifndef LG_CLI_SESSION_OPTIONS_H
#define LG_CLI_SESSION_OPTIONS_H

#include "cli/cli.h"

#include "session/session.h"

// Filters, seed, compiler and cache of the command line; `cache` (lg_cli_cache) stays the caller's.
lg_session_options lg_cli_session(const lg_cli *cli, const lg_driver *driver,
                                  const lg_scenarios *scenarios, const lg_kernel_set *kernels,
                                  const char *cache);

// Says on stderr which --kernel, --mode, scenario pattern or path of the command line matches
// nothing at all, with the nearest name. A pattern of a scenario counts where the project's own
// kernels are run: another set need not have them. False when there was one: it is most often
// mistyped, and what it meant to select would be missing without a word.
bool lg_cli_filters_match(const lg_cli *cli, const lg_scenarios *scenarios,
                          const lg_kernel_set *kernels);

#endif
