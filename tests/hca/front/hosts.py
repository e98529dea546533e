#!/usr/bin/env python3
"""An MPI program on two hosts that share nothing but the software HCA.

hosts.py MPIEXEC RANKS LAUNCHER.. -- PROGRAM

Half of the ranks say that they are on one host and half on another
(MPIX_SIM_HOST), and each rank is in a network namespace of its own: packets of
others reach it by the HCA alone."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

SKIPPED = 77
SECONDS = 120
APART = ["unshare", "--net"]


def may_unshare():
    try:
        done = subprocess.run([*APART, "true"], stdin=NO_INPUT,
                              stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def main():
    mpiexec, ranks, *rest = sys.argv[1:]
    if not may_unshare():
        print("no network namespaces: install util-linux, and be root")
        return SKIPPED
    command = [arg for arg in rest if arg != "--"]
    line = [mpiexec]
    for host in ("one", "two"):
        line += ["-n", str(int(ranks) // 2), "-env", "MPIX_SIM_HOST", host,
                 *APART, *command, ":"]
    return subprocess.run(line[:-1], stdin=NO_INPUT,
                          timeout=SECONDS).returncode


if __name__ == "__main__":
    sys.exit(main())
