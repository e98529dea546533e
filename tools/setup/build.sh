# Configuring and building one configuration of the tree.
# shellcheck shell=bash

# build_folder CONFIG: where it is built.
build_folder()
{
    case $1 in
    release) printf '%s\n' "$top/build" ;;
    *) printf '%s\n' "$top/build-$1" ;;
    esac
}

# configure CONFIG ARG..: CONFIG is a preset, or clang (the release preset
# with the other compiler). A tree that was moved, or whose compiler went
# away, is configured from scratch.
configure()
{
    local config=$1 folder preset=$1 args=()
    shift
    folder=$(build_folder "$config")
    if [ "$config" = clang ]; then
        preset=release
        # valgrind 3.19 cannot read the DWARF 5 of clang 14.
        args+=(-DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS=-gdwarf-4)
    fi
    if [ -f "$folder/CMakeCache.txt" ] && ! cache_is_ours "$folder"; then
        args+=(--fresh)
    fi
    (cd "$top" && cmake --preset "$preset" -B "$folder" "${args[@]}" "$@")
}

cache_is_ours()
{
    local home compiler
    home=$(cache_value "$1" CMAKE_HOME_DIRECTORY)
    compiler=$(cache_value "$1" CMAKE_C_COMPILER)
    [ "$home" = "$top" ] && [ -x "$compiler" ]
}

# cache_value FOLDER NAME: what CMakeCache.txt there holds.
cache_value() { sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt"; }

# build CONFIG CONFIGURE-ARGS [-- BUILD-ARGS]: logs in the folder's logs/.
build()
{
    local config=$1 folder args=()
    shift
    folder=$(build_folder "$config")
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        args+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    run_logged "$folder/logs/configure.log" \
        configure "$config" "${args[@]}" || return
    run_logged "$folder/logs/build.log" \
        cmake --build "$folder" -j "$jobs" "$@"
}
