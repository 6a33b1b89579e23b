# SPDX-License-Identifier: Apache-2.0
# Vector code is compiled once for each instruction set the host may have; lane/lane.c picks a table at start by
# what the CPU reports, so one binary runs everywhere. Included by harness/CMakeLists.txt.

file(GLOB lg_vector_code CONFIGURE_DEPENDS engine/sim/lane/*.c engine/sim/memory/vector.c engine/sim/memory/survey.c)
list(REMOVE_ITEM lg_vector_code ${CMAKE_CURRENT_SOURCE_DIR}/engine/sim/lane/lane.c)

# lg_part_vector_code(SOURCES VECTOR): takes those files out of the list.
function(lg_part_vector_code sources_var vector_var)
  set(vector ${${sources_var}})
  set(plain ${${sources_var}})
  list(REMOVE_ITEM plain ${lg_vector_code})
  if(plain)
    list(REMOVE_ITEM vector ${plain})
  endif()
  set(${sources_var} ${plain} PARENT_SCOPE)
  set(${vector_var} ${vector} PARENT_SCOPE)
endfunction()

# Vector code needs -O3 in every build type, and the arithmetic is exactly what is written: no
# contraction, no reassociation. -fno-trapping-math only says that nobody reads exception flags.
# Debug information of thousands of generated loops would triple the objects and tell nobody anything.
set(lane_options -O3 -g0 -fno-trapping-math -fno-math-errno -ffp-contract=off)
if(CMAKE_C_COMPILER_ID MATCHES Clang)
  list(APPEND lane_options -Wno-pass-failed)
endif()

# The same source makes all three. Under a sanitizer the baseline is checked in full and the others stay
# fast, so that a whole run under sanitizers, which takes the best table, does not take hours.
set(lane_unchecked "")
if(LG_SANITIZE)
  set(lane_unchecked -fno-sanitize=all)
endif()
set(lane_baseline "")
set(lane_avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt)
set(lane_avx512 ${lane_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512cd -mprefer-vector-width=512
    ${lane_unchecked})
list(APPEND lane_avx2 ${lane_unchecked})

# lg_add_vector_code(TARGET files…)
function(lg_add_vector_code target)
  foreach(isa baseline avx2 avx512)
    string(TOUPPER ${isa} number)
    add_library(${target}_${isa} OBJECT ${ARGN})
    target_compile_definitions(${target}_${isa} PRIVATE LG_ISA=${isa} LG_ISA_NUMBER=LG_ISA_${number})
    target_compile_options(${target}_${isa} PRIVATE ${lane_options} ${lane_${isa}})
    target_include_directories(${target}_${isa} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
