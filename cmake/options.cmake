# What a builder may choose. Presets (CMakePresets.json) set the usual mixes.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

set(MGDS_SANITIZE "" CACHE STRING
  "sanitizers to build with: empty, address (with undefined) or thread")
set_property(CACHE MGDS_SANITIZE PROPERTY STRINGS "" address thread)
set(MGDS_KERNEL_IMAGES "" CACHE PATH
  "another build of this tree, whose device code is taken")
option(MGDS_TESTS "build the tests" ON)
option(MGDS_BENCHMARKS "build the benchmarks and mpix-gds-bench" ON)
option(MGDS_WERROR "warnings are errors" OFF)
# A warm call goes through 150 short functions of 60 files: put together at link
# time it takes an eighth fewer instructions (results/2026-11-26-marks).
set(lto OFF)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT MGDS_SANITIZE
    AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(lto ON)
endif()
option(MGDS_LTO "optimize the library as a whole, at link time (GCC)" ${lto})
option(MGDS_FAULT "compile the fault hook in (tests of failure paths)" OFF)
