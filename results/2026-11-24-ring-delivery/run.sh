# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes; grep -q "bug in MPIX-GDS" $OUT/log.tmp && ok=BUG
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -8 $OUT/log.tmp; (echo "== $name"; cat $OUT/log.tmp) >> $OUT/all.txt; }
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
T=$B/tests
for g in order match request waitall defects life memory release; do t $g 40 $P -n 2 $T/enq_$g --limit 35 --laps 2; done
for g in order match request waitall pull; do t one_$g 40 $P -n 1 $T/enq_$g --limit 35 --laps 4 --warm; done
K="-genv MPIX_GDS_TRIGGER kernel -genv MPIX_GDS_EAGER 4096 -genv MPIX_GDS_PULL 4097"
for g in match pull request; do t one_kernel_$g 40 $P $K -n 1 $T/enq_$g --limit 35 --laps 4 --warm; done
for g in requests mixed coll; do t gpu_$g 30 $P -n 2 $T/gpu_$g; done
S="-genv CUDA_DEVICE_MAX_CONNECTIONS 3 -genv MPIX_GDS_STAGE_POOL 134217728"
for n in 1 2; do for c in free_ring queues_ring free_wanted queues_wanted; do t stall_${n}_$c 30 $P $S -n $n $T/enq_stall --limit 25 $c; done; done
for g in match request; do timeout 120 mpiexec $P -genv UCX_MEM_EVENTS no -n 1 compute-sanitizer --tool memcheck $T/enq_$g --limit 110 --laps 1 > $OUT/memcheck_$g.txt 2>&1; echo "memcheck $g rc $?"; grep -E "ERROR SUMMARY|all well|Invalid" $OUT/memcheck_$g.txt | head -5; done
for r in 1 2 3 4; do for w in base new; do X=$B/libexec/mpix-gds; export LD_LIBRARY_PATH=$MP:$PWD/$w/build/lib
 M="timeout 20 mpiexec -genv LD_PRELOAD $PWD/$w/build/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:65536 -i 100 -x 20; $M $X/osu_enqueue_cost --rounds 2 --rivals none -m 8:64 -i 500; } >> $OUT/ab.txt 2>&1; done; done
cat $OUT/ab.txt | grep -E "^##|^8 |^64 |^65536 "; rm -f $OUT/log.tmp; gzip $OUT/all.txt
