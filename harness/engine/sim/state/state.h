// SPDX-License-Identifier: Apache-2.0
// A launch while it runs: its warps with their frames and paths, its barriers, the block at work
// and the order of blocks; and how a fault is told with its place in the source.
#ifndef LG_ENGINE_SIM_STATE_STATE_H
#define LG_ENGINE_SIM_STATE_STATE_H

#include "engine/sim/decode/decode.h"
#include "engine/sim/memory/device.h"
#include "engine/sim/state/result.h"
#include "support/str.h"

enum {
    LG_MAX_WARPS = 32,
    LG_N_BARRIERS = 16,
    LG_SIMT_DEPTH = 160,                       // see warp.c: divergence of 32 lanes needs less
    LG_MAX_CALLS = 4096,                       // call depth
    LG_MAX_LOCAL_BYTES = 512 * 1024,           // local memory of a thread
    LG_MAX_ASSERT_LINES = 1024,                // then the launch stops at once
    LG_BUDGET_AFTER_ASSERT = 50 * 1000 * 1000, // warp instructions
    LG_MAX_LOG_BYTES = 8 * 1024 * 1024,        // of printf and assert lines
    LG_MAX_STRING = 64 * 1024,                 // bytes of a string that a kernel prints
    LG_DEFAULT_SHARED_LIMIT = 48 * 1024,       // bytes
    LG_MAX_SHARED_LIMIT = 227 * 1024,
};

typedef struct lg_simt { // a path that waits below the running one
    const lg_insn *ip;
    const lg_insn *rpc;
    uint32_t mask;
} lg_simt;

typedef struct lg_frame {
    const lg_code *code;
    char *regs;
    uint32_t capacity;      // bytes at regs
    const lg_code *filled;  // whose fixed slots regs holds,
    uint64_t filled_launch; // of which launch
    uint64_t local_base;    // where its local memory starts
    uint32_t mask;          // lanes that called
    uint32_t returned;      // of them
    int simt_base;          // entries below are the caller's
    const lg_insn *call;    // the caller's call instruction, rpc and mask
    const lg_insn *caller_rpc;
    uint32_t caller_mask;
} lg_frame;

typedef enum lg_warp_state { LG_WARP_READY, LG_WARP_WAITING, LG_WARP_DONE } lg_warp_state;

typedef struct lg_warp {
    lg_warp_state state;
    int number;
    uint32_t live; // lanes not exited
    uint32_t mask; // lanes running
    const lg_insn *ip;
    const lg_insn *rpc; // where the running path meets the next one below; NULL at the bottom
    int n_simt;
    lg_simt simt[LG_SIMT_DEPTH];
    int depth; // frames[depth] runs
    int n_frames;
    lg_frame *frames;                   // kept for reuse
    uint32_t *local;                    // word k of lane l is local[k * 32 + l]
    uint64_t local_capacity, local_top; // bytes a thread
    int barrier;                        // waited for
    uint32_t barrier_lanes;
    uint32_t clocks[LG_MAX_WARPS];       // what it has seen of each warp (race.h)
    uint32_t fenced[LG_MAX_WARPS];       // what of it lies before a fence of the device
    uint32_t fenced_block[LG_MAX_WARPS]; // before a fence of any scope
    uint32_t lane_epoch;                 // how often its lanes were ordered among themselves
} lg_warp;

typedef struct lg_barrier {
    uint32_t waiting;  // warps
    uint32_t arrived;  // warps, waiting or not
    uint32_t threads;  // arrived
    uint32_t expected; // threads; 0: the whole block
    uint32_t popc, all, any;
    uint32_t clocks[LG_MAX_WARPS], fenced[LG_MAX_WARPS], fenced_block[LG_MAX_WARPS];
} lg_barrier;

typedef enum lg_stop {
    LG_STOP_NONE,    // goes on
    LG_STOP_DONE,    // the warp ended
    LG_STOP_BARRIER, // waits
    LG_STOP_TURN,    // its turn is over
    LG_STOP_FAULT,   // the launch ends
} lg_stop;

// Block number `i` of the order: i * factor + offset modulo n, a permutation as factor and n are
// coprime.
typedef struct lg_block_order {
    uint64_t n, factor, offset;
} lg_block_order;

typedef struct lg_exec {
    lg_mem_state mem; // first: what it calls gets back to the launch
    unsigned checks;
    lg_warp *warp; // running
    const lg_mem_table *memory;
    uint64_t n;        // warp instructions so far
    uint64_t lanes;    // lane instructions so far
    uint64_t turn_end; // n at which the warp gives up its turn; at most budget
    uint64_t budget;
    lg_sim *sim;
    lg_sim_module *module;
    const lg_code *code; // the entry's
    const lg_sim_launch *launch;
    lg_sim_result *result;
    lg_str log;
    bool log_full;
    int n_asserts;
    uint32_t block[3];       // running
    uint64_t dynamic_shared; // its address
    uint64_t shared_bytes;
    int n_warps, n_threads;
    lg_warp *warps;
    lg_barrier barriers[LG_N_BARRIERS];
    uint64_t random;
    lg_block_order order;
    struct lg_race *race; // NULL unless the launch is checked for races
} lg_exec;

static inline lg_exec *lg_exec_of(lg_mem_state *m) {
    return (lg_exec *)(void *)m;
}

// --- order.c: which block and which warp is next. `launch->schedule` 0: in order.
uint64_t lg_next_random(lg_exec *x);
lg_block_order lg_order_blocks(lg_exec *x);
// The coordinates of the i-th block of the launch's order.
void lg_launch_block(const lg_exec *x, uint64_t i, uint32_t block[3]);
void lg_order_warps(lg_exec *x, int *order);

// --- fault.c. The first error of a launch stays; a sanitizer finding gives way to an error.
void lg_raise(lg_exec *x, const lg_insn *insn, int lane, lg_sim_status status,
              lg_device_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void lg_raise_access(lg_exec *x, const lg_insn *insn, int lane, lg_ptx_space space,
                     uint64_t address, uint32_t bytes, bool write);
// Of an access; of lanes, where `bytes` is 0.
void lg_find(lg_exec *x, const lg_insn *insn, int lane, lg_sim_fault fault, const char *what);

#endif
