// SPDX-License-Identifier: Apache-2.0
// Does a function read registers before it writes them? Code from a compiler does not, and then the
// registers of a warp need not be cleared for every block.
#ifndef LG_ENGINE_SIM_DECODE_LIVENESS_H
#define LG_ENGINE_SIM_DECODE_LIVENESS_H

#include "engine/ptx/ast.h"

#include <stdbool.h>

// true when some path from the entry may read a register that it has not written. Pure; any thread.
bool lg_reads_before_write(const lg_ptx_function *function);

// Is the first operand a plain destination (unless it is an address)? The others of these
// operations are read, and all of the operations that this is false for may be.
bool lg_writes_first_operand(const lg_ptx_insn *insn);

#endif
