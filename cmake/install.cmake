# What an installation holds: library, public header, pkg-config and CMake
# files, documents; tools/, sim/ and osu-extensions/ add what is theirs.
include(CMakePackageConfigHelpers)

install(TARGETS mpix_gds EXPORT mpix-gds-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Linkers of today drop a library that adds nothing (--as-needed), and behind
# ours, which defines every MPI function, that would be MPICH itself.
target_link_options(mpix_gds INTERFACE
  $<INSTALL_INTERFACE:-Wl,--no-as-needed>)

# Builds what a user gets, without the tests; ./demo needs no more.
add_custom_target(shipped)
add_dependencies(shipped mpix_gds mpix_sim_mpi mgds_sim_cuda
  mpix-gds-run mpix-gds-doctor mpix-gds-probe mpix-gds-verify-hca)
if(MGDS_BENCHMARKS)
  add_dependencies(shipped mpix-gds-bench ${MGDS_OSU_PROGRAMS})
endif()

install(FILES ${PROJECT_SOURCE_DIR}/include/mpix_gds.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/mpix_gds/mpi.h
  ${PROJECT_SOURCE_DIR}/include/mpix_gds/sim_kernel.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mpix_gds)

# find_package(mpix-gds), and the name that it had in 0.1.
install(EXPORT mpix-gds-targets NAMESPACE mpix-gds::
  DESTINATION ${MGDS_PACKAGE_DIR})
function(mgds_install_package name folder)
  set(files ${CMAKE_BINARY_DIR}/package/${name}-config)
  configure_package_config_file(cmake/${name}-config.cmake.in ${files}.cmake
    INSTALL_DESTINATION ${folder} NO_SET_AND_CHECK_MACRO)
  # As in the SONAME: before 1.0 a minor version may change the interface.
  write_basic_package_version_file(${files}-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${files}.cmake ${files}-version.cmake DESTINATION ${folder})
endfunction()
mgds_install_package(mpix-gds ${MGDS_PACKAGE_DIR})
mgds_install_package(mpix_gds ${MGDS_OLD_PACKAGE_DIR})

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DMGDS_BUILD=${CMAKE_BINARY_DIR}
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)

# From the folder of the .pc file back to the prefix.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_to_prefix /${pc_dir} /)
# A program finds the library where it was linked, unless the loader looks there
# by itself.
set(pc_rpath " -Wl,-rpath,\${libdir}")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(pc_rpath "")
endif()
configure_file(cmake/mpix-gds.pc.in
  ${CMAKE_BINARY_DIR}/package/mpix-gds.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/mpix-gds.pc DESTINATION ${pc_dir})

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg")
