#!/bin/sh
# How many files have a part in one warm MPIX_Isend_enqueue of 1 KiB between two
# GPUs, on the software GPU: run.sh TREE FOLDER, with a source tree and a folder
# for its debug build and what callgrind writes.
set -eu
tree=$1 folder=$2 here=$(dirname "$(realpath "$0")")
cmake -S "$tree" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug
ninja -C "$folder/build" lib/libmpix_gds.so
ninja -C "$folder/build" lib/mpix-gds/sim/libcuda.so.1 ||
    ninja -C "$folder/build" lib/sim/libcuda.so.1
sim=$(dirname "$(find "$folder/build/lib" -name libcuda.so.1)")
gunzip -c "$here/moves.c.gz" > "$folder/moves.c"
mpicc.mpich -g -I"$tree/include" "$folder/moves.c" -o "$folder/moves" \
    -L"$folder/build/lib" -lmpix_gds "$sim/libcuda.so.1"
mpiexec.mpich -genv LD_PRELOAD "$folder/build/lib/libmpix_gds.so" \
    -genv LD_LIBRARY_PATH "$sim" -genv MPIX_SIM_GPUS 2 \
    -genv CUDA_DEVICE_MAX_CONNECTIONS 32 -n 2 \
    valgrind --tool=callgrind --quiet --dump-before=phase_lap \
    "--toggle-collect=*MPIX_Isend_enqueue" \
    "--callgrind-out-file=$folder/out.%q{PMI_RANK}" "$folder/moves" 20 1024
python3 "$here/moves.py" "$folder" 10 20 --files
