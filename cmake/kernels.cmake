# Device code: one source, built for the GPU by nvcc into a fat binary that is
# embedded, and for the host by the C compiler.
#   mgds_kernel_image(TARGET SOURCE)  OBJECT library TARGET with the symbols
#     mgds_kernel_image and mgds_kernel_image_size (device/kernels.h); without
#     nvcc they are a stub that only the software GPU loads.
# MGDS_KERNEL_IMAGES names another build of this tree, whose images are taken:
# nvcc takes half a minute, and what it makes is the same in every build.
# MGDS_NVCC and MGDS_CUDA_INCLUDE come from cmake/cuda.cmake if that is there.
if(NOT DEFINED MGDS_NVCC)
  find_program(MGDS_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin
    PATHS /usr/local/cuda)
endif()
if(NOT DEFINED MGDS_CUDA_INCLUDE)
  find_path(MGDS_CUDA_INCLUDE cuda.h HINTS ENV CUDA_HOME
    PATH_SUFFIXES include PATHS /usr/local/cuda)
endif()

# For measurements, such as -DMGDS_READS_RELEASED=1 (device/impl/mem.h).
set(MGDS_NVCC_FLAGS "" CACHE STRING "more options for nvcc")
separate_arguments(nvcc_flags UNIX_COMMAND "${MGDS_NVCC_FLAGS}")

# What the GPUs are: Turing to Blackwell as code, newer ones from PTX.
set(MGDS_GPU_CODE 75 80 90 100)
set(MGDS_GPU_PTX 90)

set(nvcc_targets "")
foreach(sm ${MGDS_GPU_CODE})
  list(APPEND nvcc_targets -gencode arch=compute_${sm},code=sm_${sm})
endforeach()
foreach(sm ${MGDS_GPU_PTX})
  list(APPEND nvcc_targets -gencode arch=compute_${sm},code=compute_${sm})
endforeach()

function(mgds_kernel_image target source)
  set(dir ${CMAKE_CURRENT_BINARY_DIR})
  set(image ${dir}/${target}.image)
  get_filename_component(source ${source} ABSOLUTE)
  file(RELATIVE_PATH made ${CMAKE_BINARY_DIR} ${image})
  set(made "${MGDS_KERNEL_IMAGES}/${made}")
  if(MGDS_NVCC AND MGDS_KERNEL_IMAGES AND EXISTS "${made}")
    add_custom_command(OUTPUT ${image}
      COMMAND ${CMAKE_COMMAND} -E copy ${made} ${image}
      DEPENDS ${made} VERBATIM)
  elseif(MGDS_NVCC)
    add_custom_command(OUTPUT ${image}
      COMMAND ${MGDS_NVCC} -fatbin ${nvcc_targets} -std=c++17 -O3
        -x cu -I ${PROJECT_SOURCE_DIR} -Xcompiler -Wall --Werror all-warnings
        ${nvcc_flags}
        -MD -MF ${image}.d -MT ${image} -o ${image} ${source}
      DEPENDS ${source} DEPFILE ${image}.d VERBATIM
      COMMENT "nvcc ${target}")
  else()
    file(CONFIGURE OUTPUT ${image} @ONLY CONTENT
      "// no nvcc when this was built: host-compiled kernels only
.version 8.0
.target sm_90
.address_size 64
")
  endif()
  set(MGDS_IMAGE ${image})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/image.S.in ${dir}/${target}.S
    @ONLY)
  set_source_files_properties(${dir}/${target}.S PROPERTIES
    OBJECT_DEPENDS ${image})
  add_library(${target} OBJECT ${dir}/${target}.S)
endfunction()
