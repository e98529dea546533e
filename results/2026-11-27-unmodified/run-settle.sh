# The attribute, unmodified programs again, the matrix, latency.
cd .device && for f in mpich fin wheels; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
timeout 40 facts/memops | tee $OUT/memops.txt
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$PWD/m4lib:$PWD/fin/lib:$LD_LIBRARY_PATH
mkdir -p m4lib; ln -sf $PWD/mpich/lib/libmpich.so.12 m4lib/libmpi.so.12
python3 -m pip install -q --no-index --find-links wheels --target m4 mpi4py 2>&1 | tail -2
export PYTHONPATH=$PWD/m4 MPI4PY_MPIABI=mpich
for n in 2 3 4; do echo "# $n ranks"; timeout 100 sh fin/unmodified/run $B $n; echo "rc $?"; done 2>&1 | tee $OUT/unmodified.txt
M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"
for n in 2 4; do for d in 0 1; do $M -genv MPIX_GDS_DIRECT $d -n $n $B/tests/gpu_settle; done; done 2>&1 | tee $OUT/settle.txt
$M -genv MPIX_GDS_DIRECT 1 -n 2 $B/tests/gpu_direct rows 2 2>&1 | tail -1
$M -genv MPIX_GDS_DIRECT 1 -n 2 $B/libexec/mpix-gds/osu_latency -d cuda -m 1:1048576 D D 2>&1 | tail -12
