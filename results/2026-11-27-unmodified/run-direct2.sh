# Copies of foreign memory by streams; the matrix of headers on two GPUs; windows without and with MPIX_GDS_DIRECT.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
timeout 30 ./facts/copy | tee $OUT/copy.txt
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; d=$2; t=$3; shift 3; timeout $t mpiexec $P -genv MPIX_GDS_DIRECT $d -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n direct=$d $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'direct_(pulls|withdrawn|sends|refused) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ one 2 1 25 gpu_direct 2 200; one 3 1 25 gpu_direct 3 200; one 2 1 60 gpu_direct rows 2; one 2 1 60 gpu_direct rows 2 multiple; one 3 1 60 gpu_direct rows 2 ; one 4 4096 60 gpu_direct rows 2 threads; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
for r in 1 2; do for d in 0 1; do [ $SECONDS -gt 250 ] && break; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_DIRECT $d"; echo "## direct $d turn $r"
for t in bw bibw; do echo "# $t $SECONDS"; $M -n 2 $X/osu_$t -d cuda -m 1:4194304 -i 10 -x 2 D D 2>&1 | grep -v '^#'; $M -n 2 $X/osu_$t -d cuda -m 16777216:16777216 -W 16 -i 10 -x 2 D D 2>&1 | grep -v '^#'; done; done; done > $OUT/turns.txt 2>&1; cat $OUT/turns.txt; echo $SECONDS
