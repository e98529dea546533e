#!/usr/bin/env python3
"""Prints the rows of the enqueued tests: groups of cases, each with some
ranks, settings and options, as covering arrays.

    rows.py GROUP..

A line a row: what it covers that the lines before do not (1: a value, 2: a
pair of values, 3: a triple), group, name, ranks, options, variables; separated
by "|", and by blanks inside. cmake reads them (CMakeLists.txt).
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import covering  # noqa: E402 (the path comes first)

# What may differ between runs of one group: variables and options by their
# name in a test's, "" where it is the default. Messages of the tests fill
# rings of 2 MiB now and then.
WAYS = {
    "long messages": {"pulled": "MPIX_GDS_EAGER=4096 MPIX_GDS_PULL=4097",
                      "": "", "unpulled": "MPIX_GDS_PULL=0",
                      "staged": "MPIX_GDS_EAGER=0"},
    "rings": {"": "MPIX_GDS_RING=33554432", "little": "MPIX_GDS_RING=2097152"},
    "trigger": {"": "MPIX_GDS_TRIGGER=auto",
                "kernel": "MPIX_GDS_TRIGGER=kernel",
                "memop": "MPIX_GDS_TRIGGER=memop"},
    "buffers": {"": "", "warm": "--warm"},
    "hosts": {"": "", "split": "--split"},
    "GPUs": {"gpu": "MPIX_SIM_GPUS=1", "": "MPIX_SIM_GPUS=2",
             "gpus": "MPIX_SIM_GPUS=4"},
    "peer access": {"": "MPIX_SIM_PEERS=1", "alone": "MPIX_SIM_PEERS=0"},
    "delays": {"": "MPIX_SIM_DELAY=0", "d30": "MPIX_SIM_DELAY=30",
               "d300": "MPIX_SIM_DELAY=300", "d1500": "MPIX_SIM_DELAY=1500"},
}
RANKS = (2, 3, 4)
STRENGTHS = (1, 2, 3)
SEED = 1


def factors_of(groups):
    return [list(groups), list(RANKS)] + [list(ways) for ways in WAYS.values()]


def rows(groups):
    """(strength, case): each array goes on with the one before."""
    factors = factors_of(groups)
    found = []
    for strength in STRENGTHS:
        more = covering.covering(factors, strength, SEED,
                                 start=[case for _, case in found])
        found += [(strength, case) for case in more]
    return found


def line_of(number, strength, case):
    group, ranks, *tags = case
    words = " ".join(ways[tag]
                     for ways, tag in zip(WAYS.values(), tags)).split()
    options = [word for word in words if word.startswith("--")]
    variables = [word for word in words if word not in options]
    variables.append(f"MPIX_SIM_SEED={number}")
    name = "_".join([str(ranks), "any", *filter(None, tags)])
    return "|".join([str(strength), group, name, str(ranks),
                     " ".join(options), " ".join(variables)])


def main(groups):
    for number, (strength, case) in enumerate(rows(groups), 1):
        print(line_of(number, strength, case))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
