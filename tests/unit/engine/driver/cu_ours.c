// SPDX-License-Identifier: Apache-2.0
// Every value, size and offset of our header of the driver API is that of the toolkit's.
#include "engine/driver/cu.h"
#include "unit/engine/driver/cu_table.h"
#include "unit/testing.h"

#define LG_CU_LATEST(name, value) CU_FACT(name)

const cu_fact cu_ours[] = {
#include "engine/driver/cu_errors.def"
#include "engine/driver/cu_values.def"
    CU_FACTS};
const size_t cu_n_ours = sizeof cu_ours / sizeof *cu_ours;

static void test_alike(void) {
    CU_ASSERT_EQUAL_FATAL(cu_n_ours, cu_n_theirs);
    for (size_t i = 0; i < cu_n_ours; i++) {
        LG_CHECK_ROW(cu_ours[i].name, cu_ours[i].value == cu_theirs[i].value);
    }
}

int main(void) {
    static const lg_test tests[] = {{"as in cuda.h", test_alike}};
    return lg_run_tests(LG_SUITE, tests, sizeof tests / sizeof *tests);
}
