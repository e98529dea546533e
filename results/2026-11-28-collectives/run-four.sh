# Two GPUs, the tree that landed: direct collectives of 4 ranks, two on each GPU, and of 2 and 3; under the memory checker.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_ARM init -genv MPIX_GDS_DIRECT 1 -genv MPIX_GDS_DIRECT_SHARED 1 -genv MPIX_GDS_DIRECT_COLL 1"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'rank 0|direct_(sends|pulls|kernels|kernels_late|collectives|votes) [0-9]*' $OUT/log | head -6 | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || grep -v '^=' $OUT/log | tail -8; }
{ for k in drawn in_place uneven types roots mixed communicators freed nonblocking threads errors; do [ $SECONDS -gt 110 ] || one 4 40 gpu_direct_coll $k; done; for k in callback jump cut one between; do one 3 10 gpu_coll_nested $k; done; } > $OUT/four.txt 2>&1; cat $OUT/four.txt
S=$(which compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer)
for c in "gpu_direct_coll drawn" "gpu_direct_coll mixed" "gpu_requests"; do [ $SECONDS -gt 170 ] && break; timeout 60 mpiexec $P -n 2 $S --tool memcheck --target-processes all $B/tests/$c > $OUT/log 2>&1; echo "memcheck $c rc $? $(grep -c 'all well' $OUT/log) $(grep 'ERROR SUMMARY' $OUT/log | tr '\n' ' ') $SECONDS"; grep -h "Invalid\|Program hit" $OUT/log | sort | uniq -c | head -4; done 2>&1 | tee $OUT/memcheck.txt; rm -f $OUT/log
