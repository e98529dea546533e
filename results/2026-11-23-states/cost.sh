# The caller's CPU time, before and after in turns (README.md).
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32; MP=$PWD/mpich/lib; X=$PWD/new/build/libexec/mpix-gds
for r in 1 2 3 4 5 6 7 8 9 10; do for w in base new; do export LD_LIBRARY_PATH=$MP:$PWD/$w/build/lib
 echo "## $w $r"; timeout 60 mpiexec -genv LD_PRELOAD $PWD/$w/build/lib/libmpix_gds.so -n 2 $X/osu_enqueue_cost --rounds 3 --rivals none -m 8:8 -i 3000; done; done > $OUT/cost.txt 2>&1; tail -3 $OUT/cost.txt
