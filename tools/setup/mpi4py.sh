# mpi4py for MPICH, for tests/hw/unmodified: a wheel in .venv, since Debian's is
# for Open MPI.
# shellcheck shell=bash

mpi4py_wheels=$top/tools/setup/mpi4py-wheels.txt

# The wheel wants MPICH by the name libmpi.so.12, which Debian gives to libmpich.
mpi4py_link()
{
    local mpich
    for mpich in /usr/lib/*/libmpich.so.12; do
        [ -e "$mpich" ] || return
        mkdir -p "$venv/mpich" &&
            ln -sfn "$mpich" "$venv/mpich/libmpi.so.12" || return
    done
}

# Never fails: without it its tests are skipped.
need_mpi4py()
{
    wheels_are "$mpi4py_wheels" && return
    [ "$install" = yes ] || return 0
    say "fetching mpi4py into .venv"
    wheels_fetch "$mpi4py_wheels" mpi4py_link ||
        warn "could not fetch it (the reason is above); its tests are skipped"
}
