# Two GPUs, the tree that landed, nothing set but in the turns that say so: receives into host and managed memory, halo.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) pulls $(grep -o 'direct_pulls [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ for k in many short handed freed handlers replaced kept; do one 2 15 gpu_direct_host $k; done; one 2 20 gpu_requests; one 2 20 gpu_mixed; one 2 30 pointers; one 3 30 pointers; } > $OUT/after-cases.txt 2>&1; rm -f $OUT/log
cat $OUT/after-cases.txt; echo $SECONDS
for r in 1 2 3; do for d in 0 default; do [ $SECONDS -gt 300 ] && break; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; [ $d = 0 ] && M="$M -genv MPIX_GDS_DIRECT 0"; echo "## direct $d turn $r"
for k in MH H; do o="-d cuda"; echo "# bw $k"; $M -n 2 $X/osu_bw $o -m 8:65536 -i 300 $k $k 2>&1 | grep -v '^#'; echo "# latency $k"; $M -n 2 $X/osu_latency $o -m 8:65536 -i 2000 $k $k 2>&1 | grep -v '^#'; done
echo "# latency D"; $M -n 2 $X/osu_latency -d cuda -m 160:4194304 -i 300 -x 100 D D 2>&1 | grep -v '^#'
echo "# halo"; $M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 1 --kernel 4 --periodic --variants host,nccl 2>&1 | grep -v '^#'; done; done > $OUT/after-turns.txt 2>&1; grep -c . $OUT/after-turns.txt; echo $SECONDS
