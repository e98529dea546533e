# Unmodified programs on two GPUs: the core of the matrix of headers, then turns without and with MPIX_GDS_DIRECT.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; nvidia-smi topo -m | head -4; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; d=$2; t=$3; shift 3; timeout $t mpiexec $P -genv MPIX_GDS_DIRECT $d -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n direct=$d $* rc $rc all-well $(grep -c 'all well' $OUT/log) pulls $(grep -o 'direct_pulls [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ one 2 1 25 gpu_direct 2 200; one 3 1 25 gpu_direct 3 200; one 2 1 40 gpu_direct rows 2; one 2 1 40 gpu_direct rows 2 multiple; one 3 1 40 gpu_direct rows 2 ; one 4 4096 40 gpu_direct rows 2 threads
for k in alone elsewhere both exchange cancel again freed gone behind; do one 2 1 12 gpu_direct_progress $k; done
one 2 1 20 gpu_requests; one 2 1 20 gpu_mixed; one 2 1 20 gpu_coll; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
for r in 1 2 3; do for d in 0 1; do [ $SECONDS -gt 330 ] && break; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_DIRECT $d"; echo "## direct $d turn $r"
for t in latency bw bibw; do echo "# $t $SECONDS"; $M -n 2 $X/osu_$t -d cuda -m 1:16777216 D D 2>&1 | grep -v '^#'; done
echo "# halo"; $M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; cat $OUT/turns.txt | head -70; echo $SECONDS
