# The cases of enqueued communication on 2, 3 and 4 GPUs, cold and warm: two lists beside each other.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
one() { l=$OUT/c-$1-$2$3.log; timeout 45 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $1 $B/tests/enq_$2 --limit 40 $3 > $l 2>&1; rc=$?; echo "$1 $2 ${3:-cold} rc $rc $(grep -c 'all well' $l) $SECONDS"; [ $rc = 0 ] && rm $l; }
list() { for n in 2 3 4; do for g in order match waitall pull group persist memory request life streams status corners dup wildcard little near defects argument refuse group_matrix persist_matrix gpus; do [ $SECONDS -gt 200 ] || one $n $g $1; done; done; }
(list > $OUT/cold.txt) & (CUDA_VISIBLE_DEVICES=2,3,0,1 list --warm > $OUT/warm.txt) & wait
for k in eager rget blocking group persistent; do timeout 30 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $B/tests/enq_held $k > $OUT/log 2>&1; echo "held $k rc $?"; done > $OUT/held.txt
for n in 2 3 4; do one $n rings; done > $OUT/rings.txt; CUDA_VISIBLE_DEVICES=0,1 one 4 rings >> $OUT/rings.txt; head -3 $OUT/c-4-rings.log
cat $OUT/held.txt $OUT/rings.txt; grep -v "rc 0 1 " $OUT/cold.txt $OUT/warm.txt; grep -c "rc 0 1 " $OUT/cold.txt $OUT/warm.txt; tail -n 1 $OUT/cold.txt; tail -n 1 $OUT/warm.txt; for f in $(ls $OUT/c-* 2>/dev/null | head -5); do echo "== $f"; grep -v '^=' $f | head -6 | cut -c1-250; done; echo $SECONDS
