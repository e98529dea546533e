# Two GPUs, nothing set: cases, then turns of MPIX_GDS_DIRECT=0 and the default.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) pulls $(grep -o 'direct_pulls [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ for k in many short handed freed handlers; do one 2 15 gpu_direct_host $k; done; one 2 20 gpu_requests; one 2 20 gpu_mixed; one 2 25 gpu_direct 2 200; one 3 25 gpu_direct 3 200; one 2 40 gpu_direct rows 2; one 2 40 gpu_direct rows 2 multiple
for k in alone elsewhere both exchange again freed behind; do one 2 12 gpu_direct_progress $k; done
for t in enq_order enq_match enq_rings enq_waitall enq_host enq_memory; do [ -x $B/tests/$t ] && one 2 40 $t --limit 35; done; } > $OUT/two-cases.txt 2>&1; rm -f $OUT/log
cat $OUT/two-cases.txt; echo $SECONDS
for r in 1 2 3; do for d in 0 default; do [ $SECONDS -gt 400 ] && break; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; [ $d = 0 ] && M="$M -genv MPIX_GDS_DIRECT 0"; echo "## direct $d turn $r"
for t in latency bw bibw; do echo "# $t"; $M -n 2 $X/osu_$t -d cuda -m 8:16777216 -i 60 -x 6 D D 2>&1 | grep -v '^#'; done
echo "# mixed"; $M -n 2 $X/osu_bw -d cuda -m 8:1048576 -i 60 -x 6 D H 2>&1 | grep -v '^#'; echo "# hostbw"; $M -n 2 $X/osu_bw -d cuda -m 64:65536 -i 300 MH MH 2>&1 | grep -v '^#'
echo "# halo"; $M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; done; done > $OUT/two-turns.txt 2>&1; grep -c . $OUT/two-turns.txt; echo $SECONDS
