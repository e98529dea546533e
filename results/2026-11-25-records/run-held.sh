# The held job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use new
for k in eager rget blocking group persistent; do timeout 30 $M -n 2 $B/tests/enq_held $k > log.tmp 2>&1; echo "held $k rc $?"; head -5 log.tmp; done
timeout 60 $M -n 2 $B/tests/enq_held --split staged > log.tmp 2>&1; echo "held staged rc $?"; head -6 log.tmp
