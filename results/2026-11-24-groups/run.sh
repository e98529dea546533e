# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf before.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH; N=$LD_LIBRARY_PATH
T=$B/tests; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
H="timeout 40 mpiexec $P -n 2 $X/osu_halo_enqueue"
for p in "" --periodic; do echo "## halo $p"; $H -m 8192:8192 --rounds 5 --kernel 4 $p; $H -m 262144:262144 --rounds 5 --kernel 4 $p; done 2>&1 | tee $OUT/halo.txt
for r in 1 2 3; do for w in before new; do export LD_LIBRARY_PATH=$MP:$PWD/$w/build/lib:$N; Y=$PWD/$w/build/libexec/mpix-gds
 M="timeout 25 mpiexec -genv LD_PRELOAD $PWD/$w/build/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $Y/osu_latency_enqueue --rounds 1 --rivals none -m 8:16777216 -i 200 -x 20; $M $Y/osu_bw_enqueue --rounds 1 --rivals none -m 8:4194304 -i 20 -x 4; $M $Y/osu_enqueue_cost --rounds 2 --rivals none -m 8:8192 -i 300; } >> $OUT/ab.txt 2>&1; done; done
export LD_LIBRARY_PATH=$N
{ timeout 60 mpiexec $P -n 2 $X/osu_bw_enqueue --rounds 3 --rivals nccl -m 65536:131072 -i 20 -x 4; } 2>&1 | tee $OUT/rivals.txt
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes; grep -q "bug in MPIX-GDS" $OUT/log.tmp && ok=BUG
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -8 $OUT/log.tmp; (echo "== $name"; cat $OUT/log.tmp) >> $OUT/all.txt; }
t group 30 $P -n 2 $T/enq_group; t group_matrix 60 $P -n 2 $T/enq_group_matrix; t group3 30 $P -n 3 $T/enq_group
for g in order match request waitall pull; do t warm_$g 30 $P -n 2 $T/enq_$g --limit 25 --laps 4 --warm; done
t persist 30 $P -n 2 $T/enq_persist; t matrix 60 $P -n 2 $T/enq_persist_matrix
timeout 60 compute-sanitizer --tool memcheck $B/tests/none >/dev/null 2>&1; UCX_MEM_EVENTS=no timeout 100 mpiexec $P -genv UCX_MEM_EVENTS no -n 1 compute-sanitizer --tool memcheck $T/enq_group --limit 90 > $OUT/memcheck.txt 2>&1; tail -3 $OUT/memcheck.txt
rm -f $OUT/log.tmp; gzip $OUT/all.txt $OUT/ab.txt
