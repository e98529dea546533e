# The turns job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf base.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
for r in 1 2 3; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 5 --kernel 4 --periodic --variants enqueued,group,startall,nccl,graph 2>&1 | grep -v '^#'
done; done > $OUT/turns.txt 2>&1; cat $OUT/turns.txt
