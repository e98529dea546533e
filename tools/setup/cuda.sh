# A CUDA compiler for the build: the machine's toolkit, else wheels in .venv.
# The lookup itself is cmake/cuda.cmake, so that set-up and build agree.
# shellcheck shell=bash

cuda_wheels=$top/tools/setup/cuda-wheels.txt
cuda_venv=$top/.venv

# Prints the toolkit's folder, nothing if there is none.
cuda_root()
{
    cmake -P "$top/cmake/cuda.cmake" 2>&1
}

# Where nvcc links from: the wheels have the libraries in lib.
cuda_link()
{
    local folder
    for folder in "$cuda_venv"/lib/python*/site-packages/nvidia/cu13; do
        ln -sfn lib "$folder/lib64" || return
    done
}

# Fetches nvcc and the headers; 0 if they are there afterwards.
cuda_fetch()
{
    local python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    if [ ! -x "$cuda_venv/bin/pip" ]; then
        "$python" -m venv "$cuda_venv" </dev/null || return
    fi
    timeout 900 "$cuda_venv/bin/pip" install --no-input --no-cache-dir \
        --disable-pip-version-check --progress-bar off --timeout 15 \
        --retries 2 -r "$cuda_wheels" </dev/null || return
    cuda_link || return
    cp "$cuda_wheels" "$cuda_venv/cuda-wheels.txt"
}

# Never fails: without a toolkit the build leaves the GPU kernels out.
need_cuda()
{
    local root
    root=$(cuda_root)
    if [ -n "$root" ] && [ "${root#"$cuda_venv"/}" = "$root" ]; then
        say "CUDA toolkit: $root"
        return
    fi
    if [ "$install" = yes ] && [ "${MGDS_CUDA_HOME-}" != none ] &&
        ! cmp -s "$cuda_wheels" "$cuda_venv/cuda-wheels.txt"; then
        say "no CUDA toolkit here: fetching nvcc and its headers into .venv"
        cuda_fetch || warn "could not fetch them (the reason is above)"
        root=$(cuda_root)
    fi
    if [ -n "$root" ]; then
        say "CUDA toolkit: $root (wheels)"
    else
        say "CUDA toolkit: none; GPU kernels are not built"
    fi
}
