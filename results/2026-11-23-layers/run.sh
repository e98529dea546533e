# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; MP=$PWD/mpich/lib; export LD_LIBRARY_PATH=$MP:$B/lib:$LD_LIBRARY_PATH
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -8 $OUT/log.tmp; (echo "== $name"; cat $OUT/log.tmp) >> $OUT/all.txt; }
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
T=$B/tests
for g in order match life memory request streams waitall corners defects; do t $g 60 $P -n 2 $T/enq_$g --limit 55 --laps 5; t ${g}_split 60 $P -n 2 $T/enq_$g --limit 55 --laps 5 --split; done
for n in d1_short_receive d1_long_receive d1_crossing_sends d9_any_source d9_stopped; do t survive_$n 60 -disable-auto-cleanup $P -n 3 $T/enq_survive --limit 50 $n; done
t timeout 90 $P -genv MPIX_GDS_TIMEOUT 1 -n 2 $T/enq_d9_timeout --limit 80 receive_ send_ late_
t watch 40 $P -genv MPIX_GDS_WATCHDOG 0.2 -n 2 $T/enq_d9_watch --limit 30 from_anybody
t self_1 60 $P -genv MPIX_GDS_REQUIRE self -n 1 $T/enq_require --limit 50 satisfied
t d6 120 $P -n 2 $T/enq_d6 2000 timed --limit 110
for r in 1 2 3; do for w in base new; do W=$PWD/$w/build; export LD_LIBRARY_PATH=$MP:$W/lib; X=$W/libexec/mpix-gds
 M="timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $X/osu_latency -m 8:4096 -i 20000 H H; $M $X/osu_latency_enqueue --rounds 3 --rivals none -m 8:1048576 -i 200 -x 20; $M $X/osu_enqueue_cost --rounds 5 --rivals none -m 8:8192 -i 1000; } >> $OUT/ab.txt 2>&1; done; done
tail -20 $OUT/ab.txt; rm -f $OUT/log.tmp; gzip $OUT/all.txt
