# The deferred fence job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf base.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use new
for n in 2 3; do for g in group order match request waitall pull persist memory near life wildcard; do timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $B/tests/enq_$g > log.tmp 2>&1; rc=$?; echo "$n $g rc $rc $(grep -c 'all well' log.tmp) $(grep -c 'bug in' log.tmp)"; [ $rc = 0 ] || tail -3 log.tmp; done; done 2>&1 | tee $OUT/cases.txt
for k in eager rget blocking group persistent; do timeout 30 $M -n 2 $B/tests/enq_held $k > log.tmp 2>&1; echo "held $k rc $?"; done
for r in 1 2 3 4 5; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl 2>&1 | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 262144:262144 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl 2>&1 | grep -v '^#'
done; done > $OUT/turns.txt 2>&1; grep -E "##|group|nccl" $OUT/turns.txt
