# Seeds of tests/enq/campaign.py on the software GPU, a process a seed, until the time is over: first, last, workers, seconds.
T=$PWD; cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh; D=$PWD; cd $T
B=$D/fin/build; SIM=$B/lib/mpix-gds/sim:$B/lib:$LD_LIBRARY_PATH; nproc; date -u; python3 --version
PROGRAMS=""; for t in enq_argument enq_corners enq_defects enq_dup enq_gpus enq_group enq_life enq_match enq_memory enq_order enq_persist enq_refuse enq_request enq_status enq_streams enq_waitall enq_pull enq_persist_matrix enq_group_matrix ; do PROGRAMS="$PROGRAMS $B/tests/$t"; done
end=$((SECONDS + $4)); export SIM B PROGRAMS end OUT D
one() { [ $(date +%s) -lt $stop ] || exit 0; timeout 60 python3 -B tests/enq/campaign.py --mpiexec $D/mpich/bin/mpiexec --sim "$SIM" --preload $B/lib/libmpix_gds.so --preload $B/lib/mpix-gds/sim/libmpix_sim_mpi.so --first $1 --seeds 1 --timeout 50 $PROGRAMS > $OUT/s-$1 2>&1; rc=$?; echo "$1 rc $rc $(tail -1 $OUT/s-$1)"; [ $rc = 0 ] && rm -f $OUT/s-$1; }
export stop=$(($(date +%s) + $4)); export -f one
seq $1 $2 | timeout $(($4 + 40)) xargs -P $3 -I{} bash -c 'one {}' > $OUT/seeds.txt
wc -l < $OUT/seeds.txt; grep -v " rc 0 " $OUT/seeds.txt | head -20; uptime; ls $OUT | head -30; for f in $(ls $OUT/s-* 2>/dev/null | head -4); do grep -v '^\$' $f | head -12 | cut -c1-300; done
