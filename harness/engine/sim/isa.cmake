# SPDX-License-Identifier: Apache-2.0
# lane/*.c is compiled once for each instruction set the host may have; lane.c picks a table at start
# by what the CPU reports, so one binary runs everywhere. Included by harness/CMakeLists.txt.

file(GLOB lane_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/engine/sim/lane/*.c)

# Vector code needs -O3 in every build type, and the arithmetic is exactly what is written: no
# contraction, no reassociation. -fno-trapping-math only says that nobody reads exception flags.
# Debug information of thousands of generated loops would triple the objects and tell nobody anything.
set(lane_options -O3 -g0 -fno-trapping-math -fno-math-errno -ffp-contract=off)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  list(APPEND lane_options -Wno-pass-failed)
endif()

# lg_add_lane_isa(NAME options…)
function(lg_add_lane_isa name)
  add_library(lg_lane_${name} OBJECT ${lane_sources})
  target_compile_definitions(lg_lane_${name} PRIVATE LG_ISA=${name} LG_LANE_ISA="${name}")
  target_compile_options(lg_lane_${name} PRIVATE ${lane_options} ${ARGN})
  target_include_directories(lg_lane_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_sources(lg_engine_sim PRIVATE $<TARGET_OBJECTS:lg_lane_${name}>)
endfunction()

# The same source makes all three. Under a sanitizer the baseline is checked in full and the others stay
# fast, so that a whole run under sanitizers, which takes the best table, does not take hours.
set(lane_unchecked "")
if(LG_SANITIZE)
  set(lane_unchecked -fno-sanitize=all)
endif()
set(lane_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt)
lg_add_lane_isa(baseline)
lg_add_lane_isa(avx2 ${lane_avx2} ${lane_unchecked})
lg_add_lane_isa(avx512 ${lane_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512cd
                -mprefer-vector-width=512 ${lane_unchecked})
