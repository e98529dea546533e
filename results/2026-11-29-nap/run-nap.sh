# One GPU under MPS: short messages by the host transport; the library whose progress thread naps 30 us at once
# ("oldlib"), and the one whose naps grow to that ("lib"), in turns. a: one host, by shared memory; b: two, over tcp.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps; nvidia-cuda-mps-control -d
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32; TIMEFORMAT="# cpu user %U system %S real %R"
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
run() { l=$1; h=$2; e=$3; t=$4; shift 4; echo "## $l $h $t $*"; time (timeout 40 env $e mpiexec -genv LD_PRELOAD $B/$l/libmpix_gds.so -n 1 -env MPIX_SIM_HOST a $X/$t --gpu 0 "$@" : -n 1 -env MPIX_SIM_HOST $h $X/$t --gpu 0 "$@" 2>&1 | grep -v '^#'); echo "# $SECONDS"; }
H="MPIX_GDS_REQUIRE=host MPIX_GDS_EAGER=0 MPIX_GDS_PULL=0"
{ for r in 1 2 3; do for h in a b; do for l in oldlib lib; do
run $l $h "$H" osu_latency_enqueue -m 8:262144 -i 1000 --rivals none D D; [ $r = 3 ] || run $l $h "$H" osu_bw_enqueue -m 8:65536 -i 20 --rivals none D D; [ $r = 3 ] || run $l $h "$H" osu_latency_enqueue -m 8:8192 -i 1000 --rivals none H H; done; done; done; } > $OUT/nap.txt 2>&1; awk '/^##/{k=$2" "$3" "$4" "$(NF-1)} /^(8|1024|8192|65536|262144) /{print k,$0} /cpu/{print k,$0}' $OUT/nap.txt; echo $SECONDS; echo quit | nvidia-cuda-mps-control
