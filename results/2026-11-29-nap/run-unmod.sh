# One GPU under MPS: the rest of run-pool.sh, unmodified messages.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps; nvidia-cuda-mps-control -d
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
timeout 60 $B/tests/driver-list -r pool_memory 2>&1
run() { h=$1; e=$2; t=$3; shift 3; echo "## $h $e $t $*"; timeout 40 env $e mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 1 -env MPIX_SIM_HOST a $X/$t --gpu 0 "$@" : -n 1 -env MPIX_SIM_HOST $h $X/$t --gpu 0 "$@" 2>&1 | grep -v '^#'; echo "# rc ${PIPESTATUS[0]} $SECONDS"; }
{ for r in 1 2; do for p in 2147483648 536870912 268435456 134217728; do
run b MPIX_GDS_STAGE_POOL=$p osu_bw -m 65536:16777216 -W 64 -i 4 -x 1 -M 4294967296 D D; [ $SECONDS -gt 160 ] && break 2; done; done; } > $OUT/unmod.txt 2>&1; cat $OUT/unmod.txt; echo $SECONDS; echo quit | nvidia-cuda-mps-control
