# The outside world, found once. mpich::c is Debian's MPICH whatever the plain
# name mpicc means; the shim itself takes headers only (mpich::headers) and
# opens every library at run time (docs/design.md, "doors").
find_program(MGDS_MPICC NAMES mpicc.mpich mpicc REQUIRED)

execute_process(COMMAND ${MGDS_MPICC} -show
  OUTPUT_VARIABLE mpicc_line OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(mpicc_words UNIX_COMMAND "${mpicc_line}")
set(mpich_includes ${mpicc_words})
list(FILTER mpich_includes INCLUDE REGEX "^-I")
list(TRANSFORM mpich_includes REPLACE "^-I" "")
set(mpich_link ${mpicc_words})
list(FILTER mpich_link INCLUDE REGEX "^-(L|l|Wl,)")

add_library(mpich_headers INTERFACE)
target_include_directories(mpich_headers SYSTEM INTERFACE ${mpich_includes})
add_library(mpich::headers ALIAS mpich_headers)
add_library(mpich_c INTERFACE)
target_link_libraries(mpich_c INTERFACE mpich_headers ${mpich_link})
add_library(mpich::c ALIAS mpich_c)
list(GET mpich_includes 0 MGDS_MPI_INCLUDE_DIR)

# Headers only: libucp is opened at run time.
find_path(MGDS_UCX_INCLUDE ucp/api/ucp.h REQUIRED)

# Headers only: libibverbs and libmlx5 are opened at run time. Of the software
# HCA's front, too, and of its tests.
find_path(MGDS_VERBS_INCLUDE infiniband/mlx5dv.h)
if(NOT MGDS_VERBS_INCLUDE)
  message(WARNING "no infiniband/mlx5dv.h: there will be neither InfiniBand nor "
    "a software HCA (mpix-gds-run --sim=hca); install libibverbs-dev for them")
endif()

# JSON of benchmarks and doctor; static, so that programs travel.
find_path(MGDS_JANSSON_INCLUDE jansson.h REQUIRED)
find_library(MGDS_JANSSON_LIBRARY NAMES libjansson.a jansson REQUIRED)
add_library(jansson::jansson UNKNOWN IMPORTED)
set_target_properties(jansson::jansson PROPERTIES
  IMPORTED_LOCATION ${MGDS_JANSSON_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${MGDS_JANSSON_INCLUDE})

# Static probes: nothing is linked, nothing is loaded.
find_path(MGDS_SDT_INCLUDE sys/sdt.h)

if(NOT MGDS_TESTS)
  return()
endif()
find_program(MGDS_MPIEXEC NAMES mpiexec.mpich mpiexec.hydra mpiexec REQUIRED)
find_path(MGDS_CMOCKA_INCLUDE cmocka.h)
find_library(MGDS_CMOCKA_LIBRARY cmocka)
if(NOT MGDS_CMOCKA_INCLUDE OR NOT MGDS_CMOCKA_LIBRARY)
  message(FATAL_ERROR "no cmocka, which the unit tests are written with: "
    "install libcmocka-dev, or leave the tests out (-DMGDS_TESTS=OFF)")
endif()
# Debian's own first: the python3 of PATH may be a script that looks for one,
# which every row of the tests would wait for.
find_program(MGDS_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(MGDS_PYTHON NAMES python3 REQUIRED)
