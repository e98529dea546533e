# More turns of README.md's job, on the same machine: the other one first.
cd .device && { [ -d new ] || { tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz; }; } && . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; X=$B/libexec/mpix-gds; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH
for r in 1 2 3 4 5; do for w in new base; do export LD_LIBRARY_PATH=$MP:$PWD/$w/build/lib
 M="timeout 20 mpiexec -genv LD_PRELOAD $PWD/$w/build/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:64 -i 100 -x 20; $M $X/osu_enqueue_cost --rounds 2 --rivals none -m 8:64 -i 500; $M $X/osu_latency -m 8:64 -i 300 D D; } >> $OUT/turns.txt 2>&1; done; done
grep -E "^##|^8 |^64 |Test" $OUT/turns.txt
