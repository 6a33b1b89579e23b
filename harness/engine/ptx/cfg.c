// SPDX-License-Identifier: Apache-2.0
#include "engine/ptx/cfg.h"

#include <string.h>

static bool ends_block(const lg_ptx_insn *insn) {
    return insn->op == LG_OP_BRA || insn->op == LG_OP_BRX || insn->op == LG_OP_RET ||
           insn->op == LG_OP_EXIT;
}

// A trap ends the grid, so that no thread needs to meet another behind it: it counts as falling
// through, as does a guarded ret or exit, whose threads are gone.
static bool falls_through(const lg_ptx_insn *insn) {
    return insn->guard >= 0 || !ends_block(insn);
}

static void mark_leader(bool *leader, const lg_ptx_operand *operand) {
    if (operand->kind == LG_OPERAND_LABEL) {
        leader[operand->imm_bits] = true;
    }
    for (int i = 0; operand->kind == LG_OPERAND_LIST && i < operand->n_elements; i++) {
        leader[operand->elements[i].imm_bits] = true;
    }
}

static void find_blocks(lg_arena *arena, const lg_ptx_function *function, lg_ptx_cfg *cfg) {
    int32_t n = function->n_insns;
    bool *leader = lg_arena_array(arena, (size_t)n + 1, sizeof *leader);
    leader[0] = true;
    for (int32_t i = 0; i < n; i++) {
        const lg_ptx_insn *insn = &function->insns[i];
        leader[i + 1] |= ends_block(insn);
        if (insn->op == LG_OP_BRA || insn->op == LG_OP_BRX) {
            mark_leader(leader, &insn->operands[insn->n_operands - 1]);
        }
    }
    for (int32_t i = 0; i < n; i++) {
        cfg->n_blocks += leader[i];
    }
    cfg->blocks = lg_arena_array(arena, (size_t)cfg->n_blocks, sizeof *cfg->blocks);
    cfg->block_of = lg_arena_array(arena, (size_t)n, sizeof *cfg->block_of);
    int32_t block = -1;
    for (int32_t i = 0; i < n; i++) {
        if (leader[i]) {
            cfg->blocks[++block].first = i;
        }
        cfg->blocks[block].last = i;
        cfg->block_of[i] = block;
    }
}

static void find_succs(lg_arena *arena, const lg_ptx_function *function, lg_ptx_cfg *cfg) {
    for (int32_t b = 0; b < cfg->n_blocks; b++) {
        lg_ptx_block *block = &cfg->blocks[b];
        const lg_ptx_insn *last = &function->insns[block->last];
        // Read only of a branch, which has one.
        const lg_ptx_operand *target =
            &last->operands[last->n_operands > 0 ? last->n_operands - 1 : 0];
        // One more for the edge that a switch without targets gets.
        size_t most = 2 + (last->op == LG_OP_BRX ? (size_t)target->n_elements : 1);
        block->succs = lg_arena_array(arena, most, sizeof *block->succs);
        if (last->op == LG_OP_BRA) {
            block->succs[block->n_succs++] = cfg->block_of[target->imm_bits];
        }
        for (int i = 0; last->op == LG_OP_BRX && i < target->n_elements; i++) {
            block->succs[block->n_succs++] = cfg->block_of[target->elements[i].imm_bits];
        }
        bool leaves = last->op == LG_OP_RET || last->op == LG_OP_EXIT;
        if (falls_through(last)) {
            block->succs[block->n_succs++] = b + 1; // the exit, for a guarded last instruction
        } else if (leaves) {
            block->succs[block->n_succs++] = cfg->n_blocks;
        }
    }
}

// Lengauer and Tarjan's arrays, by node; the exit, node n_blocks, is the root.
typedef struct dom_tree {
    int32_t n;       // nodes
    int32_t n_found; // numbered so far
    int32_t *number; // order of the depth-first search; -1 not found
    int32_t *vertex; // by number
    int32_t *parent;
    int32_t *semi; // number
    int32_t *ancestor, *label;
    int32_t *bucket, *bucket_next; // nodes by semidominator
    int32_t *idom;
    int32_t *pred_at, *preds; // predecessors of node v: preds[pred_at[v] .. pred_at[v+1])
    int32_t *stack, *stack_at;
} dom_tree;

static int32_t *new_array(lg_arena *arena, int32_t n, int32_t value) {
    int32_t *array = lg_arena_array(arena, (size_t)n, sizeof *array);
    for (int32_t i = 0; value && i < n; i++) {
        array[i] = value;
    }
    return array;
}

static void find_preds(lg_arena *arena, const lg_ptx_cfg *cfg, dom_tree *tree) {
    tree->pred_at = new_array(arena, tree->n + 1, 0);
    for (int32_t b = 0; b < cfg->n_blocks; b++) {
        for (int32_t i = 0; i < cfg->blocks[b].n_succs; i++) {
            tree->pred_at[cfg->blocks[b].succs[i] + 1]++;
        }
    }
    for (int32_t v = 0; v < tree->n; v++) {
        tree->pred_at[v + 1] += tree->pred_at[v];
    }
    tree->preds = new_array(arena, tree->pred_at[tree->n] + 1, 0);
    int32_t *fill = new_array(arena, tree->n, 0);
    for (int32_t b = 0; b < cfg->n_blocks; b++) {
        for (int32_t i = 0; i < cfg->blocks[b].n_succs; i++) {
            int32_t v = cfg->blocks[b].succs[i];
            tree->preds[tree->pred_at[v] + fill[v]++] = b;
        }
    }
}

static void number_node(dom_tree *tree, int32_t node, int32_t parent) {
    tree->number[node] = tree->semi[node] = tree->n_found;
    tree->vertex[tree->n_found++] = node;
    tree->parent[node] = parent;
}

// Depth-first over the reversed edges, with a stack of its own.
static void search(dom_tree *tree, int32_t start, int32_t parent) {
    int32_t depth = 0;
    number_node(tree, start, parent);
    tree->stack[0] = start;
    tree->stack_at[0] = tree->pred_at[start];
    while (depth >= 0) {
        int32_t node = tree->stack[depth];
        if (tree->stack_at[depth] == tree->pred_at[node + 1]) {
            depth--;
            continue;
        }
        int32_t next = tree->preds[tree->stack_at[depth]++];
        if (tree->number[next] < 0) {
            number_node(tree, next, node);
            depth++;
            tree->stack[depth] = next;
            tree->stack_at[depth] = tree->pred_at[next];
        }
    }
}

// The node with the least semidominator on the path above `node` in the forest so far.
static int32_t eval(dom_tree *tree, int32_t node) {
    if (tree->ancestor[node] < 0) {
        return node;
    }
    int32_t depth = 0;
    int32_t at = node;
    while (tree->ancestor[tree->ancestor[at]] >= 0) {
        tree->stack[depth++] = at;
        at = tree->ancestor[at];
    }
    while (depth > 0) {
        int32_t lower = tree->stack[--depth];
        int32_t upper = tree->ancestor[lower];
        if (tree->semi[tree->label[upper]] < tree->semi[tree->label[lower]]) {
            tree->label[lower] = tree->label[upper];
        }
        tree->ancestor[lower] = tree->ancestor[upper];
    }
    return tree->label[node];
}

static void empty_bucket(dom_tree *tree, int32_t parent) {
    for (int32_t v = tree->bucket[parent]; v >= 0; v = tree->bucket_next[v]) {
        int32_t u = eval(tree, v);
        tree->idom[v] = tree->semi[u] < tree->semi[v] ? u : parent;
    }
    tree->bucket[parent] = -1;
}

static void find_semidominator(dom_tree *tree, const lg_ptx_cfg *cfg, int32_t node) {
    const lg_ptx_block *block = &cfg->blocks[node];
    for (int32_t i = 0; i < block->n_succs; i++) {
        int32_t u = eval(tree, block->succs[i]);
        if (tree->semi[u] < tree->semi[node]) {
            tree->semi[node] = tree->semi[u];
        }
    }
    int32_t semi = tree->vertex[tree->semi[node]];
    tree->bucket_next[node] = tree->bucket[semi];
    tree->bucket[semi] = node;
}

static void find_ipdoms(lg_arena *arena, lg_ptx_cfg *cfg) {
    int32_t n = cfg->n_blocks + 1;
    dom_tree tree = {.n = n};
    tree.number = new_array(arena, n, -1);
    tree.vertex = new_array(arena, n, 0);
    tree.parent = new_array(arena, n, 0);
    tree.semi = new_array(arena, n, 0);
    tree.ancestor = new_array(arena, n, -1);
    tree.label = new_array(arena, n, 0);
    tree.bucket = new_array(arena, n, -1);
    tree.bucket_next = new_array(arena, n, -1);
    tree.idom = new_array(arena, n, 0);
    tree.stack = new_array(arena, n, 0);
    tree.stack_at = new_array(arena, n, 0);
    for (int32_t i = 0; i < n; i++) {
        tree.label[i] = i;
    }
    find_preds(arena, cfg, &tree);
    search(&tree, cfg->n_blocks, -1);
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t node = tree.vertex[i];
        find_semidominator(&tree, cfg, node);
        tree.ancestor[node] = tree.parent[node];
        empty_bucket(&tree, tree.parent[node]);
    }
    for (int32_t i = 1; i < n; i++) {
        int32_t node = tree.vertex[i];
        if (tree.idom[node] != tree.vertex[tree.semi[node]]) {
            tree.idom[node] = tree.idom[tree.idom[node]];
        }
        cfg->blocks[node].ipdom = tree.idom[node];
    }
}

void lg_ptx_cfg_build(lg_arena *arena, const lg_ptx_function *function, lg_ptx_cfg *cfg) {
    *cfg = (lg_ptx_cfg){0};
    find_blocks(arena, function, cfg);
    find_succs(arena, function, cfg);
    lg_ptx_cut_endless(arena, cfg);
    find_ipdoms(arena, cfg);
}

void lg_ptx_reconverge(lg_arena *arena, lg_ptx_function *function) {
    lg_arena scratch = {0};
    lg_ptx_cfg cfg;
    lg_ptx_cfg_build(&scratch, function, &cfg);
    function->reconverge =
        lg_arena_array(arena, (size_t)function->n_insns, sizeof *function->reconverge);
    for (int32_t i = 0; i < function->n_insns; i++) {
        const lg_ptx_insn *insn = &function->insns[i];
        bool branches = insn->op == LG_OP_BRX || (insn->op == LG_OP_BRA && insn->guard >= 0);
        bool leaves = (insn->op == LG_OP_RET || insn->op == LG_OP_EXIT) && insn->guard >= 0;
        function->reconverge[i] = leaves ? function->n_insns : -1;
        if (branches) {
            const lg_ptx_block *block = &cfg.blocks[cfg.block_of[i]];
            int32_t meet = block->ipdom < cfg.n_blocks ? block->ipdom : block->head;
            function->reconverge[i] = meet >= 0 ? cfg.blocks[meet].first : function->n_insns;
        }
    }
    lg_arena_free(&scratch);
}
