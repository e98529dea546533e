# The last job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH; X=$B/libexec/mpix-gds; T=$B/tests
M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"
$M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 5 --kernel 4 --periodic
$M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 3 --kernel 4
$M -n 2 $X/osu_halo_enqueue -m 8192:262144 --rounds 3 --kernel 20 --periodic --variants program,group,startall,enqueued,nccl
for n in 2 3; do for g in group order match request waitall pull persist memory; do timeout 30 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $n $T/enq_$g > log.tmp 2>&1; echo "$n $g rc $? $(grep -c 'all well' log.tmp) $(grep -c 'bug in' log.tmp)"; done; done
