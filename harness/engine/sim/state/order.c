// SPDX-License-Identifier: Apache-2.0
// Seeded orders of blocks and warps (splitmix64; D. Steele et al., 2014).
#include "engine/sim/state/state.h"

uint64_t lg_next_random(lg_exec *x) {
    uint64_t z = x->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

lg_block_order lg_order_blocks(lg_exec *x) {
    const uint32_t *grid = x->launch->grid;
    lg_block_order order = {(uint64_t)grid[0] * grid[1] * grid[2], 1, 0};
    if (x->launch->schedule) {
        do {
            order.factor = lg_next_random(x) % order.n;
        } while (common_divisor(order.factor, order.n) != 1);
        order.offset = lg_next_random(x) % order.n;
    }
    return order;
}

void lg_launch_block(const lg_exec *x, uint64_t i, uint32_t block[3]) {
    const lg_block_order *order = &x->order;
    const uint32_t *grid = x->launch->grid;
    uint64_t at = (uint64_t)(((unsigned __int128)i * order->factor + order->offset) % order->n);
    block[0] = (uint32_t)(at % grid[0]);
    block[1] = (uint32_t)(at / grid[0] % grid[1]);
    block[2] = (uint32_t)(at / grid[0] / grid[1]);
}

void lg_order_warps(lg_exec *x, int *order) {
    for (int i = 0; i < x->n_warps; i++) {
        order[i] = i;
    }
    for (int i = x->n_warps - 1; i > 0 && x->launch->schedule; i--) {
        int other = (int)(lg_next_random(x) % (uint64_t)(i + 1));
        int swap = order[i];
        order[i] = order[other];
        order[other] = swap;
    }
}
