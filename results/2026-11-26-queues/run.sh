#!/bin/bash
# From the root of the tree, whose release build is in build/.
set -e
here=results/2026-11-26-queues
cuda=${CUDA_INCLUDE:-/usr/include}
mpicc.mpich -O2 -Wno-stringop-overflow -Iinclude -I"$cuda" $here/queues.c -o /tmp/queues \
    -Lbuild/lib/mpix-gds/sim -l:libcuda.so.1 build/lib/libmpix_gds.so
date -u '+%F %T UTC'
git rev-parse --short HEAD
uptime
cc -O2 -I. results/2026-11-25-matching/bench.c \
    build/lib/static/libmgds_match.a build/lib/static/libmgds_base.a -ldl \
    -lpthread -o /tmp/matching-bench
/tmp/matching-bench
run()
{
    echo "queues $*"
    mpiexec.mpich -n 2 build/bin/mpix-gds-run --sim=gpu:2 /tmp/queues "$@"
}
for how in host enqueue; do
    for who in named any; do
        run $how $who 65536
        run $how $who 10000 1000
    done
done
uptime
