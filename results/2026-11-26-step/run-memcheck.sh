# The memcheck job of README.md, run on the device machine from the repository root.
cd .device && tar xzf mpich.tgz && tar xzf new.tgz && tar xzf supp.tgz && . mpich/env.sh
export CUDA_DEVICE_MAX_CONNECTIONS=32
B=$PWD/new/build; export LD_LIBRARY_PATH=$PWD/mpich/lib:$B/lib:$LD_LIBRARY_PATH
M="timeout 40 mpiexec -genv LD_PRELOAD $B/lib/libmpix_gds.so"
s() { echo "== $*"; timeout 50 $M -n 2 compute-sanitizer --tool memcheck "$@" > log 2>&1; echo "rc $?"; grep "ERROR SUMMARY\|all well\|Invalid\|CUDA API call\|uppress" log | sort | uniq -c | head -8; }
for x in full b c d; do s --suppressions supp/$x.xml $B/tests/enq_order --laps 3 --limit 30; done
s --suppressions supp/api.xml $B/tests/enq_group --laps 3 --limit 30
s --report-api-errors no --destroy-on-device-error kernel $B/tests/enq_order --laps 3 --limit 30
find / -path /proc -prune -o -type d -name "*anitizer*" -print 2>/dev/null | head; f=$(find / -path /proc -prune -o -name "index.html" -path "*anitizer*" -print 2>/dev/null | head -1); [ -n "$f" ] && grep -i -A60 "suppression" $f | sed 's/<[^>]*>//g' | grep -v '^\s*$' | head -150 > $OUT/supp.txt
strings $(dirname $(readlink -f $(which compute-sanitizer)))/compute-sanitizer 2>/dev/null | grep -i suppress > $OUT/strings.txt
