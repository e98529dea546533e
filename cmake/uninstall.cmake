# Takes back what `cmake --install` did last from this build tree, as a script:
#   cmake -DMGDS_BUILD=<build tree> -P cmake/uninstall.cmake
# Removes the files of install_manifest.txt, then the folders that were made for
# them (install_folders.txt, by cmake/folders.cmake) and are empty now. DESTDIR
# is heeded as by an installation.
cmake_minimum_required(VERSION 3.25)
set(manifest ${MGDS_BUILD}/install_manifest.txt)
set(folders ${MGDS_BUILD}/install_folders.txt)

if(NOT EXISTS ${manifest})
  message(FATAL_ERROR "${manifest} is not there: nothing was installed from "
    "this build tree, or it is uninstalled already")
endif()
file(STRINGS ${manifest} files)
set(removed 0)
foreach(file IN LISTS files)
  # A link that leads nowhere is there, too.
  if(EXISTS "$ENV{DESTDIR}${file}" OR IS_SYMLINK "$ENV{DESTDIR}${file}")
    file(REMOVE "$ENV{DESTDIR}${file}")
    math(EXPR removed "${removed} + 1")
  endif()
endforeach()
if(removed EQUAL 0)
  message(FATAL_ERROR "nothing of ${manifest} is there: an installation that "
    "was moved is removed as a folder")
endif()

set(made "")
if(EXISTS ${folders})
  file(STRINGS ${folders} made)
endif()
# Deepest first: a path sorts behind what it lies in.
list(SORT made ORDER DESCENDING)
foreach(folder IN LISTS made)
  # rmdir cannot remove what is not empty, whatever characters its name has.
  execute_process(COMMAND rmdir -- "${folder}" OUTPUT_QUIET ERROR_QUIET)
endforeach()
file(REMOVE ${manifest} ${folders})
message(STATUS "${removed} files removed")
