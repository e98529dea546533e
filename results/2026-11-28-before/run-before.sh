# Turns of the tree before issue 13 (old: 9deaa9c) and of this one (fin), five rounds: ping-pong, windows, CPU of a call.
cd .device && for f in mpich old fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L | head -2; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use fin; for n in 2 4; do timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $B/tests/enq_rings --limit 55 2>&1 | tail -3; done
for r in 1 2 3 4 5; do for w in old fin; do [ $SECONDS -gt 215 ] && break; use $w; echo "## $w $r"
echo '# latency'; $M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:16777216 -i 200 -x 20 | grep -v '^#'; echo '# bw'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
echo '# cost'; $M -n 2 $X/osu_enqueue_cost -m 8:65536 -i 1000 -x 100 | grep -v '^#' ; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
