# Two GPUs: fragments for all that is staged (STAGE_WHOLE=0), few and small ones, between simulated hosts and on one.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_STAGE_WHOLE 0 -genv MPIX_GDS_SUMMARY all"
H="-genv MPIX_GDS_EAGER 0 -genv MPIX_GDS_PULL 0"
one() { n=$1; t=$2; e=$3; shift 3; timeout $t mpiexec $P $e -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $e $* rc $rc $(grep -oE 'all well.*' $OUT/log | tail -1) $(grep -oE 'rank [01]|(fragments_used|fragments_most|pull_orders) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || grep -v '^=' $OUT/log | tail -8 | cut -c1-300; }
{ F="-genv MPIX_GDS_FRAGMENT 4096 -genv MPIX_GDS_FRAGMENTS 3"
for s in "" --split; do [ "$s" ] && X="" || X=$H
one 2 30 "$X" enq_memory --limit 25 --laps 4 $s
one 2 30 "$X $F" enq_memory --limit 25 --laps 2 $s
one 2 30 "$X" enq_life --limit 25 --laps 4 $s
one 2 30 "$X" enq_order --limit 25 --laps 4 $s
one 2 30 "$X" enq_persist_matrix --limit 25 $s matrix_pairs
one 2 30 "$X $F" enq_group_matrix --limit 25 $s matrix_pairs
one 2 20 "$X" enq_pull --limit 18 --laps 4 --warm $s; done
one 2 20 "-genv MPIX_GDS_STAGE_WHOLE 262144" enq_transport --limit 15 other_host --split
CS="compute-sanitizer --tool memcheck --error-exitcode 9 --suppressions $PWD/fin/compute-sanitizer.xml"
for k in behind_a_gate case36_window_both_ways; do timeout 40 mpiexec $P $H -n 2 $CS $B/tests/enq_memory --limit 35 $k > $OUT/log 2>&1; echo "memcheck $k rc $? $(grep -E 'ERROR SUMMARY|all well' $OUT/log | tr '\n' ' ') $SECONDS"; done
} > $OUT/parts.txt 2>&1; rm -f $OUT/log; cat $OUT/parts.txt
