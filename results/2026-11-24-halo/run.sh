# The job of README.md, run on the device machine from the repository root, on
# one GPU (right results, and how it runs; times of ranks that share a GPU say
# little) or several. carry.sh has made new.tgz.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc; sha256sum new.tgz
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
G=$(nvidia-smi -L | wc -l); N=2; [ "$G" -ge 4 ] && N=4
H=$B/libexec/mpix-gds/osu_halo_enqueue; P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
h() { name=$1; lim=$2; n=$3; shift 3; { echo "## $name: -n $n $*"; timeout "$lim" mpiexec $P -n "$n" "$H" --json "$OUT/$name.json" "$@"; echo "exit $?"; } 2>&1 | tee -a "$OUT/all.txt"; }
# Right results first: short, every number of dimensions; no files of their own.
c() { n=$1; shift; timeout 60 mpiexec $P -n "$n" "$H" -i 30 -x 5 --rounds 1 "$@" > c.txt 2>&1; echo "check -n $n $*: exit $?, $(grep -c Pass c.txt) pass, $(grep -c Fail c.txt) fail"; grep -E "wrong value|left out|Fail" c.txt | head -5; cat c.txt >> "$OUT/all.txt"; }
for d in 1 2 3; do c 2 --dims $d --periodic -m 1024:262144 --kernel 0; c $N --dims $d -m 8192:32768; done
c 1 --dims 3 --periodic -m 1024:32768 --variants host,enqueued,nccl,nccl_graph
# The goals of issue 14: 1-D, kernel of 4 us, on two GPUs; 2-D on all.
h line 150 2 -m 8192:262144 --rounds 5 --kernel 4
h ring 100 2 -m 8192:262144 --rounds 5 --kernel 4 --periodic
h plane4 120 $N --dims 2 --periodic -m 8192:262144 --rounds 3 --kernel 4 -i 200
h plane20 120 $N --dims 2 --periodic -m 8192:262144 --rounds 3 --kernel 20 -i 200
cd new/jacobi && for v in before enqueued runtime; do for n in 1 2 4; do timeout 30 mpiexec $P -n $n ./jacobi_$v; echo "jacobi_$v -n $n: exit $?"; done; done
gzip "$OUT/all.txt"
