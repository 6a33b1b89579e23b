// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM of a run: the first asks it to stop, so that what it has is written; a second
// one ends the process at once.
#ifndef LG_CLI_INTERRUPT_H
#define LG_CLI_INTERRUPT_H

#include <signal.h>

// From now on; what to hand to lg_session_options.stop: the signal that came, or 0.
const volatile sig_atomic_t *lg_interrupt_watch(void);
// Back to what the process does by default. The signal that came, or 0.
int lg_interrupt_end(void);

#endif
