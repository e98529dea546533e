# What run-cases.sh left: the pull group, and groups that its limit of 45 s ended; cases of their own process.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
one() { l=$OUT/c-$1-$2$3$4.log; b=$SECONDS; timeout 90 mpiexec $P -n $1 $B/tests/enq_$2 --limit 85 $3 $4 > $l 2>&1; rc=$?; echo "$1 $2 ${3:-cold} $4 rc $rc all-well $(grep -c 'all well' $l) took $((SECONDS-b)) at $SECONDS"; [ $rc = 0 ] && rm $l; }
(one 4 memory; one 4 pull --warm) > $OUT/a.txt & (one 3 pull; one 2 pull --warm; one 2 pull; one 3 pull --warm) > $OUT/b.txt & (one 4 pull; one 4 gpus) > $OUT/d.txt &
wait; for c in case12_large_crossing case02_large_crossing case03_head_to_head case16_truncation_is_fatal; do one 2 release $c; done > $OUT/e.txt 2>&1
cat $OUT/?.txt > $OUT/more.txt; rm $OUT/?.txt; cat $OUT/more.txt; for f in $(ls $OUT/c-* 2>/dev/null | head -6); do echo "== $f"; grep -v '^=' $f | tail -n 5 | cut -c1-250; done; echo $SECONDS
