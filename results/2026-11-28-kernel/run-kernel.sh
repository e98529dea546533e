# Two GPUs: cases of short pulls by kernel, then turns: none by kernel (0), all to 1 MiB by a block of 512 threads, of
# 1024; then collectives as they are staged.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_ARM init -genv MPIX_GDS_DIRECT_SHARED 1"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'rank [01]|direct_(sends|pulls|kernels|kernels_late|withdrawn|unmatched) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ for k in unmatched crossing synchronous gone order; do one 2 20 gpu_direct_eager $k; done; one 2 20 gpu_requests; one 2 20 gpu_mixed; one 2 20 gpu_threads; one 2 25 gpu_direct 2 200; one 2 40 gpu_direct rows 2; one 4 50 gpu_direct rows 2 threads; for k in elsewhere begun both exchange; do one 2 15 gpu_direct_progress $k; done; one 2 20 gpu_direct_persist all; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
turn() { M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/$2 -genv MPIX_GDS_DIRECT_KERNEL $1 -n 2"; echo "## kernel $1 lib $2 turn $3"
echo "# latency D D"; $M $X/osu_latency -d cuda -m 160:1048576 -i 1000 -x 100 D D 2>&1 | grep -v '^#'
for t in bw bibw; do echo "# $t D D"; $M $X/osu_$t -d cuda -m 160:262144 -i 100 -x 10 D D 2>&1 | grep -v '^#'; done
echo "# halo"; $M $X/osu_halo_enqueue -m 256:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; }
for r in 1 2 3; do [ $SECONDS -gt 330 ] && break; turn 0 libmpix_gds.so $r; turn 1048576 libmpix_gds.so $r; turn 1048576 wide.so $r; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2"
for t in alltoall allgather bcast; do echo "# $t D D"; $M $X/osu_$t -d cuda -m 1024:4194304 -i 200 -x 20 D D 2>&1 | grep -v '^#'; echo "# $t H H"; $M $X/osu_$t -m 1024:4194304 -i 200 -x 20 H H 2>&1 | grep -v '^#'; done > $OUT/coll.txt 2>&1; cat $OUT/coll.txt; echo $SECONDS
