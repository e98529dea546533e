# One ring for each two processes on two GPUs: cases, then turns with the tree before (base) and with it (fin).
cd .device && for f in mpich base fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
one() { timeout 25 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $1 $B/tests/enq_$2 --limit 22 $3 $4 > $OUT/c-$1-$2$3$4.log 2>&1; rc=$?; echo "$1 $2 $3 $4 rc $rc $(grep -c 'all well' $OUT/c-$1-$2$3$4.log) $SECONDS"; [ $rc = 0 ] && rm $OUT/c-$1-$2$3$4.log || tail -3 $OUT/c-$1-$2$3$4.log; }
use fin
{ for g in rings group order match dup life memory pull persist streams waitall wildcard little request status corners; do [ $SECONDS -gt 75 ] || one 2 $g; done; for g in rings group order life memory dup persist; do [ $SECONDS -gt 105 ] || one 4 $g; done; for g in order match waitall memory; do [ $SECONDS -gt 115 ] || one 2 $g --warm; done; } > $OUT/cases.txt 2>&1
grep -v "rc 0 1 " $OUT/cases.txt; grep -c "rc 0 1" $OUT/cases.txt; echo $SECONDS
for r in 1 2 3; do for w in base fin; do [ $SECONDS -gt 235 ] && break; use $w; echo "## $w $r"
$M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:16777216 -i 200 -x 20 | grep -v '^#'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 262144:262144 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
