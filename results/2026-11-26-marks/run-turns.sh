# The first GPU job: memcheck, turns of latency, windows, halo; run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf base.tgz && tar xzf new.tgz && tar xzf supp.tgz && . mpich/env.sh
nvidia-smi -L; nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1; date -u
export CUDA_DEVICE_MAX_CONNECTIONS=32
MP=$PWD/mpich/lib; N=$LD_LIBRARY_PATH
use() { B=$PWD/$1/build; export LD_LIBRARY_PATH=$MP:$B/lib:$N; X=$B/libexec/mpix-gds; M="timeout 60 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"; }
for r in 1 2 3; do for w in base new; do use $w; echo "## $w $r"
$M -n 2 $X/osu_latency_enqueue --rounds 1 --rivals none -m 8:4194304 -i 200 -x 20 | grep -v '^#'; $M -n 2 $X/osu_bw_enqueue --rounds 1 --rivals none -m 8:1048576 -i 20 -x 4 | grep -v '^#'
$M -n 2 $X/osu_halo_enqueue -m 8192:8192 --rounds 3 --kernel 4 --periodic --variants enqueued,group,startall,nccl | grep -v '^#'; done; done > $OUT/turns.txt 2>&1; grep -c . $OUT/turns.txt; echo turns $SECONDS
use new
for g in waitall order pull group memory persist little; do [ $SECONDS -gt 420 ] && break; timeout 60 $M -n 2 compute-sanitizer --suppressions supp/compute-sanitizer.xml $B/tests/enq_$g --laps 3 --limit 50 > $OUT/m-$g.log 2>&1; rc=$?; echo "memcheck $g rc $rc $(grep -c 'ERROR SUMMARY: 0 errors' $OUT/m-$g.log) of 2, $(grep -c 'all well' $OUT/m-$g.log) $SECONDS"; grep -h "Invalid\|CUDA API call" $OUT/m-$g.log | sort | uniq -c | head -4; done 2>&1 | tee $OUT/memcheck.txt
tar czf $OUT/logs.tgz -C $OUT . 2>/dev/null; find $OUT -type f ! -name logs.tgz ! -name '*.txt' -delete; echo $SECONDS
