# The merged job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf base.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use new
{ for n in 2 3; do for g in group order match request waitall pull persist memory near defects life; do timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $B/tests/enq_$g > log.tmp 2>&1; echo "$n $g rc $? $(grep -c 'all well' log.tmp) $(grep -c 'bug in' log.tmp)"; done; done
for g in order match request waitall pull; do timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $B/tests/enq_$g --limit 25 --laps 4 --warm > log.tmp 2>&1; echo "warm $g rc $? $(grep -c 'all well' log.tmp)"; done
for k in eager rget blocking group persistent; do timeout 30 $M -n 2 $B/tests/enq_held $k > log.tmp 2>&1; echo "held $k rc $?"; done
timeout 60 $M -n 2 $B/tests/enq_held --split staged > log.tmp 2>&1; echo "held staged rc $?"
timeout 60 $M -n 2 $B/tests/enq_many 10000 > log.tmp 2>&1; echo "many rc $?"; tail -3 log.tmp
timeout 60 $M -n 2 $B/tests/enq_group_matrix > log.tmp 2>&1; echo "gm rc $? $(grep -c 'all well' log.tmp)"; timeout 60 $M -n 2 $B/tests/enq_persist_matrix > log.tmp 2>&1; echo "pm rc $? $(grep -c 'all well' log.tmp)"; } 2>&1 | tee $OUT/cases.txt
for r in 1 2 3; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:4194304 -i 200 -x 20 | grep -v '^#'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants program,enqueued,group,startall,nccl | grep -v '^#';$M -n 2 $X/osu_enqueue_cost --rounds 2 --rivals none -m 8:8192 -i 300; done; done > $OUT/turns.txt 2>&1; grep -E "##|group|startall|enqueued|nccl" $OUT/turns.txt
