# Programs that hand GPU memory to MPI, on the software GPU.
add_library(gpu_case STATIC gpu/gpu_case.c)
target_link_libraries(gpu_case PUBLIC mgds_test_gpu mpich::c)
foreach(program requests errors datatypes partitions handed_on)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${program}.c)
    mgds_program(gpu_${program} SOURCES gpu/${program}.c
      LIBS gpu_case Threads::Threads)
  endif()
endforeach()

set(soft LD_LIBRARY_PATH=${MGDS_SIM_OUTPUT_DIRECTORY} MPIX_SIM_GPUS=2)
set(late MPIX_SIM_DELAY=300)

foreach(ranks 1 2 3)
  mgds_mpi_test(gpu_requests_${ranks} PROGRAM gpu_requests RANKS ${ranks}
    ENV ${soft} ${late} MPIX_SIM_SEED=${ranks}
    EXPECT "requests: all well")
endforeach()
mgds_mpi_test(gpu_errors PROGRAM gpu_errors RANKS 1 ENV ${soft}
  EXPECT "errors: all well" "buffer in GPU memory was freed"
    "one-sided communication")
mgds_mpi_test(gpu_errors_late PROGRAM gpu_errors RANKS 1 ENV ${soft} ${late}
  EXPECT "errors: all well")
mgds_mpi_test(gpu_datatypes PROGRAM gpu_datatypes RANKS 1 ENV ${soft}
  EXPECT "datatypes: all well")
