# The job of README.md about one H100, run on the device machine from the
# repository root.
cd .device && tar xzf mpich.tgz && tar xzf halo.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"; H=$PWD/new/build/libexec/mpix-gds/osu_halo_enqueue
c() { n=$1; shift; timeout 60 mpiexec $P -n "$n" "$H" -i 30 -x 5 --rounds 1 "$@" > c.txt 2>&1; echo "check -n $n $*: exit $?, $(grep -c Pass c.txt) pass, $(grep -c Fail c.txt) fail"; grep -E "wrong value|left out|Fail" c.txt | head -5; cat c.txt >> "$OUT/halo.txt"; }
c 1 --dims 3 --periodic -m 1024:32768
c 1 --dims 2 --periodic -m 1024:65536
timeout 100 mpiexec $P -n 1 "$H" --periodic --dims 1 -m 8192:262144 --rounds 5 --kernel 4 2>&1 | tee -a $OUT/halo.txt
timeout 100 mpiexec $P -n 1 "$H" --periodic --dims 2 -m 8192:262144 --rounds 3 --kernel 4 2>&1 | tee -a $OUT/halo.txt
