# The first job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf base.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use new
for g in group order match request waitall pull persist memory; do timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $B/tests/enq_$g > log.tmp 2>&1; echo "$g rc $? $(grep -c 'all well' log.tmp) $(grep -c 'bug in' log.tmp)"; done
for r in 1 2; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants program,enqueued,group,startall,nccl | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 262144:262144 --rounds 3 --kernel 4 --periodic --variants program,enqueued,group,startall,nccl | grep -v '^#'
$M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:1048576 -i 200 -x 20 | grep -v '^#'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
done; done > $OUT/ab.txt 2>&1; cat $OUT/ab.txt
