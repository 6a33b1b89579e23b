// SPDX-License-Identifier: Apache-2.0
// Every kind of device fault has names of its own, and a check that finds it.
#include "model/device_fault.h"
#include "unit/testing.h"

static void test_table(void) {
    CU_ASSERT_EQUAL(lg_device_fault_finder(LG_DEVICE_FAULT_NONE), LG_FINDER_NONE);
    for (int kind = 1; kind < LG_N_DEVICE_FAULTS; kind++) {
        const char *name = lg_device_fault_name((lg_device_fault_kind)kind, false);
        const char *write = lg_device_fault_name((lg_device_fault_kind)kind, true);
        LG_CHECK_ROW(name, lg_device_fault_finder((lg_device_fault_kind)kind) != LG_FINDER_NONE);
        for (int other = 0; other < kind; other++) {
            const char *taken = lg_device_fault_name((lg_device_fault_kind)other, false);
            LG_CHECK_ROW(name, strcmp(name, taken) != 0 && strcmp(write, taken) != 0);
        }
    }
    CU_ASSERT_STRING_EQUAL(lg_device_fault_name(LG_DEVICE_FAULT_OUT_OF_BOUNDS, true),
                           "write out of bounds");
    CU_ASSERT_EQUAL(lg_device_fault_finder(LG_DEVICE_FAULT_NO_SUCH_BARRIER), LG_FINDER_BARRIER);
    CU_ASSERT_EQUAL(lg_device_fault_finder(LG_DEVICE_FAULT_RACE), LG_FINDER_RACE);
    CU_ASSERT_EQUAL(lg_device_fault_finder((lg_device_fault_kind)LG_N_DEVICE_FAULTS),
                    LG_FINDER_NONE);
}

int main(void) {
    static const lg_test tests[] = {{"the table", test_table}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
