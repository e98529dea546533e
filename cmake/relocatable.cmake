# A build or an installation can be moved: programs find libraries relative to
# themselves. One layout everywhere: bin/ and lib/ side by side.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
