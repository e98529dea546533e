#!/bin/sh
# So many laps of both benchmarks, with what else the machine does: bench.sh BUILD LAPS > speed.txt
set -eu
build=$1
for lap in $(seq "$2"); do
    echo "lap $lap, load $(cut -d ' ' -f 1 /proc/loadavg)"
    "$build/bin/hca_bench"
    for inline in yes no; do
        echo "verbs: MPIX_SIM_HCA_INLINE=$inline"
        MPIX_SIM_HCA_NETWORK=bench MPIX_SIM_HCA_INLINE=$inline "$build/bin/mpix-gds-run" \
            --sim=hca "$build/tests/hca_bench_verbs"
    done
done
