// SPDX-License-Identifier: Apache-2.0
// Loops without an exit. Post-dominators ask for one, and where it is taken to be decides where
// diverged threads meet: they must meet where they do in the same loop with an exit at its head.
// So the loop is cut there: its way back leads to the exit.
//
// Such a loop is a strongly connected component that nothing leaves; its head is the first of its
// blocks that a depth-first search from the entry finds. The components come from Tarjan's
// algorithm (Depth-first search and linear graph algorithms, 1972), with a stack of its own.
#include "engine/ptx/cfg.h"

typedef struct components {
    lg_ptx_cfg *cfg;
    int32_t n_found;
    int32_t *number; // order of the search, from 1; 0: not found
    int32_t *low;    // least number that is reached and still open
    bool *closed;    // its component is complete
    bool *left;      // an edge leads from it or from what was found behind it to a closed one
    int32_t *open, n_open;
    int32_t *path, *path_at; // blocks, and the successor each is at
} components;

static void enter(components *c, int32_t block, int32_t depth) {
    c->number[block] = c->low[block] = ++c->n_found;
    c->open[c->n_open++] = block;
    c->path[depth] = block;
    c->path_at[depth] = 0;
}

// The blocks from `head` on are a component; nobody leaves it when `endless`.
static void close_component(components *c, int32_t head, bool endless) {
    lg_ptx_cfg *cfg = c->cfg;
    bool cut = false;
    int32_t block;
    do {
        block = c->open[--c->n_open];
        c->closed[block] = true;
        lg_ptx_block *b = &cfg->blocks[block];
        b->head = endless ? head : -1;
        for (int32_t i = 0; endless && i < b->n_succs; i++) {
            if (b->succs[i] == head) {
                b->succs[i] = cfg->n_blocks;
                cut = true;
            }
        }
    } while (block != head);
    if (endless && !cut) { // a switch without targets
        cfg->blocks[head].succs[cfg->blocks[head].n_succs++] = cfg->n_blocks;
    }
}

static void search(components *c, int32_t start) {
    int32_t depth = 0;
    enter(c, start, depth);
    while (depth >= 0) {
        int32_t block = c->path[depth];
        const lg_ptx_block *b = &c->cfg->blocks[block];
        if (c->path_at[depth] < b->n_succs) {
            int32_t next = b->succs[c->path_at[depth]++];
            if (next == c->cfg->n_blocks || c->closed[next]) {
                c->left[block] = true;
            } else if (c->number[next] == 0) {
                enter(c, next, ++depth);
            } else if (c->number[next] < c->low[block]) {
                c->low[block] = c->number[next];
            }
            continue;
        }
        bool is_head = c->low[block] == c->number[block];
        if (is_head) {
            close_component(c, block, !c->left[block]);
        }
        if (--depth >= 0) {
            int32_t above = c->path[depth];
            c->low[above] = c->low[block] < c->low[above] ? c->low[block] : c->low[above];
            c->left[above] |= is_head || c->left[block];
        }
    }
}

void lg_ptx_cut_endless(lg_arena *arena, lg_ptx_cfg *cfg) {
    size_t n = (size_t)cfg->n_blocks;
    components c = {.cfg = cfg,
                    .number = lg_arena_array(arena, n, sizeof *c.number),
                    .low = lg_arena_array(arena, n, sizeof *c.low),
                    .closed = lg_arena_array(arena, n, sizeof *c.closed),
                    .left = lg_arena_array(arena, n, sizeof *c.left),
                    .open = lg_arena_array(arena, n, sizeof *c.open),
                    .path = lg_arena_array(arena, n, sizeof *c.path),
                    .path_at = lg_arena_array(arena, n, sizeof *c.path_at)};
    for (int32_t b = 0; b < cfg->n_blocks; b++) {
        if (c.number[b] == 0) {
            search(&c, b);
        }
    }
}
