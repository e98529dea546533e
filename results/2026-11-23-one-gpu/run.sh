# The job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf base.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u; nproc
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$B/lib
for o in "-n 2" "-n 1" "-n 2 --no-gpu" "-n 2 --sim=gpu"; do echo "== doctor $o"; timeout 90 $B/bin/mpix-gds-doctor $o; echo "exit $?"; done
timeout 90 $B/bin/mpix-gds-doctor -n 2 --json > $OUT/doctor.json; echo "doctor --json exit $?"
(unset CUDA_DEVICE_MAX_CONNECTIONS; timeout 90 $B/bin/mpix-gds-doctor -n 2 | tail -15; echo "exit ${PIPESTATUS[0]}")
t() { name=$1; lim=$2; shift 2; s=$(date +%s%N); timeout $lim mpiexec "$@" > $OUT/log.tmp 2>&1; rc=$?; e=$(( ($(date +%s%N)-s)/1000000 ))
 ok=no; grep -q "all well" $OUT/log.tmp && ok=yes
 echo "== $name rc $rc well $ok $e ms"; [ $ok = yes ] || tail -8 $OUT/log.tmp; (echo "== $name"; cat $OUT/log.tmp) >> $OUT/all.txt; }
P="-genv LD_PRELOAD $B/lib/libmpix_gds.so"
T=$B/tests
t text 60 $P -n 2 $T/enq_text --limit 55 arguments operations others_codes
t text_many 60 $P -n 2 $T/enq_text --limit 55 many_errors
t text_fatal 60 $P -n 2 $T/enq_text --limit 50 fatal; grep fatal: $OUT/log.tmp
t transport 60 $P -n 2 $T/enq_transport --limit 50 self host_memory calls_of_mpi refused same_gpu shared_gpu
t transport_split 60 $P -n 2 $T/enq_transport --limit 50 other_host --split
R="-genv MPIX_GDS_REQUIRE"
t req_self 60 $P $R self -n 1 $T/enq_require --limit 50 satisfied
t req_shared 60 $P $R p2p -n 2 $T/enq_require --limit 50 refused_same_gpu
t req_host 60 $P $R ucx -n 2 $T/enq_require --limit 50 satisfied --split
t req_far 60 $P $R self,p2p,ib-gpu -n 2 $T/enq_require --limit 50 refused_far --split
t req_unknown 60 $P $R p2q -n 2 $T/enq_require --limit 50 satisfied; grep fatal: $OUT/log.tmp
mkdir tr; t trace 60 $P -genv MPIX_GDS_TRACE yes -genv MPIX_GDS_TRACE_FILE $PWD/tr/%r.json -genv MPIX_GDS_SUMMARY all -n 2 $T/enq_trace --limit 50 exchange; grep mpix-gds $OUT/log.tmp | head -30
$B/bin/mpix-gds-trace merge $OUT/trace.json tr/*.json; $B/bin/mpix-gds-trace summary tr/*.json | head -40
for g in order match life memory request streams waitall; do t $g 60 $P -n 2 $T/enq_$g --limit 55 --laps 5; t ${g}_self1 60 $P -n 2 $T/enq_$g --limit 55 --laps 5 --split; done
t watch 40 $P -genv MPIX_GDS_WATCHDOG 0.2 -n 2 $T/enq_d9_watch --limit 30 from_anybody
for r in 1 2 3; do for w in base new; do W=$PWD/$w/build; LD_LIBRARY_PATH=$PWD/mpich/lib:$W/lib; X=$W/bin; [ -d $W/libexec ] && X=$W/libexec/mpix-gds
 M="timeout 60 mpiexec -genv LD_PRELOAD $W/lib/libmpix_gds.so -n 2"
 { echo "## $w $r"; $M $X/osu_latency -m 8:65536 -i 20000 H H; $M $X/osu_latency_enqueue --rounds 3 --rivals none -m 8:4194304 -i 200 -x 20; $M $X/osu_enqueue_cost --rounds 3 --rivals none -m 8:8192 -i 500; $M $X/osu_latency -m 8:4194304 -i 200 D D; } >> $OUT/ab.txt 2>&1; done; done
tail -60 $OUT/ab.txt; rm -f $OUT/log.tmp; gzip $OUT/all.txt
