#!/bin/bash
# run.sh LOG SECONDS FIRST-SEED COMMAND..: seeds in turn until the time is up.
log=$1 end=$(($(date +%s) + $2)) seed=$3; shift 3
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:exitcode=66 UBSAN_OPTIONS=print_stacktrace=1
echo "begin $(date -u +%FT%TZ), load $(cut -d' ' -f1-3 /proc/loadavg): $* ROUNDS SEED" > "$log"
n=0 bad=0
while [ "$(date +%s)" -lt "$end" ]; do
  if ! timeout 600 "$@" "$seed" > "$log.last" 2>&1; then bad=$((bad+1)); cp "$log.last" "$log.bad.$seed"; echo "seed $seed: failed" >> "$log"; fi
  n=$((n+1)) seed=$((seed+2))
  echo "$n seeds, last $((seed-2)), $bad failed, $(date -u +%FT%TZ)" > "$log.now"
done
echo "end $(date -u +%FT%TZ): $n seeds, last $((seed-2)), $bad failed, load $(cut -d' ' -f1-3 /proc/loadavg)" >> "$log"
