# One GPU under MPS: the tests of stream communicators that end no process, as they are and with little pinned memory.
cd .device && for f in mpich fin; do tar xzf $f.tgz; done; . mpich/env.sh
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps; mkdir -p /tmp/mps; nvidia-cuda-mps-control -d
nvidia-smi -L; date -u; export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/fin/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
one() { n=$1; e=$2; shift 2; b=$SECONDS; l=$(mktemp $OUT/c-XXXX.log); timeout 100 env $e mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so -genv MPIX_GDS_SUMMARY all -n $n $B/tests/enq_"$@" --limit 90 > $l 2>&1; rc=$?; echo "$n $e $* rc $rc all-well $(grep -c 'all well' $l) fragments $(grep -oE 'fragments_used [0-9]+' $l | awk '{s+=$2} END {print s+0}') kept $(grep -oE 'sends_kept [0-9]+' $l | awk '{s+=$2} END {print s+0}') $(grep -ohE 'does not hold.*|not done.*' $l | head -1) took $((SECONDS-b))"; [ $rc = 0 ] || { echo "== $*"; grep -v '^=' $l | tail -5 | cut -c1-240; } >> $OUT/logs; rm -f $l; }
L="MPIX_GDS_STAGE_POOL=4194304 MPIX_GDS_FRAGMENT=131072"
for t in match persist memory waitall order streams life near wildcard group corners defects request status gpus handler transport; do [ $SECONDS -gt 400 ] && break; one 2 A=1 $t; one 2 A=1 $t --split; one 2 "$L" $t --split; done > $OUT/groups.txt 2>&1
one 1 "$L" match >> $OUT/groups.txt; one 1 A=1 life >> $OUT/groups.txt; one 2 MPIX_GDS_TIMEOUT=2 d9_timeout --split >> $OUT/groups.txt
cat $OUT/groups.txt; cat $OUT/logs 2>/dev/null; echo $SECONDS; echo quit | nvidia-cuda-mps-control
