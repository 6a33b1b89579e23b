// SPDX-License-Identifier: Apache-2.0
#include "engine/sim/race/lanes.h"
#include "support/alloc.h"

#include <string.h>

// --- time

void lg_race_lanes_ordered(lg_race *race) {
    race->lanes_stamp++;
    race->n_pieces = 0;
    race->lanes_fenced = false;
}

void lg_race_lanes_begin(lg_exec *x) {
    lg_race *race = x->race;
    if (race->lanes_warp != x->warp || race->lanes_epoch != x->warp->lane_epoch) {
        race->lanes_warp = x->warp;
        race->lanes_epoch = x->warp->lane_epoch;
        lg_race_lanes_ordered(race);
    }
}

// --- races

static uint32_t lanes_at(const lg_race_piece *piece, uint64_t number, uint32_t grain) {
    if (!piece->stride) {
        return piece->lanes;
    }
    uint64_t row = (number * LG_LINE_GRAINS + grain) / piece->stride;
    return UINT32_C(1) << (row - piece->phase) % LG_LANES;
}

static bool same_lanes(const lg_race_piece *a, const lg_race_piece *b) {
    return a->stride == b->stride && (a->stride ? a->phase == b->phase : a->lanes == b->lanes);
}

static lg_race_piece *first_piece(const lg_race *race, const lg_race_line *at) {
    bool known = at->stamp == race->lanes_stamp && at->pieces;
    return known ? &race->pieces[at->pieces - 1] : NULL;
}

static lg_race_piece *next_piece(const lg_race *race, const lg_race_piece *piece) {
    return piece->next ? &race->pieces[piece->next - 1] : NULL;
}

// Lanes that have written the grain.
static uint32_t writers(const lg_race *race, const lg_race_line *at, uint32_t grain) {
    uint32_t lanes = 0;
    for (const lg_race_piece *p = first_piece(race, at); p; p = next_piece(race, p)) {
        bool is = p->how & LG_RACE_WRITE && p->mask >> grain & 1;
        lanes |= is ? lanes_at(p, at->number, grain) : 0;
    }
    return lanes;
}

// The running warp's use that the piece is a part of.
static const lg_race_use *use_of(const lg_exec *x, const lg_race_line *at, const lg_race_piece *p) {
    for (uint32_t i = at->n; i-- > 0;) {
        const lg_race_use *u = &at->more[i];
        if (u->seq == x->race->seq && u->warp == x->warp->number && u->how == p->how &&
            u->mask & p->mask) {
            return u;
        }
    }
    return p->how & LG_RACE_WRITE ? &at->write : &at->read;
}

static bool check_grain(const lg_race_op *op, const lg_race_line *at, const lg_race_piece *now,
                        const lg_race_piece *old, uint32_t grain) {
    uint32_t were = lanes_at(old, at->number, grain);
    for (uint32_t rest = lanes_at(now, at->number, grain) & op->active; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest), others = were & ~(UINT32_C(1) << lane);
        // A lane that has written the value itself reads nothing else than what others wrote: a
        // plain write of another value was found when it was made.
        bool races = now->how & LG_RACE_WRITE ? lg_race_changes(op, lane)
                                              : old->how & LG_RACE_STRONG ||
                                                    !(writers(op->x->race, at, grain) >> lane & 1);
        if (others && races) {
            lg_race_report(op, lane, use_of(op->x, at, old), __builtin_ctz(others));
            return true;
        }
    }
    return false;
}

static bool may_race(const lg_race_piece *a, const lg_race_piece *b) {
    bool one_lane = a->stride || (a->lanes & (a->lanes - 1)) == 0;
    return a->mask & b->mask && (a->how | b->how) & LG_RACE_WRITE &&
           !(a->how & b->how & LG_RACE_STRONG) && !(one_lane && same_lanes(a, b));
}

void lg_race_check_lanes(const lg_race_op *op, const lg_race_line *at, const lg_race_piece *now) {
    const lg_race *race = op->x->race;
    for (const lg_race_piece *p = first_piece(race, at); p; p = next_piece(race, p)) {
        if (may_race(p, now)) {
            for (uint64_t rest = p->mask & now->mask; rest; rest &= rest - 1) {
                if (check_grain(op, at, now, p, (uint32_t)__builtin_ctzll(rest))) {
                    return;
                }
            }
        }
    }
}

void lg_race_add_lanes(lg_race *race, lg_race_line *at, const lg_race_piece *now) {
    for (lg_race_piece *p = first_piece(race, at); p; p = next_piece(race, p)) {
        if (p->how == now->how && same_lanes(p, now)) {
            p->mask |= now->mask;
            return;
        }
        if (p->how == now->how && !p->stride && !now->stride && p->mask == now->mask) {
            p->lanes |= now->lanes;
            return;
        }
    }
    if (race->n_pieces == race->piece_capacity) {
        race->piece_capacity = race->piece_capacity ? race->piece_capacity * 2 : 64;
        race->pieces = lg_xrealloc(race->pieces, race->piece_capacity * sizeof *race->pieces);
    }
    lg_race_piece *made = &race->pieces[race->n_pieces++];
    *made = *now;
    made->next = at->stamp == race->lanes_stamp ? at->pieces : 0;
    at->stamp = race->lanes_stamp;
    at->pieces = race->n_pieces;
}

void lg_race_split_lanes(lg_race *race, const lg_race_line *from, lg_race_line *to, uint32_t part,
                         uint32_t factor) {
    for (const lg_race_piece *p = first_piece(race, from); p;) {
        uint32_t next = p->next;
        lg_race_piece split = *p;
        split.mask = lg_race_part(p->mask, part, factor);
        split.stride = p->stride * factor;
        if (split.mask) {
            lg_race_add_lanes(race, to, &split); // may move the pieces
        }
        p = next ? &race->pieces[next - 1] : NULL;
    }
}
