# A CUDA compiler for the build: the machine's toolkit, else wheels in .venv.
# The lookup itself is cmake/cuda.cmake, so that set-up and build agree.
# shellcheck shell=bash

cuda_wheels=$top/tools/setup/cuda-wheels.txt

# Prints the toolkit's folder, nothing if there is none.
cuda_root()
{
    cmake -P "$top/cmake/cuda.cmake" 2>&1
}

# Where nvcc links from: the wheels have the libraries in lib.
cuda_link()
{
    local folder
    for folder in "$venv"/lib/python*/site-packages/nvidia/cu13; do
        ln -sfn lib "$folder/lib64" || return
    done
}

# Never fails: without a toolkit the build leaves the GPU kernels out.
need_cuda()
{
    local root
    root=$(cuda_root)
    if [ -n "$root" ] && [ "${root#"$venv"/}" = "$root" ]; then
        say "CUDA toolkit: $root"
        return
    fi
    if [ "$install" = yes ] && [ "${MGDS_CUDA_HOME-}" != none ] &&
        ! wheels_are "$cuda_wheels"; then
        say "no CUDA toolkit here: fetching nvcc and its headers into .venv"
        wheels_fetch "$cuda_wheels" cuda_link || warn "could not fetch them (the reason is above)"
        root=$(cuda_root)
    fi
    if [ -n "$root" ]; then
        say "CUDA toolkit: $root (wheels)"
    else
        say "CUDA toolkit: none; GPU kernels are not built"
    fi
}
