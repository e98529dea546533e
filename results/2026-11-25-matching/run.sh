#!/bin/bash
# From the root of the tree, whose release build is in build/.
set -e
here=results/2026-11-25-matching
cc -O2 -I. $here/bench.c build/lib/static/libmgds_match.a \
    build/lib/static/libmgds_base.a -ldl -lpthread -o /tmp/matching-bench
date -u '+%F %T UTC'
uptime
time -p /tmp/matching-bench
