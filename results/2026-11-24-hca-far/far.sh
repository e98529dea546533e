#!/bin/sh
# Memory of a real GPU on the software HCA: run on a machine with a GPU, in the
# root of a tree that carries build/bin, build/lib, build/tests/hca_gpu_far and
# carry/ (libcmocka.so.0; libibverbs.so.1, libmlx5.so.1, libnl-3.so.200,
# libnl-route-3.so.200 where the machine has none).
driver=$(ldconfig -p | awk '/libcuda.so.1 /{print $NF; exit}')
[ -n "$driver" ] || { echo "no libcuda.so.1"; exit 77; }
ldconfig -p | grep -q libibverbs.so.1 || echo "no libibverbs of the machine: carry/ must have it, and /etc/libibverbs.d/mlx5.driver"
export LD_LIBRARY_PATH="$(dirname "$driver"):$PWD/carry"
export MPIX_SIM_HCA_NETWORK=h100
nvidia-smi -L
timeout 120 build/bin/mpix-gds-run --sim=hca build/tests/hca_gpu_far
echo "rc $?"
