#!/usr/bin/env python3
"""Prints the jobs that run the rows of the matrix of messages that may go by
header (direct_rows.py): a covering array of what a job is.

A line a job: what it covers that the lines before do not (1: a value, 2: a pair
of values, 3: a triple), name, ranks, options, variables; separated by "|", and
by blanks inside. cmake reads them (gpulist.cmake).
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import matrix_rows  # noqa: E402 (the path comes first)

# Options and variables by their name in a test's, "" where it is the default.
WAYS = {
    "ranks": {"2": "", "3": "", "4": ""},
    "threads": {"": "", "multiple": "multiple", "threads": "threads"},
    "hosts": {"": "", "far": "far"},
    "GPUs": {"": "", "swapped": "swapped"},
    "delays": {"": "MPIX_SIM_DELAY=0", "d30": "MPIX_SIM_DELAY=30",
               "d300": "MPIX_SIM_DELAY=300"},
    "threshold": {"": "MPIX_GDS_DIRECT=1", "from4096": "MPIX_GDS_DIRECT=4096"},
    "sends": {"": "MPIX_GDS_DIRECT_EAGER=0",
              "eager": "MPIX_GDS_DIRECT_EAGER=300000"},
    "peers": {"": "MPIX_SIM_PEERS=yes", "apart": "MPIX_SIM_PEERS=no"},
}


def line_of(number, strength, case):
    words = " ".join(ways[tag]
                     for ways, tag in zip(WAYS.values(), case)).split()
    options = [word for word in words if "=" not in word]
    variables = [word for word in words if "=" in word]
    variables.append(f"MPIX_SIM_SEED={number}")
    return "|".join([str(strength), "_".join(filter(None, case)), case[0],
                     " ".join(options), " ".join(variables)])


def possible(row):
    """Whether headers are sent: not by two ranks of two hosts, nor where first
    messages come to a GPU that does not reach the sender's."""
    return ((row.get("ranks"), row.get("hosts")) != ("2", "far")
            and (row.get("GPUs"), row.get("peers")) != ("swapped", "apart"))


if __name__ == "__main__":
    for place, job in enumerate(matrix_rows.rows(WAYS, possible), 1):
        print(line_of(place, *job))
