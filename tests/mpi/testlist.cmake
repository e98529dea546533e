# The rows. Unless a row says otherwise the library is preloaded into two
# ranks, and the run must end with status 0.

set(summary ENV MPIX_GDS_SUMMARY=rank0)

# Ordinary programs.
mgds_mpi_test(everyday PROGRAM everyday EXPECT "everyday: all well")
mgds_mpi_test(everyday_counted PROGRAM everyday ${summary}
  EXPECT "everyday: all well" "summary: .*Isend 2[ ,;].*"
  LINES "1:summary:")
mgds_mpi_test(everyday_alone PROGRAM everyday RANKS 1)
mgds_mpi_test(everyday_three PROGRAM everyday RANKS 3)
mgds_mpi_test(everyday_switched_off PROGRAM everyday ENV MPIX_GDS_ENABLE=no)
mgds_mpi_test(everyday_says_nothing PROGRAM everyday REFUSE "mpix-gds")
mgds_mpi_test(romio_calls_come_through PROGRAM everyday
  ARGS --io ${MGDS_TEST_DIR}/romio.dat ${summary}
  EXPECT "everyday: all well")

# Fortran.
foreach(binding mpif use f08)
  mgds_mpi_test(fortran_${binding} PROGRAM ${MGDS_TEST_DIR}/fortran_${binding}
    ${summary} EXPECT "fortran: all well" "summary: .*Allreduce 1")
endforeach()

# How an MPI gets into a process.
mgds_mpi_test(rtld_local PROGRAM rtld_local ARGS $<TARGET_FILE:test_module>
  ${summary} EXPECT "rtld_local: all well" "summary: .*Sendrecv 1")
mgds_mpi_test(dlopen_handle PROGRAM dlopen_handle
  EXPECT "dlopen_handle: all well")
mgds_mpi_test(dlopen_handle_mixed PROGRAM dlopen_handle ARGS --mixed
  EXPECT "dlopen_handle: all well")

# Other tools, above and below: each call once for everyone.
foreach(order "test_tool;mpix_gds" "mpix_gds;test_tool")
  string(REPLACE ";" "_over_" name "${order}")
  mgds_mpi_test(${name} PROGRAM everyday PRELOAD ${order} ${summary}
    EXPECT "tool: 2 sends, 2 receives, 2 allreduces"
      "summary: .*Irecv 2[ ,;]"
    LINES "1:summary:")
endforeach()

mgds_mpi_test(sessions PROGRAM sessions ${summary}
  EXPECT "sessions: all well" "summary: .*Session_init 2[ ,;]"
  LINES "1:summary:")
mgds_mpi_test(threads PROGRAM threads EXPECT "threads: all well")
mgds_mpi_test(threads_counted PROGRAM threads ${summary}
  EXPECT "summary: .*Send 800[ ,;]")
mgds_mpi_test(threads_traced PROGRAM threads
  ENV MPIX_GDS_TRACE=yes MPIX_GDS_TRACE_FILE=/dev/null
  EXPECT "threads: all well")
mgds_mpi_test(pmpi_callers PROGRAM pmpi_callers ${summary}
  EXPECT "pmpi_callers: all well" "summary: .*Irecv 1[ ,;]")
mgds_mpi_test(jump_out PROGRAM jump_out ${summary}
  EXPECT "jump_out: all well" "summary: .*Ssend 3[ ,;]")

# The pointer test.
mgds_mpi_test(presence PROGRAM presence
  ARGS $<TARGET_FILE:empty_plugin> $<TARGET_FILE:late_libcuda>
  EXPECT "presence: all well")

# Bad input.
mgds_mpi_test(bad_handles PROGRAM bad_handles EXPECT "bad_handles: all well")
mgds_mpi_test(words PROGRAM words RANKS 1 BARE
  EXPECT "words: all well" "inactive: Fake MPI" LINES "1:mpix-gds")
mgds_mpi_test(no_mpi PROGRAM no_mpi RANKS 1
  EXPECT "no_mpi: all well" "MPI_Init was called, but no library"
  LINES "1:mpix-gds")
mgds_mpi_test(bad_setting PROGRAM everyday
  ENV MPIX_GDS_SUMARY=rank0 MPIX_GDS_LOG_LEVEL=loud
  EXPECT "MPIX_GDS_SUMARY.*MPIX_GDS_SUMMARY" "MPIX_GDS_LOG_LEVEL.*loud"
    "everyday: all well")
mgds_mpi_test(required_transport_is_unknown PROGRAM everyday RANKS 1
  ENV MPIX_GDS_REQUIRE=p2q EXIT 15
  EXPECT "MPIX_GDS_REQUIRE is .p2q., must be" REFUSE "all well")
# Messages in host memory are not concerned.
mgds_mpi_test(required_of_host_memory PROGRAM everyday
  ENV MPIX_GDS_REQUIRE=p2p EXPECT "everyday: all well")

# Open MPI: handles are pointers. Inert, one line a job, results as without us.
find_program(MGDS_OMPI_CC mpicc.openmpi)
find_program(MGDS_OMPI_EXEC mpiexec.openmpi)
if(MGDS_OMPI_CC AND MGDS_OMPI_EXEC)
  set(output ${MGDS_TEST_DIR}/everyday_openmpi)
  add_custom_command(OUTPUT ${output} DEPENDS everyday.c
    COMMAND ${MGDS_OMPI_CC} -D_GNU_SOURCE -I${PROJECT_SOURCE_DIR} -o ${output}
      ${CMAKE_CURRENT_SOURCE_DIR}/everyday.c VERBATIM)
  add_custom_target(openmpi_programs ALL DEPENDS ${output})
  mgds_mpi_test(openmpi_is_left_alone PROGRAM ${output} LABEL all BARE
    MPIEXEC ${MGDS_OMPI_EXEC}
    EXPECT "everyday: all well" "inactive: Open MPI v4" LINES "1:mpix-gds")
endif()

# Other programs, preloaded: inert, and the library is inherited by the ranks.
mgds_mpi_test(inherited_through_bash_numactl_python
  PROGRAM ${CMAKE_CURRENT_SOURCE_DIR}/inherit.sh ARGS $<TARGET_FILE:everyday>
  ${summary} EXPECT "everyday: all well" LINES "1:summary:")
if(NOT MGDS_SANITIZE) # mpiexec itself has no sanitizer's runtime
  add_test(NAME mpi/preloaded_mpiexec COMMAND ${CMAKE_COMMAND} -E env
    LD_PRELOAD=$<TARGET_FILE:mpix_gds> MPIX_GDS_SUMMARY=rank0
    ${MGDS_MPIEXEC} -n 2 $<TARGET_FILE:pmpi_callers>)
  mgds_test_properties(mpi/preloaded_mpiexec quick 60)
  set_tests_properties(mpi/preloaded_mpiexec PROPERTIES
    PASS_REGULAR_EXPRESSION "summary: calls 8,")
endif()

# What it costs, and that it does not show. Not in sanitizer builds, whose
# instructions and system calls are not the product's.
find_program(MGDS_VALGRIND valgrind)
find_program(MGDS_STRACE strace)
if(NOT MGDS_SANITIZE)
  set(self ${CMAKE_CURRENT_SOURCE_DIR})
  if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    mgds_callgrind_test(instructions instructions.py calls 300)
    mgds_callgrind_test(host_instructions host_instructions.py host_calls 320
      --cuda ${MGDS_SIM_OUTPUT_DIRECTORY})
    # Its limits are those of the compiler that makes the product.
    mgds_release_only(mpi/host_instructions)
  endif()
  foreach(case "alone=/bin/true" "job=$<TARGET_FILE:everyday>")
    string(REGEX MATCH "^([a-z]+)=(.*)$" _ "${case}")
    add_test(NAME mpi/invisible_${CMAKE_MATCH_1} COMMAND ${MGDS_PYTHON}
      ${self}/invisible.py --strace ${MGDS_STRACE} --mpiexec ${MGDS_MPIEXEC}
      --library $<TARGET_FILE:mpix_gds> --sim $<TARGET_FILE:mpix_sim_mpi>
      --${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    mgds_test_properties(mpi/invisible_${CMAKE_MATCH_1} quick 120)
  endforeach()
endif()
