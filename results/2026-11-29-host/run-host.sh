# Two GPUs: the host transport before (lib "old", a67fef8) and after (lib "lib"): two simulated hosts over tcp, one host
# by shared memory; messages by p2p and of host memory beside them; ucx_perftest; a gate of the program's.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
perf() { t=$1; e=$2; shift 2; for s in 65536 262144 1048576 4194304 16777216; do env "$@" timeout 30 $B/bin/ucx_perftest $e -t $t -s $s -n 300 >/dev/null 2>&1 & sleep 0.4; echo "perf $t $e $* $s $(env "$@" timeout 30 $B/bin/ucx_perftest 127.0.0.1 $e -t $t -s $s -n 300 2>&1 | grep Final | awk '{print $6}')"; wait; done; }
run() { l=$1; h=$2; e=$3; t=$4; shift 4; echo "## $l $h $e $t $*"; timeout 25 env $e mpiexec -genv LD_PRELOAD $B/$l/libmpix_gds.so -n 1 -env MPIX_SIM_HOST a $X/$t --gpu 0 "$@" : -n 1 -env MPIX_SIM_HOST $h $X/$t --gpu 1 "$@" 2>&1 | grep -v '^#'; echo "# rc ${PIPESTATUS[0]} $SECONDS"; }
H="MPIX_GDS_REQUIRE=host MPIX_GDS_EAGER=0 MPIX_GDS_PULL=0"
{ for l in lib oldlib; do for s in "" --split; do timeout 20 mpiexec -genv LD_PRELOAD $B/$l/libmpix_gds.so -genv MPIX_GDS_STAGE_POOL 18874368 -genv MPIX_GDS_EAGER 0 -genv MPIX_GDS_PULL 0 -n 2 $B/tests/enq_memory --limit 15 $s behind_a_gate 2>&1 | grep -v warn | tail -2; echo "# $l $s gate rc ${PIPESTATUS[0]}"; done; done
timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_STAGE_POOL 4194304 -n 2 $B/tests/enq_little --limit 50 --split 2>&1 | tail -2; } > $OUT/gate.txt 2>&1; cat $OUT/gate.txt
{ perf tag_bw "" UCX_TLS=tcp; perf ucp_am_bw -e UCX_TLS=tcp; perf tag_bw "" UCX_TLS=posix,self
for r in 1 2; do for l in oldlib lib; do
for h in b a; do [ $h = a ] && R=$H || R=A=1
run $l $h "$R" osu_latency_enqueue -m 8:16777216 -i 20 --rivals none D D; run $l $h "$R" osu_bw_enqueue -m 8192:16777216 -W 16 -i 6 -x 1 --rivals none D D; done
run $l a A=1 osu_latency_enqueue -m 8:4194304 -i 100 --rivals none D D; run $l a A=1 osu_bw_enqueue -m 1024:4194304 -i 10 --rivals none D D
run $l a A=1 osu_bw_enqueue -m 1024:4194304 -W 16 -i 10 --rivals none H H; [ $SECONDS -gt 230 ] && break 2; done; done; } > $OUT/host.txt 2>&1; grep -c . $OUT/host.txt
