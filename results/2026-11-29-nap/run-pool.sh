# One GPU under MPS (two are not lent): tests that had not run on one; how much may be pinned against windows of enqueued and
# of unmodified messages between two simulated hosts; short messages by the host transport, and the nap of its thread.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps; nvidia-cuda-mps-control -d
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
one() { n=$1; t=$2; e=$3; shift 3; b=$SECONDS; timeout $t env $e mpiexec -disable-auto-cleanup -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -n $n $B/tests/enq_"$@" > $OUT/log 2>&1; rc=$?; echo "$n $e $* rc $rc all-well $(grep -c 'all well' $OUT/log) $(grep -ohE 'fragments_used [0-9]+|sends_kept [0-9]+|does not hold.*|not done.*|taken for dead|MPIX_GDS_TIMEOUT says' $OUT/log | sort | uniq -c | head -6 | tr '\n' ' ') took $((SECONDS-b))"; }
run() { h=$1; e=$2; t=$3; shift 3; echo "## $h $e $t $*"; timeout 40 env $e mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 1 -env MPIX_SIM_HOST a $X/$t --gpu 0 "$@" : -n 1 -env MPIX_SIM_HOST $h $X/$t --gpu 0 "$@" 2>&1 | grep -v '^#'; echo "# rc ${PIPESTATUS[0]} $SECONDS"; }
K="MPIX_GDS_STAGE_POOL=2097152 MPIX_GDS_FRAGMENT=131072 MPIX_GDS_EAGER=0"
{ timeout 60 $B/tests/driver-list -r pool_memory 2>&1 | tail -4
one 2 40 "MPIX_GDS_STAGE_WHOLE=0" memory --limit 35 --split case35_memory_of_the_stream
one 1 30 "$K MPIX_GDS_PULL=0" match --limit 25 case07_self_send
one 2 30 "$K" persist --limit 25 persist_buffered; one 2 30 "$K" persist --limit 25 --split persist_buffered
one 2 60 "CUDA_DEVICE_MAX_CONNECTIONS=3 MPIX_GDS_STAGE_POOL=8388608" stall --limit 55 --split queues_behind_many
one 2 60 "CUDA_DEVICE_MAX_CONNECTIONS=3 MPIX_GDS_STAGE_POOL=8388608" stall --limit 55 --split queues_wanted queues_sent
one 2 60 "MPIX_GDS_STAGE_POOL=8388608" stall --limit 55 --split free_wanted; } > $OUT/tests.txt 2>&1; rm -f $OUT/log; cat $OUT/tests.txt
H="MPIX_GDS_REQUIRE=host MPIX_GDS_EAGER=0 MPIX_GDS_PULL=0"
{ for n in 30 5 1; do run a "$H MPIX_GDS_WIRE_NAP=$n" osu_latency_enqueue -m 8:8192 -i 200 --rivals none D D; run b "MPIX_GDS_WIRE_NAP=$n" osu_latency_enqueue -m 8:8192 -i 200 --rivals none D D; done; } > $OUT/short.txt 2>&1; cat $OUT/short.txt | cut -c1-100
{ for r in 1 2; do for p in 2147483648 536870912 268435456 134217728; do
run b MPIX_GDS_STAGE_POOL=$p osu_bw_enqueue -m 65536:16777216 -W 64 -i 4 -x 1 --rivals none -M 4294967296 D D
run b MPIX_GDS_STAGE_POOL=$p osu_bw -m 65536:16777216 -W 64 -i 4 -x 1 --rivals none -M 4294967296 D D; [ $SECONDS -gt 420 ] && break 2; done; done; } > $OUT/pool.txt 2>&1; cat $OUT/pool.txt; echo $SECONDS; echo quit | nvidia-cuda-mps-control
