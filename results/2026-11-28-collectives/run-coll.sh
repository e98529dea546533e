# Collectives on GPU memory, staged (0), direct from 16 KiB on (16384) and always (1), in turns; then correctness.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
G=$(nvidia-smi -L | wc -l); nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_DIRECT_COLL 1"
one() { n=$1; t=$2; shift 2; timeout $t mpiexec $P -n $n $B/tests/"$@" > $OUT/log 2>&1; rc=$?; echo "$n $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -oE 'rank [01]|direct_(sends|pulls|collectives|votes|withdrawn) [0-9]*' $OUT/log | tr '\n' ' ') $SECONDS"; [ $rc = 0 ] || tail -5 $OUT/log; }
{ for n in 2 $G; do one $n 40 gpu_coll pairs; one $n 40 gpu_coll_edge; one $n 60 gpu_coll 61 1; done; } > $OUT/cases.txt 2>&1; rm -f $OUT/log; cat $OUT/cases.txt; echo $SECONDS
turn() { M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_DIRECT_COLL $1 -n $2"; echo "## ranks $2 coll $1 turn $3"
for t in alltoall allgather bcast; do echo "# $t D D"; $M $X/osu_$t -d cuda -m 1024:4194304 -i 200 -x 20 --rivals none D D 2>&1 | grep -v '^#'; done; echo "# alltoall H H"; $M $X/osu_alltoall -m 1024:1048576 -i 200 -x 20 --rivals none H H 2>&1 | grep -v '^#'; }
for r in 1 2 3; do for n in 2 $([ $G -gt 2 ] && echo $G); do [ $SECONDS -gt 300 ] && break; for c in 0 1; do turn $c $n $r; done; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
for n in 2 $([ $G -gt 2 ] && echo $G); do for t in alltoall allgather bcast; do echo "# $n $t"; timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $X/osu_$t -d cuda -m 4096:4194304 -i 200 -x 20 --rivals nccl D D 2>&1; done; done > $OUT/nccl.txt 2>&1; tail -14 $OUT/nccl.txt; echo $SECONDS
