# A build tree can be moved as an installation can: programs of it find
# libraries of it relative to themselves. What is installed links none of ours.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
