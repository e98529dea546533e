# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf before.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH; N=$LD_LIBRARY_PATH
T=$B/tests; X=$B/libexec/mpix-gds
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
H="timeout 60 mpiexec $P -n 2 $X/osu_halo_enqueue"
for p in "" --periodic; do echo "## halo $p"; $H -m 8192:8192 --rounds 5 --kernel 4 $p; $H -m 262144:262144 --rounds 5 --kernel 4 $p; done 2>&1 | tee $OUT/halo.txt
for r in 1 2 3 4 5; do for w in before new; do export LD_LIBRARY_PATH=$MP:$PWD/$w/build/lib:$N; X=$PWD/$w/build/libexec/mpix-gds
 M="timeout 25 mpiexec -genv LD_PRELOAD $PWD/$w/build/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:16777216 -i 200 -x 20; $M $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:4194304 -i 20 -x 4; $M $X/osu_enqueue_cost --rounds 2 --rivals none -m 8:8192 -i 300; } >> $OUT/ab.txt 2>&1; done; done
export LD_LIBRARY_PATH=$N; X=$B/libexec/mpix-gds
{ timeout 60 mpiexec $P -n 2 $X/osu_bw_enqueue --rounds 3 -m 8192:4194304 -i 20 -x 4; timeout 60 mpiexec $P -n 2 $X/osu_latency_enqueue --rounds 3 -m 8:4194304 -i 200; } 2>&1 | tee $OUT/rivals.txt
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes; grep -q "bug in MPIX-GDS" $OUT/log.tmp && ok=BUG
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -8 $OUT/log.tmp; (echo "== $name"; cat $OUT/log.tmp) >> $OUT/all.txt; }
for n in 2 3; do for g in order match request waitall defects life memory pull; do t ${n}_$g 30 $P -n $n $T/enq_$g --limit 25 --laps 2; done; done
for g in match request waitall order pull; do t warm_$g 30 $P -n 2 $T/enq_$g --limit 25 --laps 4 --warm; done
K="-genv MPIX_GDS_TRIGGER kernel -genv MPIX_GDS_EAGER 4096 -genv MPIX_GDS_PULL 4097"
for g in match pull request; do t kernel_$g 30 $P $K -n 2 $T/enq_$g --limit 25 --laps 4 --warm; done
for g in requests mixed coll; do t gpu_$g 30 $P -n 2 $T/gpu_$g; done
S="-genv CUDA_DEVICE_MAX_CONNECTIONS 3 -genv MPIX_GDS_STAGE_POOL 134217728"
for c in free_ring queues_ring free_staged queues_staged free_wanted queues_wanted free_import queues_import; do t stall_$c 30 $P $S -n 2 $T/enq_stall --limit 25 $c; done
t persist 30 $P -n 2 $T/enq_persist; t matrix 60 $P -n 2 $T/enq_persist_matrix
rm -f $OUT/log.tmp; gzip $OUT/all.txt $OUT/ab.txt
