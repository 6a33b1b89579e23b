// SPDX-License-Identifier: Apache-2.0
// Loads and stores of a warp as vector code: all lanes in the allocation this instruction used
// last, aligned. Everything else is m->slow's.
#include "engine/sim/lane/impl.h"
#include "engine/sim/memory/device.h"

// Lanes one element apart: 32 of them are one copy.
LANE_INLINE bool is_run(const uint64_t *a, uint64_t step) {
#ifdef __AVX512F__
    const __m512i lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i want = _mm512_add_epi64(_mm512_set1_epi64((int64_t)a[0]),
                                    _mm512_mullo_epi64(lanes, _mm512_set1_epi64((int64_t)step)));
    __mmask8 differ = 0;
    for (int lane = 0; lane < LG_LANES; lane += 8) {
        differ |= _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(a + lane), want);
        want = _mm512_add_epi64(want, _mm512_set1_epi64((int64_t)(8 * step)));
    }
    return differ == 0;
#else
    uint64_t differ = 0;
    for (uint64_t lane = 0; lane < LG_LANES; lane++) {
        differ |= (a[lane] - a[0]) ^ lane * step;
    }
    return differ == 0;
#endif
}

// A warp that walks a row goes in steps too long for the processor's own prefetcher; an iteration
// is too long for it to run ahead. Guesses from the last two accesses what the one after the next
// few touches. A wrong guess costs nothing but time: a prefetch does not fault.
#define FETCH(p, write) ((write) ? __builtin_prefetch(p, 1) : __builtin_prefetch(p, 0))
LANE_INLINE void fetch_ahead(const lg_alloc *site, uint64_t *last, uint64_t at, uint64_t bytes,
                             const bool write) {
    enum { AHEAD = 4, LINE = 64 };
    uintptr_t next = (uintptr_t)site->host + at + AHEAD * (at - *last);
    *last = at;
    for (uint64_t i = 0; i < bytes; i += LINE) {
        FETCH((const void *)(next + i), write);
    }
    FETCH((const void *)(next + bytes - 1), write);
}

LANE_INLINE bool is_uniform(const uint64_t *a) {
    uint64_t differ = 0;
    for (int lane = 0; lane < LG_LANES; lane++) {
        differ |= a[lane] ^ a[0];
    }
    return differ == 0;
}

// Offsets of all lanes from the allocation; true when the active ones lie inside and are aligned.
// An offset is inside when neither it nor its distance to the limit is negative.
LANE_INLINE bool find_offsets(const uint64_t *a, uint64_t minus, uint64_t size, uint64_t step,
                              uint32_t active, uint64_t *offsets) {
    uint64_t limit = size - step, bad = 0, low = 0;
    if (active == UINT32_MAX) {
        for (int lane = 0; lane < LG_LANES; lane++) {
            uint64_t offset = a[lane] - minus;
            offsets[lane] = offset;
            bad |= offset | (limit - offset);
            low |= offset;
        }
    } else {
        for (int lane = 0; lane < LG_LANES; lane++) {
            uint64_t on = 0 - (uint64_t)(active >> lane & 1);
            uint64_t offset = (a[lane] - minus) & on;
            offsets[lane] = offset;
            bad |= offset | (limit - offset);
            low |= offset;
        }
    }
    return size >= step && !(bad >> 63) && !(low & (step - 1));
}

LANE_INLINE const uint64_t *addresses_of(const char *regs, const lg_insn *insn, bool address_32,
                                         uint64_t *wide, uint64_t *plus) {
    const char *slot = regs + insn->src[0];
    if (address_32) {
        const uint32_t *low = (const uint32_t *)(const void *)slot;
        for (int lane = 0; lane < LG_LANES; lane++) {
            wide[lane] = low[lane] + (uint32_t)insn->imm;
        }
        *plus = 0;
        return wide;
    }
    *plus = insn->imm;
    return (const uint64_t *)(const void *)slot;
}

typedef uint16_t u16_any __attribute__((aligned(1), may_alias));
typedef uint32_t u32_any __attribute__((aligned(1), may_alias));
typedef uint64_t u64_any __attribute__((aligned(1), may_alias));

// LOAD and STORE of one element size: the register's is the same.
#define DEFINE_ACCESS(bits)                                                                        \
    static bool load_##bits(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active) {   \
        enum { BYTES = bits / 8 };                                                                 \
        const lg_alloc *site = m->sites[insn->aux[1]];                                             \
        uint##bits##_t *to = (uint##bits##_t *)(void *)(regs + insn->dst[0]);                      \
        uint64_t wide[LG_LANES], offsets[LG_LANES], plus;                                          \
        const uint64_t *a =                                                                        \
            addresses_of(regs, insn, lg_mem_form_of(insn).address_32, wide, &plus);                \
        uint64_t size = site->bytes, at = a[0] + plus - site->base;                                \
        if (active == UINT32_MAX && is_run(a, BYTES)) {                                            \
            if (at % BYTES || at > size || size - at < BYTES * LG_LANES) {                         \
                return m->slow(m, regs, insn, active);                                             \
            }                                                                                      \
            fetch_ahead(site, &m->last[insn->aux[1]], at, BYTES *LG_LANES, false);                 \
            memcpy(to, site->host + at, BYTES * LG_LANES);                                         \
            return true;                                                                           \
        }                                                                                          \
        if (active == UINT32_MAX && is_uniform(a)) {                                               \
            if (at % BYTES || at > size || size - at < BYTES) {                                    \
                return m->slow(m, regs, insn, active);                                             \
            }                                                                                      \
            uint##bits##_t value = *(const u##bits##_any *)(site->host + at);                      \
            for (int lane = 0; lane < LG_LANES; lane++) {                                          \
                to[lane] = value;                                                                  \
            }                                                                                      \
            return true;                                                                           \
        }                                                                                          \
        if (!find_offsets(a, site->base - plus, size, BYTES, active, offsets)) {                   \
            return m->slow(m, regs, insn, active);                                                 \
        }                                                                                          \
        const char *host = site->host;                                                             \
        if (active == UINT32_MAX) {                                                                \
            for (int lane = 0; lane < LG_LANES; lane++) {                                          \
                to[lane] = *(const u##bits##_any *)(host + offsets[lane]);                         \
            }                                                                                      \
            return true;                                                                           \
        }                                                                                          \
        for (uint32_t rest = active; rest; rest &= rest - 1) {                                     \
            int lane = __builtin_ctz(rest);                                                        \
            to[lane] = *(const u##bits##_any *)(host + offsets[lane]);                             \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool store_##bits(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active) {  \
        enum { BYTES = bits / 8 };                                                                 \
        const lg_alloc *site = m->sites[insn->aux[1]];                                             \
        const uint##bits##_t *from = (const uint##bits##_t *)(void *)(regs + insn->src[1]);        \
        uint64_t wide[LG_LANES], offsets[LG_LANES], plus;                                          \
        const uint64_t *a =                                                                        \
            addresses_of(regs, insn, lg_mem_form_of(insn).address_32, wide, &plus);                \
        uint64_t size = site->write_bytes, at = a[0] + plus - site->base;                          \
        if (active == UINT32_MAX && is_run(a, BYTES)) {                                            \
            if (at % BYTES || at > size || size - at < BYTES * LG_LANES) {                         \
                return m->slow(m, regs, insn, active);                                             \
            }                                                                                      \
            fetch_ahead(site, &m->last[insn->aux[1]], at, BYTES *LG_LANES, true);                  \
            memcpy(site->host + at, from, BYTES * LG_LANES);                                       \
            return true;                                                                           \
        }                                                                                          \
        if (!find_offsets(a, site->base - plus, size, BYTES, active, offsets)) {                   \
            return m->slow(m, regs, insn, active);                                                 \
        }                                                                                          \
        char *host = site->host;                                                                   \
        for (uint32_t rest = active; rest; rest &= rest - 1) {                                     \
            int lane = __builtin_ctz(rest);                                                        \
            *(u##bits##_any *)(host + offsets[lane]) = from[lane];                                 \
        }                                                                                          \
        return true;                                                                               \
    }

DEFINE_ACCESS(16)
DEFINE_ACCESS(32)
DEFINE_ACCESS(64)

// One element of a vector or of another width than its register, for the lanes of `active`.
#define LOAD_LOOP(memory_type, reg_type)                                                           \
    do {                                                                                           \
        reg_type *slot = (reg_type *)(void *)to;                                                   \
        for (uint32_t rest = active; rest; rest &= rest - 1) {                                     \
            int lane = __builtin_ctz(rest);                                                        \
            memory_type value;                                                                     \
            memcpy(&value, host + offsets[lane], sizeof value);                                    \
            slot[lane] = (reg_type)value;                                                          \
        }                                                                                          \
    } while (0)

#define LOAD_WIDER(signed_type, unsigned_type, reg_type)                                           \
    do {                                                                                           \
        if (sign) {                                                                                \
            LOAD_LOOP(signed_type, reg_type);                                                      \
        } else {                                                                                   \
            LOAD_LOOP(unsigned_type, reg_type);                                                    \
        }                                                                                          \
    } while (0)

static void load_element(char *to, uint32_t reg_bytes, const char *host, const uint64_t *offsets,
                         uint32_t bytes, bool sign, uint32_t active) {
    switch (bytes * 16 + reg_bytes) {
    case 0x12:
        LOAD_WIDER(int8_t, uint8_t, uint16_t);
        break;
    case 0x14:
        LOAD_WIDER(int8_t, uint8_t, uint32_t);
        break;
    case 0x18:
        LOAD_WIDER(int8_t, uint8_t, uint64_t);
        break;
    case 0x22:
        LOAD_LOOP(uint16_t, uint16_t);
        break;
    case 0x24:
        LOAD_WIDER(int16_t, uint16_t, uint32_t);
        break;
    case 0x28:
        LOAD_WIDER(int16_t, uint16_t, uint64_t);
        break;
    case 0x44:
        LOAD_LOOP(uint32_t, uint32_t);
        break;
    case 0x48:
        LOAD_WIDER(int32_t, uint32_t, uint64_t);
        break;
    case 0x88:
        LOAD_LOOP(uint64_t, uint64_t);
        break;
    default: // the decoder lets no other pair through
        break;
    }
}

#define STORE_LOOP(memory_type)                                                                    \
    for (uint32_t rest = active; rest; rest &= rest - 1) {                                         \
        int lane = __builtin_ctz(rest);                                                            \
        memory_type value;                                                                         \
        memcpy(&value, from + (uint32_t)lane * reg_bytes, sizeof value);                           \
        memcpy(host + offsets[lane], &value, sizeof value);                                        \
    }

static void store_element(const char *from, uint32_t reg_bytes, char *host, const uint64_t *offsets,
                          uint32_t bytes, uint32_t active) {
    if (bytes == 1) {
        STORE_LOOP(uint8_t)
    } else if (bytes == 2) {
        STORE_LOOP(uint16_t)
    } else if (bytes == 4) {
        STORE_LOOP(uint32_t)
    } else {
        STORE_LOOP(uint64_t)
    }
}

static bool access_any(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active,
                       bool store) {
    lg_mem_form form = lg_mem_form_of(insn);
    const lg_alloc *site = m->sites[insn->aux[1]];
    uint64_t wide[LG_LANES], offsets[LG_LANES], plus;
    const uint64_t *a = addresses_of(regs, insn, form.address_32, wide, &plus);
    uint64_t size = store ? site->write_bytes : site->bytes;
    if (!find_offsets(a, site->base - plus, size, (uint64_t)form.bytes * form.vec, active,
                      offsets)) {
        return m->slow(m, regs, insn, active);
    }
    for (uint32_t i = 0; i < form.vec; i++) {
        char *host = site->host + i * form.bytes;
        if (store) {
            store_element(regs + insn->src[1 + i], form.reg_bytes, host, offsets, form.bytes,
                          active);
        } else {
            load_element(regs + insn->dst[i], form.reg_bytes, host, offsets, form.bytes, form.sign,
                         active);
        }
    }
    return true;
}

static bool load_any(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active) {
    return access_any(m, regs, insn, active, false);
}

static bool store_any(lg_mem_state *m, char *regs, const lg_insn *insn, uint32_t active) {
    return access_any(m, regs, insn, active, true);
}

const lg_mem_table LG_ISA_NAME(lg_mem_table) = {
    {load_16, load_32, load_64, load_any, store_16, store_32, store_64, store_any},
    LG_ISA_NAME(lg_survey)};
