#!/bin/sh
# From the repository root: run.sh RANKS [CASE ..]
ranks=$1
shift
sim=$PWD/build/lib/mpix-gds/sim
mpiexec.mpich -genv LD_PRELOAD "$PWD/build/lib/libmpix_gds.so.0.2.0:$sim/libmpix_sim_mpi.so" \
  -genv LD_LIBRARY_PATH "$sim" -genv MPIX_SIM_GPUS 2 -genv CUDA_DEVICE_MAX_CONNECTIONS 32 \
  -n "$ranks" build/tests/enq_scale --limit 500 "$@"
