# Two ranks on one GPU: headers by default, receives into host memory with handles of our own, then turns of settings.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; e=$2; t=$3; shift 3; timeout $t mpiexec $P $e -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $e $* rc $rc all-well $(grep -c 'all well' $OUT/log) pulls $(grep -o 'direct_pulls [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
A="-genv MPIX_GDS_ARM init"
{ for k in many cancelled short handed freed nested handlers kept; do one 2 "" 15 gpu_direct_host $k; done
one 2 "" 20 gpu_requests; one 2 "" 20 gpu_mixed; one 2 "$A" 25 gpu_direct 2 200; one 3 "$A" 25 gpu_direct 3 200; one 2 "$A" 40 gpu_direct rows 2; one 2 "$A" 40 gpu_direct rows 2 multiple; one 4 "$A" 40 gpu_direct rows 2 threads
for k in alone elsewhere both exchange cancel again freed gone behind; do one 2 "$A" 12 gpu_direct_progress $k; done; one 2 "" 20 gpu_coll; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
for r in 1 2 3; do for d in none 0 1; do [ $SECONDS -gt 420 ] && break; M="timeout 40 mpiexec -genv MPIX_GDS_DIRECT $d -genv MPIX_GDS_ARM init -genv LD_PRELOAD $B/lib/libmpix_gds.so"; [ $d = none ] && M="timeout 40 mpiexec"; echo "## direct $d turn $r"
echo "# host latency"; $M -n 2 $X/osu_latency -m 8:65536 -i 5000 H H 2>&1 | grep -v '^#'; echo "# host bw"; $M -n 2 $X/osu_bw -m 8:65536 -i 1000 H H 2>&1 | grep -v '^#'
[ $d = none ] || for t in latency bw; do echo "# device $t"; $M -n 2 $X/osu_$t -d cuda -m 8:16777216 D D 2>&1 | grep -v '^#'; done; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
