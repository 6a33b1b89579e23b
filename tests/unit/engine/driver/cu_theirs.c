// SPDX-License-Identifier: Apache-2.0
// The toolkit's header, compiled where there is one (tests/CMakeLists.txt).
#include <cuda.h>

#include "unit/engine/driver/cu_table.h"

// What grows with the version is compared with the version it is of.
#if CUDA_VERSION == 13000
#define LG_CU_LATEST(name, value) CU_FACT(name)
#else
#define LG_CU_LATEST(name, value) {#name, value},
#endif

const cu_fact cu_theirs[] = {
#include "engine/driver/cu_errors.def"
#include "engine/driver/cu_values.def"
    CU_FACTS};
const size_t cu_n_theirs = sizeof cu_theirs / sizeof *cu_theirs;
