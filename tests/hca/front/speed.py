#!/usr/bin/env python3
"""MPIX_SIM_HCA_RATE and LATENCY, as perftest measures them: no faster than they
say. How much slower a machine makes it is no matter here.

speed.py PAIR LAUNCHER.. (PAIR: pair.py)"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

SKIPPED = 77
LATENCY = 400  # us
RATE = 50  # MB/s
LINE = re.compile(r"^ *(\d+) +(\d+) +([\d.]+) +([\d.]+)", re.MULTILINE)


def run(pair, launcher, settings, program):
    """Columns of the client's one line."""
    environment = dict(os.environ)
    for name, value in settings.items():
        environment["MPIX_SIM_HCA_" + name] = str(value)
    done = subprocess.run([sys.executable, pair, "--package", "perftest", "--",
                           *launcher, *program], env=environment,
                          stdin=NO_INPUT, stdout=subprocess.PIPE, text=True,
                          timeout=100)
    print(done.stdout)
    lines = LINE.findall(done.stdout)
    if done.returncode or not lines:
        sys.exit(1)
    return [float(word) for word in lines[-1]]


def main():
    pair, *launcher = sys.argv[1:]
    if not shutil.which("ib_write_lat"):
        print("no ib_write_lat: install perftest")
        return SKIPPED
    best = run(pair, launcher, {"LATENCY": LATENCY},
               ["ib_write_lat", "-n", "100"])[2]
    peak = run(pair, launcher, {"RATE": RATE},
               ["ib_write_bw", "-n", "50", "-s", "65536"])[3]
    print(f"one way in {best} us at best, {peak} MB/s")
    if best < LATENCY:
        print(f"faster than {LATENCY} us")
    # perftest's are of 2^20 bytes; what is under way at the end counts, too.
    if peak > RATE * 1.02:
        print(f"more than {RATE} MB/s")
    return 0 if best >= LATENCY and peak <= RATE * 1.02 else 1


if __name__ == "__main__":
    sys.exit(main())
