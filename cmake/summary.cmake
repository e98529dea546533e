# One line a choice, at the end of the configure step.
message(STATUS "mpix-gds ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, "
  "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}")
message(STATUS "  MPI         ${MGDS_MPICC}")
message(STATUS "  sanitizers  ${MGDS_SANITIZE}")
message(STATUS "  CUDA        ${MGDS_CUDA_STATE}")
