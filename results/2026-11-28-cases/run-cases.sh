# The cases of section 8 on 2, 3 and 4 GPUs, cold and warm, four lists beside each other; then the memory checker.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
G="order match request waitall pull persist group memory life streams status corners dup defects argument refuse gpus group_matrix persist_matrix"
one() { l=$OUT/c-$1-$2$3.log; timeout 45 mpiexec $P -n $1 $B/tests/enq_$2 --limit 40 $3 > $l 2>&1; rc=$?; echo "$1 $2 ${3:-cold} rc $rc all-well $(grep -c 'all well' $l) $SECONDS"; [ $rc = 0 ] && rm $l; }
list() { n=$1; shift; for g in $G; do [ $SECONDS -gt 400 ] || one $n $g $*; done; }
(list 4 > $OUT/cold-4.txt; list 2 > $OUT/cold-2.txt) & (list 4 --warm > $OUT/warm-4.txt) & (list 3 > $OUT/cold-3.txt; for n in 2 3 4; do one $n little; one $n wildcard; one $n near; done > $OUT/others.txt) & (CUDA_VISIBLE_DEVICES=3,2,1,0 list 3 --warm > $OUT/warm-3.txt; CUDA_VISIBLE_DEVICES=2,3 list 2 --warm > $OUT/warm-2.txt) & wait
cat $OUT/*-?.txt $OUT/others.txt > $OUT/cases.txt; rm $OUT/*-?.txt $OUT/others.txt; grep -v "rc 0 all-well 1 " $OUT/cases.txt; grep -c "rc 0 all-well 1 " $OUT/cases.txt; echo "cases $SECONDS"
for f in $(ls $OUT/c-* 2>/dev/null | head -6); do echo "== $f"; grep -v '^=' $f | tail -n 8 | cut -c1-250; done
check() { l=$OUT/m-$1.log; timeout 90 mpiexec $P -n 2 compute-sanitizer --kernel-name-exclude kernel_substring=mgds_ --suppressions fin/compute-sanitizer.xml $B/tests/enq_$1 --laps 3 --limit 80 > $l 2>&1; rc=$?; echo "memcheck $1 rc $rc, $(grep -c 'ERROR SUMMARY: 0 errors' $l) of 2 without, all-well $(grep -c 'all well' $l) $SECONDS"; grep -h "Invalid\|Program hit" $l | sort | uniq -c | head -4; }
sane() { for g in $*; do [ $SECONDS -gt 480 ] || check $g; done; }
(CUDA_VISIBLE_DEVICES=0,1 sane order match request waitall group life streams status argument > $OUT/memcheck-a.txt 2>&1) & (CUDA_VISIBLE_DEVICES=2,3 sane pull persist memory corners dup defects refuse gpus little > $OUT/memcheck-b.txt 2>&1) & wait
cat $OUT/memcheck-?.txt > $OUT/memcheck.txt; rm $OUT/memcheck-?.txt; cat $OUT/memcheck.txt; tar czf $OUT/logs.tgz -C $OUT $(cd $OUT; ls | grep log$) 2>/dev/null; rm -f $OUT/*.log; echo $SECONDS
