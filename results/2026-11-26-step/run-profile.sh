# The profile job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
cat /proc/sys/kernel/perf_event_paranoid
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
B=$PWD/new/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds;
for v in group nccl enqueued; do PROF_OUT=$OUT/p-$v timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so:$PWD/prof.so -n 2 $X/osu_halo_enqueue -m 8192:8192 -i 20000 --rounds 3 --kernel 4 --periodic --variants $v | grep -v '^#'; done
cp $(ldconfig -p | awk '/libcuda.so.1/ {print $NF; exit}') $OUT/ 2>/dev/null; rm -f $OUT/libcuda*; ls -la $OUT; tar czf $OUT/all.tgz -C $OUT . 2>/dev/null; rm $OUT/p-*
timeout 100 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n 2 $X/osu_enqueue_cost --rounds 3 -m 8192:8192 -i 300
