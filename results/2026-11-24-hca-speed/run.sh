#!/bin/sh
# Five times each, with what else the machine does: run.sh BUILD > speed.txt
set -eu
build=$1
for lap in 1 2 3 4 5; do
    echo "lap $lap, load $(cut -d ' ' -f 1 /proc/loadavg)"
    "$build/bin/hca_bench"
    for inline in yes no; do
        echo "verbs: MPIX_SIM_HCA_INLINE=$inline"
        MPIX_SIM_HCA_INLINE=$inline "$build/bin/mpix-gds-run" --sim=hca \
            "$build/tests/hca_bench_verbs"
    done
done
