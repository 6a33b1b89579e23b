// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <stddef.h>

// The one thing that a handler may write.
static volatile sig_atomic_t came;

static void note(int number) {
    if (came) {
        signal(number, SIG_DFL);
        raise(number);
    }
    came = number;
}

static void set_handlers(void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    // Whoever starts a run in the background may have both ignored: that stays.
    const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

const volatile sig_atomic_t *lg_interrupt_watch(void) {
    came = 0;
    set_handlers(note);
    return &came;
}

int lg_interrupt_end(void) {
    set_handlers(SIG_DFL);
    return came;
}
