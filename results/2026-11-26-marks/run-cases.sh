# Cases of the tree with events, then turns of the halo.
cd .device && for f in mpich ask new; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use ask
one() { timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $1 $B/tests/enq_$2 --limit 35 $3 $4 > $OUT/c-$1-$2$3$4.log 2>&1; rc=$?; echo "$1 $2 $3 $4 rc $rc $(grep -c 'all well' $OUT/c-$1-$2$3$4.log) $SECONDS"; [ $rc = 0 ] && rm $OUT/c-$1-$2$3$4.log || tail -3 $OUT/c-$1-$2$3$4.log; }
{ for n in 2 3 4; do for g in group order match request waitall pull persist memory near life wildcard little streams status corners dup; do [ $SECONDS -gt 190 ] || one $n $g; done; done
for g in order match waitall pull memory group; do [ $SECONDS -gt 190 ] || one 2 $g --warm; done
for k in eager rget blocking group persistent; do timeout 30 $M -n 2 $B/tests/enq_held $k > log.tmp 2>&1; echo "held $k rc $?"; done
} > $OUT/cases.txt 2>&1
grep -v "rc 0 1 " $OUT/cases.txt; grep -c "rc 0" $OUT/cases.txt; echo $SECONDS
for r in 1 2; do for w in new ask; do use $w; echo "## $w $r"
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'; done; done > $OUT/turns.txt 2>&1; cat $OUT/turns.txt; echo $SECONDS
