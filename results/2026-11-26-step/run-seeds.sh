# The seeds job of README.md, run on the device machine from the repository root.
. .device/job1.sh
M="timeout 100 mpiexec -n 4 -genv LD_PRELOAD $B/lib/libmpix_gds.so"
cat > d.py <<'P'
import sys; sys.path.insert(0,'new/tests/enq'); sys.argv=['x']
import random, rows
s=int(sys.stdin.read()); w=" ".join(random.Random(f"{n} {s}").choice([*y.values()]) for n,y in rows.WAYS.items()).split()
print(" ".join(["-genv %s %s"%tuple(x.split("=")) for x in w if not x.startswith("--")]),"|"," ".join(x for x in w if x.startswith("--")))
P
one() { r=$(echo $1 | python3 -B d.py); e=${r%%|*}; o=${r##*|}; $M $e $B/tests/$2 --laps 50 --limit 90 --warm $3 > $OUT/s-$1-$2.txt 2>&1; echo "$1 $2 $3 ($o) [$e] rc $? $(grep -c 'all well' $OUT/s-$1-$2.txt) ${SECONDS}"; }
one 605 enq_life --split; one 606 enq_pull; one 607 enq_memory --split; one 608 enq_group --split
for lap in 1 2; do one 605 enq_life --split & one 606 enq_pull & one 607 enq_memory --split & one 608 enq_group --split & wait; done
tail -n 5 $OUT/*.txt | cut -c1-300
tar czf $OUT/all.tgz -C $OUT . 2>/dev/null; rm $OUT/*.txt
