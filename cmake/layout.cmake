# Where things lie. A build tree is laid out as an installation is, programs
# find libraries and each other relative to themselves, and nothing holds an
# absolute path: either can be moved as a whole.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/static)
set(MGDS_SIM_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/mpix-gds/sim)
set(MGDS_BENCH_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/mpix-gds)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# Stand-ins under names of others (libcuda.so.1) stay out of the loader's way.
set(MGDS_INSTALL_SIMDIR ${CMAKE_INSTALL_LIBDIR}/mpix-gds/sim)
set(MGDS_INSTALL_BENCHDIR ${CMAKE_INSTALL_LIBEXECDIR}/mpix-gds)

file(RELATIVE_PATH MGDS_LIB_FROM_BIN
  /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
file(RELATIVE_PATH MGDS_BENCH_FROM_BIN
  /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${MGDS_INSTALL_BENCHDIR})
file(RELATIVE_PATH MGDS_LIB_FROM_BENCH
  /prefix/${MGDS_INSTALL_BENCHDIR} /prefix/${CMAKE_INSTALL_LIBDIR})

# Before 1.0 a minor version may change the interface, so it is in the SONAME.
set(MGDS_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(MGDS_LIBRARY_NAME libmpix_gds.so.${MGDS_SOVERSION})
