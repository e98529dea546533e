# How a test is declared. Every test has one label that says when it runs:
#   quick  in ./check            all  in ./check --all too
#   long   in ./check --long too
# and it runs in every build, unless mgds_release_only says otherwise.
# Exit status 0 passed, 77 skipped (the last line says why), else failed.
set(MGDS_TEST_DIR ${CMAKE_BINARY_DIR}/tests)

# Runtime of the sanitizer in use: must be the first preloaded object.
if(MGDS_SANITIZE STREQUAL "address")
  set(sanitizer_runtime libasan.so)
elseif(MGDS_SANITIZE STREQUAL "thread")
  set(sanitizer_runtime libtsan.so)
endif()
set(MGDS_SANITIZER_RUNTIME "")
if(sanitizer_runtime)
  execute_process(
    COMMAND ${CMAKE_C_COMPILER} -print-file-name=${sanitizer_runtime}
    OUTPUT_VARIABLE MGDS_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
  # A bare linker script or name would preload nothing.
  get_filename_component(MGDS_SANITIZER_RUNTIME
    "${MGDS_SANITIZER_RUNTIME}" REALPATH)
endif()

# Environment of every test: sanitizers report, and stop, the same way; hardware
# queues are as many as the test says, or as there are.
set(MGDS_TEST_ENV
  "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:exitcode=66"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=exitcode=66:suppressions=${PROJECT_SOURCE_DIR}/tests/lib/tsan.supp")

# hwloc in MPI_Init reads the names of all PCI devices by realloc, line by line,
# which a sanitizer makes a second for every rank.
if(MGDS_SANITIZE)
  list(APPEND MGDS_TEST_ENV "HWLOC_COMPONENTS=-pci")
endif()

# What may take longest starts first (COST), so that no long test is left alone
# at the end while the other cores are idle.
function(mgds_test_properties name label timeout)
  set_tests_properties(${name} PROPERTIES
    LABELS "${label}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77 COST ${timeout}
    ENVIRONMENT "${MGDS_TEST_ENV};${ARGN}")
  if(NOT "${ARGN}" MATCHES "CUDA_DEVICE_MAX_CONNECTIONS=")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT_MODIFICATION "CUDA_DEVICE_MAX_CONNECTIONS=unset:")
  endif()
endfunction()

# mgds_release_only(TEST..): ./check runs these in the release build alone
# (their second label is release). Sanitizers, debug code and the other compiler
# see there what they see in a neighbour: the rows of a matrix behind the first
# that shows a behaviour, and tests that look the same from every build.
function(mgds_release_only)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS release)
endfunction()

# mgds_not_under(SANITIZER TEST..): nor in the build with that sanitizer, which
# has nothing to see in them that their neighbours do not show, and is slow.
function(mgds_not_under sanitizer)
  if(MGDS_SANITIZE STREQUAL sanitizer)
    mgds_release_only(${ARGN})
  endif()
endfunction()

# mgds_test_ranks(TEST n): it runs this many ranks. They start and wait for each
# other much of the time, and one that waits gives its core away
# (libmpix_sim_mpi.so): ctest counts two of them as one processor.
function(mgds_test_ranks name ranks)
  math(EXPR processors "(${ranks} + 1) / 2")
  set_tests_properties(${name} PROPERTIES PROCESSORS ${processors})
endfunction()

# mgds_unit_test(NAME SOURCES.. [LIBS..] [LABEL l] [TIMEOUT s])
# A cmocka program without MPI, GPU or NIC; LIBS are what it exercises.
function(mgds_unit_test name)
  cmake_parse_arguments(T "" "LABEL;TIMEOUT" "SOURCES;LIBS;ENV" ${ARGN})
  if(NOT T_LABEL)
    set(T_LABEL quick)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  add_executable(unit_${name} ${T_SOURCES})
  set_target_properties(unit_${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${MGDS_TEST_DIR})
  target_include_directories(unit_${name} SYSTEM PRIVATE ${MGDS_CMOCKA_INCLUDE})
  target_link_libraries(unit_${name} PRIVATE
    mgds_build ${T_LIBS} ${MGDS_CMOCKA_LIBRARY} Threads::Threads)
  add_test(NAME unit/${name} COMMAND unit_${name})
  mgds_test_properties(unit/${name} ${T_LABEL} ${T_TIMEOUT} ${T_ENV})
endfunction()

# mgds_program(NAME SOURCES.. [LIBS..]): a plain main used by tests.
function(mgds_program name)
  cmake_parse_arguments(P "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${P_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${MGDS_TEST_DIR})
  target_link_libraries(${name} PRIVATE mgds_build ${P_LIBS})
endfunction()

# mgds_callgrind_test(NAME SCRIPT PROGRAM SECONDS [ARGS..]): SCRIPT counts
# instructions of two ranks of the program (tests/lib/callgrind.py).
function(mgds_callgrind_test name script program seconds)
  add_test(NAME mpi/${name} COMMAND ${MGDS_PYTHON} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/${script} --mpiexec ${MGDS_MPIEXEC}
    --valgrind ${MGDS_VALGRIND} --library $<TARGET_FILE:mpix_gds>
    --sim $<TARGET_FILE:mpix_sim_mpi> --program $<TARGET_FILE:${program}>
    ${ARGN})
  mgds_test_properties(mpi/${name} quick ${seconds})
  set_tests_properties(mpi/${name} PROPERTIES PROCESSORS 2)
endfunction()

# mgds_rows(PROGRAM NAME): the program includes NAME.inc, the rows of a matrix
# that NAME.py prints (tests/lib/matrix_rows.py).
function(mgds_rows program name)
  set(rows ${CMAKE_CURRENT_BINARY_DIR}/${name}.inc)
  add_custom_command(OUTPUT ${rows}
    COMMAND ${MGDS_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py > ${rows}
    DEPENDS ${name}.py ${PROJECT_SOURCE_DIR}/tests/lib/matrix_rows.py
      ${PROJECT_SOURCE_DIR}/tests/lib/covering.py VERBATIM)
  target_sources(${program} PRIVATE ${rows})
  target_include_directories(${program} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# gfortran and its modules, as mpif90.mpich calls it.
find_program(MGDS_MPIF90 NAMES mpif90.mpich mpif90)

# mgds_fortran_program(SOURCE [LIBRARY]): a program of that name in the folder
# of the tests' programs.
function(mgds_fortran_program source)
  get_filename_component(name ${source} NAME_WE)
  set(output ${MGDS_TEST_DIR}/${name})
  set(libraries "")
  foreach(library IN LISTS ARGN)
    list(APPEND libraries $<TARGET_FILE:${library}>)
  endforeach()
  add_custom_command(OUTPUT ${output} DEPENDS ${source} ${ARGN}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${MGDS_TEST_DIR}
    COMMAND ${MGDS_MPIF90} -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      ${libraries}
    WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)
  add_custom_target(${name}_program ALL DEPENDS ${output})
endfunction()

# mgds_mpi_test(NAME PROGRAM p [ARGS ..] [RANKS n] [PRELOAD lib..] [ENV k=v..]
#   [OPTIONS of mpiexec..] [EXPECT re..] [REFUSE re..] [LINES n:re] [EXIT n]
#   [FAILS re] [MPIEXEC m] [LABEL l] [TIMEOUT s] [BARE])
# One row: a program under mpiexec and what must come of it. PRELOAD names
# targets or files, in the order of LD_PRELOAD; by default the library alone.
# The yield for few cores comes after them, unless the row is BARE. FAILS: of a
# defect that is known, which shows this line (tests/lib/known.py).
function(mgds_mpi_test name)
  cmake_parse_arguments(T "BARE" "PROGRAM;RANKS;LINES;EXIT;FAILS;MPIEXEC;LABEL;TIMEOUT"
    "ARGS;PRELOAD;ENV;EXPECT;REFUSE;OPTIONS" ${ARGN})
  foreach(default "RANKS=2" "MPIEXEC=${MGDS_MPIEXEC}" "LABEL=quick"
      "TIMEOUT=120" "EXIT=0" "PRELOAD=mpix_gds")
    string(REGEX MATCH "^([A-Z]+)=(.*)$" _ "${default}")
    if(NOT DEFINED T_${CMAKE_MATCH_1})
      set(T_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  math(EXPR inner "${T_TIMEOUT} - 5")
  set(command ${MGDS_PYTHON} ${PROJECT_SOURCE_DIR}/tests/lib/mpi_case.py
    --mpiexec ${T_MPIEXEC} --ranks ${T_RANKS} --exit ${T_EXIT}
    --timeout ${inner} --in-time)
  if(MGDS_SANITIZER_RUNTIME)
    list(APPEND command --runtime ${MGDS_SANITIZER_RUNTIME})
  endif()
  if(NOT T_BARE)
    list(APPEND T_PRELOAD mpix_sim_mpi)
  endif()
  foreach(library IN LISTS T_PRELOAD)
    if(TARGET ${library})
      set(library $<TARGET_FILE:${library}>)
    endif()
    list(APPEND command --preload ${library})
  endforeach()
  foreach(option ENV EXPECT REFUSE)
    string(TOLOWER "${option}" flag)
    foreach(value IN LISTS T_${option})
      list(APPEND command --${flag} ${value})
    endforeach()
  endforeach()
  foreach(value IN LISTS T_OPTIONS)
    list(APPEND command --option=${value})
  endforeach()
  if(T_LINES)
    list(APPEND command --lines ${T_LINES})
  endif()
  if(T_FAILS)
    list(APPEND command --fails ${T_FAILS})
  endif()
  if(TARGET ${T_PROGRAM})
    set(T_PROGRAM $<TARGET_FILE:${T_PROGRAM}>)
  endif()
  add_test(NAME mpi/${name}
    COMMAND ${command} -- ${T_PROGRAM} ${T_ARGS})
  mgds_test_properties(mpi/${name} ${T_LABEL} ${T_TIMEOUT})
  mgds_test_ranks(mpi/${name} ${T_RANKS})
endfunction()
