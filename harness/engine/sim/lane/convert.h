// SPDX-License-Identifier: Apache-2.0
// The integer sides of cvt. A source or destination may sit in a register wider than its type: the
// source is its low bits, the destination is extended by its own signedness.
#ifndef LG_ENGINE_SIM_LANE_CONVERT_H
#define LG_ENGINE_SIM_LANE_CONVERT_H

#include "engine/sim/lane/half.h"

// LANE_INT_PLACES(X, …): X(id, slot's type, type, …)
#define LANE_INT_PLACES(X, ...)                                                                    \
    X(u8_2, u16, u8, __VA_ARGS__)                                                                  \
    X(u8_4, u32, u8, __VA_ARGS__)                                                                  \
    X(u8_8, u64, u8, __VA_ARGS__)                                                                  \
    X(s8_2, u16, s8, __VA_ARGS__)                                                                  \
    X(s8_4, u32, s8, __VA_ARGS__)                                                                  \
    X(s8_8, u64, s8, __VA_ARGS__)                                                                  \
    X(u16_2, u16, u16, __VA_ARGS__)                                                                \
    X(u16_4, u32, u16, __VA_ARGS__)                                                                \
    X(u16_8, u64, u16, __VA_ARGS__)                                                                \
    X(s16_2, u16, s16, __VA_ARGS__)                                                                \
    X(s16_4, u32, s16, __VA_ARGS__)                                                                \
    X(s16_8, u64, s16, __VA_ARGS__)                                                                \
    X(u32_4, u32, u32, __VA_ARGS__)                                                                \
    X(u32_8, u64, u32, __VA_ARGS__)                                                                \
    X(s32_4, u32, s32, __VA_ARGS__)                                                                \
    X(s32_8, u64, s32, __VA_ARGS__)                                                                \
    X(u64_8, u64, u64, __VA_ARGS__)                                                                \
    X(s64_8, u64, s64, __VA_ARGS__)

enum { LANE_N_INT_PLACES = 18 };

// The row of a type in a slot of `bytes`; -1 when there is none.
LANE_INLINE int lane_int_place(lg_ptx_type type, int bytes) {
    int width = bytes == 2 ? 0 : bytes == 4 ? 1 : bytes == 8 ? 2 : -1;
    if (width < 0) {
        return -1;
    }
    return type == LG_PTX_U8                 ? width
           : type == LG_PTX_S8               ? 3 + width
           : type == LG_PTX_U16              ? 6 + width
           : type == LG_PTX_S16              ? 9 + width
           : type == LG_PTX_U32 && width > 0 ? 11 + width
           : type == LG_PTX_S32 && width > 0 ? 13 + width
           : type == LG_PTX_U64 && width > 1 ? 16
           : type == LG_PTX_S64 && width > 1 ? 17
                                             : -1;
}

#define LANE_LEAST_u8 0
#define LANE_LEAST_s8 INT8_MIN
#define LANE_LEAST_u16 0
#define LANE_LEAST_s16 INT16_MIN
#define LANE_LEAST_u32 0
#define LANE_LEAST_s32 INT32_MIN
#define LANE_LEAST_u64 0
#define LANE_LEAST_s64 INT64_MIN
#define LANE_MOST_u8 UINT8_MAX
#define LANE_MOST_s8 INT8_MAX
#define LANE_MOST_u16 UINT16_MAX
#define LANE_MOST_s16 INT16_MAX
#define LANE_MOST_u32 UINT32_MAX
#define LANE_MOST_s32 INT32_MAX
#define LANE_MOST_u64 UINT64_MAX
#define LANE_MOST_s64 INT64_MAX

#endif
