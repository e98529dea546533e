# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$B/lib
t() { # name, limit, n, options -- command
 name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -12 $OUT/log.tmp; grep -E "taken for dead|has not answered" $OUT/log.tmp | head -2; cat $OUT/log.tmp >> $OUT/all.txt; }
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
for i in 1 2 3; do t survive_crossing_$i 60 -disable-auto-cleanup $P -n 3 $B/tests/enq_survive --limit 50 d1_crossing_sends; done
t survive_crossing_split 60 -disable-auto-cleanup $P -n 3 $B/tests/enq_survive --limit 50 --split d1_crossing_sends
for s in "" --split; do t taken_for_dead$s 60 -disable-auto-cleanup $P -genv MPIX_GDS_TIMEOUT 1 -n 3 $B/tests/enq_survive --limit 50 $s d9_taken_for_dead; done
C="receive_ send_ late_ one_of long_ many_"
for tr in kernel memop; do for s in "" --split; do t timeout_$tr$s 90 $P -genv MPIX_GDS_TIMEOUT 1 -genv MPIX_GDS_TRIGGER $tr -n 2 $B/tests/enq_d9_timeout --limit 80 $s $C; done; done
t timeout_pulled 90 $P -genv MPIX_GDS_TIMEOUT 1 -genv MPIX_GDS_PULL 4097 -genv MPIX_GDS_EAGER 4096 -n 2 $B/tests/enq_d9_timeout --limit 80 --warm
for tr in kernel memop; do for c in from_anybody send_without_receive other_stream_is_behind; do t watch_$tr.$c 40 $P -genv MPIX_GDS_WATCHDOG 0.2 -genv MPIX_GDS_TRIGGER $tr -n 2 $B/tests/enq_d9_watch --limit 30 $c; done
for c in named_again long_kernel_is_no_alarm; do t watch_$tr.$c 40 $P -genv MPIX_GDS_WATCHDOG 0.3 -genv MPIX_GDS_TRIGGER $tr -n 2 $B/tests/enq_d9_watch --limit 30 $c; done; done
t watch_dump 40 $P -genv MPIX_GDS_WATCHDOG 0 -n 2 $B/tests/enq_d9_watch --limit 30 dumped_by_call
s=$(date +%s); t d6_10000 200 $P -genv MPIX_GDS_SUMMARY all -genv MPIX_GDS_RING 131072 -n 2 $B/tests/enq_d6 10000 timed --limit 180; grep -vE "^mpix-gds" $OUT/log.tmp | tail -12; grep -E "streams_(given|most|few|used)" $OUT/log.tmp
for r in 1 2; do for w in base new; do W=$PWD/$w/build; LD_LIBRARY_PATH=$PWD/mpich/lib:$W/lib
 for m in 8:65536; do timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2 $W/bin/osu_latency_enqueue --rounds 3 -m $m -i 1000 -x 50 > $OUT/lat_${w}_$r.txt 2>&1; timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2 $W/bin/osu_latency -m 8:65536 H H > $OUT/host_${w}_$r.txt 2>&1; done; tail -16 $OUT/lat_${w}_$r.txt; done; done
rm -f $OUT/log.tmp; gzip $OUT/all.txt
