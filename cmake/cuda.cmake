# Finds a CUDA toolkit and offers to the other folders, either may be empty:
#   MGDS_NVCC          the compiler, proved to make code for every GPU of
#                      MGDS_CUDA_ARCHITECTURES
#   MGDS_CUDA_INCLUDE  the folder of cuda.h
#   MGDS_CUDA_STATE    a line for the summary: which toolkit, or why none
# Also a script: `cmake -P cmake/cuda.cmake` prints the toolkit's folder.
#
# MGDS_CUDA_HOME (variable or environment) names the toolkit, or is "none".
set(MGDS_CUDA_MINIMUM 13.0)
set(MGDS_CUDA_ARCHITECTURES 75 80 90 100)
get_filename_component(mgds_cuda_top "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)

# Folders to try, best first; the last is what tools/setup/cuda.sh fetches.
function(mgds_cuda_roots out)
  set(home "$ENV{MGDS_CUDA_HOME}")
  if(MGDS_CUDA_HOME)
    set(home "${MGDS_CUDA_HOME}")
  endif()
  if(home STREQUAL "none")
    set(${out} "" PARENT_SCOPE)
    return()
  elseif(home)
    set(${out} "${home}" PARENT_SCOPE)
    return()
  endif()
  set(roots "")
  find_program(path_nvcc nvcc NO_CACHE)
  if(path_nvcc)
    file(REAL_PATH "${path_nvcc}" path_nvcc)
    cmake_path(GET path_nvcc PARENT_PATH bin)
    cmake_path(GET bin PARENT_PATH root)
    list(APPEND roots "${root}")
  endif()
  foreach(root "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda)
    if(root)
      list(APPEND roots "${root}")
    endif()
  endforeach()
  file(GLOB wheels
    "${mgds_cuda_top}/.venv/lib/python*/site-packages/nvidia/cu13")
  list(APPEND roots ${wheels})
  set(${out} "${roots}" PARENT_SCOPE)
endfunction()

# Sets ${out} to the version of the toolkit in `root`, empty if it is none or
# incomplete (a download that was cut off).
function(mgds_cuda_version out root)
  set(${out} "" PARENT_SCOPE)
  if(NOT EXISTS "${root}/bin/nvcc" OR NOT EXISTS "${root}/include/cuda.h")
    return()
  endif()
  file(STRINGS "${root}/include/cuda.h" line
    REGEX "^#define CUDA_VERSION +[0-9]+" LIMIT_COUNT 1)
  if(line MATCHES "([0-9]+)([0-9][0-9])[0-9]$")
    math(EXPR minor "${CMAKE_MATCH_2}")
    set(${out} "${CMAKE_MATCH_1}.${minor}" PARENT_SCOPE)
  endif()
endfunction()

# Sets MGDS_CUDA_ROOT to the first toolkit that is new enough.
function(mgds_cuda_find)
  mgds_cuda_roots(roots)
  set(MGDS_CUDA_ROOT "" PARENT_SCOPE)
  set(MGDS_CUDA_STATE "none: no GPU kernels" PARENT_SCOPE)
  foreach(root IN LISTS roots)
    mgds_cuda_version(version "${root}")
    if(version VERSION_GREATER_EQUAL MGDS_CUDA_MINIMUM)
      set(MGDS_CUDA_ROOT "${root}" PARENT_SCOPE)
      set(MGDS_CUDA_STATE "${version} in ${root}" PARENT_SCOPE)
      return()
    elseif(version)
      set(MGDS_CUDA_STATE "none: ${root} is ${version}, \
${MGDS_CUDA_MINIMUM} is needed" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Compiles the probe once for each compiler; MGDS_NVCC is set if it works.
function(mgds_cuda_probe)
  set(nvcc "${MGDS_CUDA_ROOT}/bin/nvcc")
  set(MGDS_NVCC "" PARENT_SCOPE)
  if(NOT MGDS_CUDA_PROVED STREQUAL nvcc)
    foreach(arch IN LISTS MGDS_CUDA_ARCHITECTURES)
      list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
    endforeach()
    execute_process(
      COMMAND "${nvcc}" ${codes} -fatbin
        -o "${CMAKE_BINARY_DIR}/cuda-probe.fatbin"
        "${mgds_cuda_top}/tools/setup/cuda-probe.cu"
      RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT status EQUAL 0)
      message(WARNING "${nvcc} cannot compile, GPU kernels are left out:\n"
        "${said}")
      set(MGDS_CUDA_STATE "headers only: nvcc of ${MGDS_CUDA_ROOT} fails"
        PARENT_SCOPE)
      return()
    endif()
    set(MGDS_CUDA_PROVED "${nvcc}" CACHE INTERNAL "nvcc that compiled the probe")
  endif()
  set(MGDS_NVCC "${nvcc}" PARENT_SCOPE)
endfunction()

mgds_cuda_find()
if(CMAKE_SCRIPT_MODE_FILE)
  if(MGDS_CUDA_ROOT)
    execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${MGDS_CUDA_ROOT}")
  endif()
  return()
endif()

set(MGDS_NVCC "")
set(MGDS_CUDA_INCLUDE "")
if(MGDS_CUDA_ROOT)
  set(MGDS_CUDA_INCLUDE "${MGDS_CUDA_ROOT}/include")
  mgds_cuda_probe()
endif()
