# The matrix of headers on two GPUs: pairs, drawn, threads.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all"
one() { n=$1; d=$2; t=$3; shift 3; timeout $t mpiexec $P -genv MPIX_GDS_DIRECT $d -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n direct=$d $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'direct_(pulls|withdrawn|sends|refused) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ one 2 1 25 gpu_direct 2 200; one 3 1 25 gpu_direct 3 200; one 2 1 70 gpu_direct rows 2; one 2 1 70 gpu_direct rows 2 multiple; one 3 1 70 gpu_direct rows 2 ; one 4 4096 70 gpu_direct rows 2 threads; one 2 1 100 gpu_direct rows 3; } > $OUT/cases.txt 2>&1; rm -f $OUT/log
cat $OUT/cases.txt; echo $SECONDS
