# One language level, one set of warnings, one visibility for everything here.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# Link against mgds_build to get them: programs, libraries and tests alike.
add_library(mgds_build INTERFACE)
target_compile_definitions(mgds_build INTERFACE _GNU_SOURCE
  $<$<BOOL:${MGDS_FAULT}>:MGDS_FAULT=1>)
target_compile_options(mgds_build INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes
  $<$<BOOL:${MGDS_WERROR}>:-Werror>)
target_include_directories(mgds_build INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

if(MGDS_SANITIZE STREQUAL "address")
  set(MGDS_SANITIZE_FLAGS -fsanitize=address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(MGDS_SANITIZE STREQUAL "thread")
  set(MGDS_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(MGDS_SANITIZE)
  message(FATAL_ERROR "MGDS_SANITIZE is '${MGDS_SANITIZE}': "
    "use nothing, address or thread")
endif()
target_compile_options(mgds_build INTERFACE ${MGDS_SANITIZE_FLAGS})
target_link_options(mgds_build INTERFACE ${MGDS_SANITIZE_FLAGS})

# Objects have ordinary code, too: that is what programs here are linked from,
# each in no time, and what lints read.
if(MGDS_LTO)
  set(MGDS_LTO_FLAGS -flto=auto)
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fno-lto>)
endif()
