# One case of one seed many times: tree, case(s), workers, runs, seconds, extra env.
T=$PWD; cd .device && for f in mpich $1; do tar xzf $f.tgz; done; . mpich/env.sh; D=$PWD; cd $T
B=$D/$1/build; SIM=$B/lib/mpix-gds/sim:$B/lib:$LD_LIBRARY_PATH
export SIM B D OUT CASE="$2" stop=$(($(date +%s) + $5)); P=$D/fin/build/tests; [ -d $P ] || { (cd .device; tar xzf fin.tgz); }; export P
one() { [ $(date +%s) -lt $stop ] || exit 0; timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so:$B/lib/mpix-gds/sim/libmpix_sim_mpi.so -genv LD_LIBRARY_PATH $SIM -genv CUDA_DEVICE_MAX_CONNECTIONS 32 -genv MPIX_SIM_SEED ${SEED:-$1} -genv MPIX_GDS_TRIGGER auto -genv MPIX_SIM_GPUS 2 -genv MPIX_SIM_PEERS 1 -genv MPIX_SIM_DELAY ${DELAY:-300} -n 2 $P/enq_pull --laps 50 --limit 30 $CASE > $OUT/l-$1 2>&1; rc=$?; echo "$1 rc $rc"; [ $rc = 0 ] && rm -f $OUT/l-$1; }
export -f one
seq 1 $4 | timeout $(($5 + 50)) xargs -P $3 -I{} bash -c 'one {}' > $OUT/loop-$1.txt
echo "$1 $2: $(wc -l < $OUT/loop-$1.txt) runs"; grep -v "rc 0" $OUT/loop-$1.txt | head; for f in $(ls $OUT/l-* 2>/dev/null | head -3); do tail -12 $f | cut -c1-300; done; uptime
