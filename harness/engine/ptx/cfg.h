// SPDX-License-Identifier: Apache-2.0
// Basic blocks and the points where diverged threads meet again. Private to engine/ptx.
//
// The post-dominator tree comes from Lengauer and Tarjan's algorithm with path compression
// (A fast algorithm for finding dominators in a flowgraph, 1979) on the reversed graph:
// O(edges · log blocks) for any input. A loop from which no exit can be reached is cut at its head:
// the edges back to it lead to the exit (cfg_endless.c).
#ifndef LG_ENGINE_PTX_CFG_H
#define LG_ENGINE_PTX_CFG_H

#include "engine/ptx/ast.h"

typedef struct lg_ptx_block {
    int32_t first, last; // instructions, both included
    int32_t n_succs;
    int32_t *succs; // blocks; the exit is block n_blocks
    int32_t ipdom;  // block, n_blocks for the exit
    int32_t head;   // of the endless loop it is in, where all in it meet at the latest; -1: in none
} lg_ptx_block;

typedef struct lg_ptx_cfg {
    int32_t n_blocks;
    lg_ptx_block *blocks;
    int32_t *block_of; // by instruction
} lg_ptx_cfg;

// Everything lives in the arena. The function has at least one instruction and only valid labels.
void lg_ptx_cfg_build(lg_arena *arena, const lg_ptx_function *function, lg_ptx_cfg *cfg);

// Cuts the endless loops and fills the heads.
void lg_ptx_cut_endless(lg_arena *arena, lg_ptx_cfg *cfg);

// Fills function->reconverge.
void lg_ptx_reconverge(lg_arena *arena, lg_ptx_function *function);

#endif
