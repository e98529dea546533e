# The job of README.md, second part, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$B/lib
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -12 $OUT/log.tmp; cat $OUT/log.tmp >> $OUT/all.txt; }
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
for n in d1_short_receive d1_long_receive d1_short_beside d1_long_beside d1_crossing_sends d1_full_ring d1_pull_under_way d9_any_source d9_stopped; do for s in "" --split --warm; do
t survive_$n$s 60 -disable-auto-cleanup $P -n 3 $B/tests/enq_survive --limit 50 $s $n; done; done
for s in "" --split; do t taken_for_dead$s 60 -disable-auto-cleanup $P -genv MPIX_GDS_TIMEOUT 1 -n 3 $B/tests/enq_survive --limit 50 $s d9_taken_for_dead; done
C="receive send_ late_ one_of long_ many_ disconnect_"
for tr in kernel memop; do t timeout_$tr 120 $P -genv MPIX_GDS_TIMEOUT 1 -genv MPIX_GDS_TRIGGER $tr -n 2 $B/tests/enq_d9_timeout --limit 110 $C; done
t timeout_split 120 $P -genv MPIX_GDS_TIMEOUT 1 -n 2 $B/tests/enq_d9_timeout --limit 110 --split $C
t timeout_pulled 120 $P -genv MPIX_GDS_TIMEOUT 1 -genv MPIX_GDS_PULL 4097 -genv MPIX_GDS_EAGER 4096 -n 2 $B/tests/enq_d9_timeout --limit 110 --warm
for g in order match life memory request streams waitall; do t $g 60 $P -n 2 $B/tests/enq_$g --limit 55 --laps 20; done
t pull 100 $P -genv MPIX_GDS_PULL 4097 -genv MPIX_GDS_EAGER 4096 -n 2 $B/tests/enq_pull --limit 95 --laps 10 --warm
t t1_1000 100 $P -n 2 $B/tests/gpu_t1_handles 1000
for r in 1 2; do for w in base new; do W=$PWD/$w/build; LD_LIBRARY_PATH=$PWD/mpich/lib:$W/lib
timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2 $W/bin/osu_latency_enqueue --rounds 3 -m 131072:4194304 -i 50 -x 5 2>&1 | tee -a $OUT/ab.txt | tail -6; timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2 $W/bin/osu_bw_enqueue --rounds 3 -M 3000000000 -m 65536:1048576 -i 8 -x 2 2>&1 | tee -a $OUT/ab.txt | tail -5; done; done
rm -f $OUT/log.tmp; gzip $OUT/all.txt
