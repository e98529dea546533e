# One GPU under MPS: messages inside a host that take no host transport (rings, mapped memory); the library before naps
# grew ("oldlib") and the tree that lands ("lib"), in turns; fragments (MPIX_GDS_STAGE_POOL of 16 MiB) between hosts.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps; nvidia-cuda-mps-control -d
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds
run() { l=$1; h=$2; e=$3; t=$4; shift 4; echo "## $l $h $t $*"; timeout 60 env $e mpiexec -genv LD_PRELOAD $B/$l/libmpix_gds.so -n 1 -env MPIX_SIM_HOST a $X/$t --gpu 0 "$@" : -n 1 -env MPIX_SIM_HOST $h $X/$t --gpu 0 "$@" 2>&1 | grep -v '^#'; echo "# $SECONDS"; }
{ for r in 1 2 3; do for l in oldlib lib; do
run $l a A=1 osu_latency_enqueue -m 8:4194304 -i 200 --rivals none D D; run $l a A=1 osu_bw_enqueue -m 1024:4194304 -i 10 --rivals none D D; run $l a A=1 osu_latency -m 1:1048576 -i 200 D D
run $l b MPIX_GDS_STAGE_POOL=16777216 osu_bw_enqueue -m 262144:16777216 -W 16 -i 4 -x 1 --rivals none D D; done; done; } > $OUT/near.txt 2>&1
for w in "queues_behind_many" "queues_wanted queues_sent" "free_wanted"; do timeout 60 env CUDA_DEVICE_MAX_CONNECTIONS=3 MPIX_GDS_STAGE_POOL=8388608 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $B/tests/enq_stall --limit 55 --split $w 2>&1 | tail -1; done
awk '/^##/{k=$2" "$3" "$4} /^(8|1024|8192|65536|262144|1048576|4194304|16777216) /{v[k" "$1]=v[k" "$1]" "$2} END{for(i in v)print i,v[i]}' $OUT/near.txt | sort -k3,3 -k2,2 -k4,4n -k1,1r; echo $SECONDS; echo quit | nvidia-cuda-mps-control
