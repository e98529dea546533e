# Folders that an installation makes, for the target uninstall. To be included
# ahead of every rule of install(): the script runs first.
set(MGDS_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mpix-gds)
set(MGDS_OLD_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mpix_gds)
set(MGDS_INSTALL_FOLDERS
  ${CMAKE_INSTALL_BINDIR} ${MGDS_INSTALL_SIMDIR} ${MGDS_INSTALL_BENCHDIR}
  ${MGDS_PACKAGE_DIR} ${MGDS_OLD_PACKAGE_DIR}
  ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_INCLUDEDIR}/mpix_gds
  ${CMAKE_INSTALL_DATADIR}/mpix-gds ${CMAKE_INSTALL_DOCDIR}/docs/images
  ${CMAKE_INSTALL_DOCDIR}/docs/guide ${CMAKE_INSTALL_DOCDIR}/examples/jacobi)
string(REPLACE ";" " " MGDS_INSTALL_FOLDERS "${MGDS_INSTALL_FOLDERS}")
configure_file(cmake/folders.cmake.in
  ${CMAKE_BINARY_DIR}/package/folders.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/package/folders.cmake)
