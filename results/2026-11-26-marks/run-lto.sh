# LTO and PGO against not, in turns.
cd .device && for f in mpich new lto pgo; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
for r in 1 2 3; do for w in new lto pgo; do use $w; echo "## $w $r"
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'; done; done
