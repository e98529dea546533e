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
option(MGDS_FAULT "compile the fault hook in (tests of failure paths)" OFF)
