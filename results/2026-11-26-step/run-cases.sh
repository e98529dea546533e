# The cases job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
T="enq_argument enq_corners enq_defects enq_dup enq_gpus enq_group enq_life enq_match enq_memory enq_order enq_persist enq_refuse enq_request enq_status enq_streams enq_waitall enq_pull enq_persist_matrix enq_group_matrix"
P=""; for t in $T; do P="$P $B/tests/$t"; done
camp() { timeout $1 python3 -B new/tests/enq/campaign.py --mpiexec "$(which mpiexec)" --preload $B/lib/libmpix_gds.so --sim "$LD_LIBRARY_PATH" --first $2 --seeds $3 --laps ${4:-20} --timeout 60 $P > $OUT/camp-$2.txt 2>&1; echo "seeds $2 +$3: rc $?"; tail -3 $OUT/camp-$2.txt; }
. .device/job1.sh; tar xzf base.tgz; tar xzf supp.tgz
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
use new
one() { timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -n $1 $B/tests/enq_$2 --limit 55 $3 $4 > $OUT/c-$1-$2$3$4.log 2>&1; rc=$?; echo "$1 $2 $3 $4 rc $rc $(grep -c 'all well' $OUT/c-$1-$2$3$4.log) $SECONDS"; [ $rc = 0 ] && rm $OUT/c-$1-$2$3$4.log || tail -3 $OUT/c-$1-$2$3$4.log; }
{ for n in 2 3 4; do for g in group order match request waitall pull persist memory near life wildcard little streams status corners dup; do one $n $g; done; done
for g in order match waitall pull memory group; do one 2 $g --warm; one 2 $g --warm --split; done
one 2 little --split
for k in eager rget blocking group persistent; do timeout 30 $M -n 2 $B/tests/enq_held $k > log.tmp 2>&1; echo "held $k rc $?"; done
timeout 60 $M -n 2 $B/tests/enq_held --split staged > log.tmp 2>&1; echo "held staged rc $?"; } > $OUT/cases.txt 2>&1
cat $OUT/cases.txt | grep -v "rc 0 1 "
for g in order pull group waitall memory persist little; do timeout 60 $M -n 2 compute-sanitizer --suppressions supp/compute-sanitizer.xml $B/tests/enq_$g --laps 3 --limit 50 > $OUT/m-$g.log 2>&1; rc=$?; echo "memcheck $g rc $rc $(grep -c 'ERROR SUMMARY: 0 errors' $OUT/m-$g.log) of 2, $(grep -c 'all well' $OUT/m-$g.log)"; grep -h "Invalid\|CUDA API call" $OUT/m-$g.log | sort | uniq -c | head -4; done 2>&1 | tee $OUT/memcheck.txt
tar czf $OUT/logs.tgz -C $OUT . 2>/dev/null; find $OUT -type f ! -name logs.tgz ! -name '*.txt' -delete; echo $SECONDS
for r in 1 2 3; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:4194304 -i 200 -x 20 | grep -v '^#'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo $SECONDS
