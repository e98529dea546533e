# Two GPUs, the tree that landed: cases, turns of headers from 16 KiB on and the default, then the memory checker.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_ARM init -genv MPIX_GDS_DIRECT_SHARED 1"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'rank [01]|direct_(sends|pulls|withdrawn|unmatched|fetches) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ for k in unmatched crossing synchronous gone order; do one 2 20 gpu_direct_eager $k; done; one 2 20 gpu_requests; one 2 20 gpu_threads; one 2 25 gpu_direct 2 200; one 2 40 gpu_direct rows 2; one 4 50 gpu_direct rows 2 threads; for k in many freed handlers; do one 2 15 gpu_direct_host $k; done; for k in elsewhere begun beside halves peeked dropped both exchange again behind; do one 2 15 gpu_direct_progress $k; done; one 2 20 gpu_direct_persist all; one 2 20 gpu_direct_sessions; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
turn() { M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_DIRECT $1 -n 2"; echo "## direct $1 turn $2"
echo "# latency D D"; $M $X/osu_latency -d cuda -m 160:65536 -i 1000 -x 100 D D 2>&1 | grep -v '^#'
for t in bw bibw; do echo "# $t D D"; $M $X/osu_$t -d cuda -m 160:65536 -i 100 -x 10 D D 2>&1 | grep -v '^#'; done
echo "# halo"; $M $X/osu_halo_enqueue -m 256:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; }
for r in 1 2 3; do [ $SECONDS -gt 300 ] && break; turn 16384 $r; turn 160 $r; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
S=$(which compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer)
for c in "gpu_direct_eager unmatched" "gpu_direct_progress begun" "gpu_direct_persist all"; do [ $SECONDS -gt 420 ] && break; timeout 60 mpiexec $P -n 2 $S --tool memcheck --target-processes all $B/tests/$c > $OUT/log 2>&1; echo "$c rc $? $(grep -c 'all well' $OUT/log) $(grep 'ERROR SUMMARY' $OUT/log | tr '\n' ' ') $SECONDS"; grep -A6 '=========' $OUT/log | grep -v SUMMARY | head -8; done 2>&1 | tee $OUT/memcheck.txt; rm -f $OUT/log
