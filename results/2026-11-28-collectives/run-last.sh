# Two GPUs: cases of pulls by kernel and of direct collectives; turns of windows by engine (0) and by kernel (default);
# collectives staged (0) and direct (default) beside NCCL.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
G=$(nvidia-smi -L | wc -l); nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_ARM init -genv MPIX_GDS_DIRECT 1 -genv MPIX_GDS_DIRECT_SHARED 1 -genv MPIX_GDS_DIRECT_COLL 1"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'rank [01]|direct_(sends|pulls|kernels|kernels_late|withdrawn|collectives|votes) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || grep -v '^=' $OUT/log | tail -8; }
{ for k in placed drawn in_place uneven types roots mixed communicators freed wildcard nonblocking threads errors; do one $G 30 gpu_direct_coll $k; done; for k in callback jump cut; do one 2 10 gpu_coll_nested $k; done; one 2 20 gpu_coll pairs; for k in copies full; do one 2 20 gpu_direct_kernel $k; done; for k in unmatched crossing; do one 2 20 gpu_direct_eager $k; done; one 2 20 gpu_requests; one 2 20 gpu_threads; one 2 40 gpu_direct rows 2; one 4 50 gpu_direct rows 2 threads; for k in elsewhere begun both exchange; do one 2 15 gpu_direct_progress $k; done; one 2 20 gpu_direct_persist all; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
turn() { M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_DIRECT_KERNEL $1 -n 2"; echo "## kernel $1 turn $2"
echo "# latency D D"; $M $X/osu_latency -d cuda -m 160:1048576 -i 1000 -x 100 D D 2>&1 | grep -v '^#'
for t in bw bibw; do echo "# $t D D"; $M $X/osu_$t -d cuda -m 160:1048576 -i 100 -x 10 D D 2>&1 | grep -v '^#'; done
echo "# late"; MPIX_GDS_SUMMARY=all $M $X/osu_bw -d cuda -m 160:262144 -i 100 -x 10 D D 2>&1 | grep -oE 'direct_(pulls|kernels|kernels_late) [0-9]*' | tr '\n' ' '; echo
echo "# halo"; $M $X/osu_halo_enqueue -m 1024:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; }
for r in 1 2 3; do [ $SECONDS -gt 330 ] && break; turn 0 $r; turn 262144 $r; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; grep -A1 "# late" $OUT/turns.txt; echo $SECONDS
