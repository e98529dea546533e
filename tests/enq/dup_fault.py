#!/usr/bin/env python3
"""Lets each allocation of one process fail in turn, until a duplicate of a
stream communicator is made in spite of it: no run may hang or disagree, and
some must have failed in the duplication itself."""
import argparse
import re
import subprocess
import sys

MOST = 400


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--call", default="dup")
    parser.add_argument("program")
    return parser.parse_args()


def run(arguments, n):
    """How the run ended, in the program's words."""
    preload = [arguments.runtime] if arguments.runtime else []
    preload += arguments.preload
    done = subprocess.run(
        [arguments.mpiexec, "-genv", "LD_PRELOAD", ":".join(preload),
         "-genv", "UCX_MEM_EVENTS", "no", "-n", str(arguments.ranks),
         arguments.program, arguments.call, str(n)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        check=False)
    end = re.search(r"^dup: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode == 0 and end:
        return end.group(1)
    sys.exit(f"allocation {n}: exit status {done.returncode}\n"
             f"{done.stdout}{done.stderr}")


def main():
    arguments = parse_arguments()
    failed = row = 0
    for n in range(1, MOST):
        end = run(arguments, n)
        print(f"allocation {n}: {end}")
        failed += end == "failed together"
        row = row + 1 if end == "made" and failed else 0
        if row == 8:  # past it
            break
    if not failed:
        sys.exit("no allocation of a duplicate was made to fail")
    return 0


if __name__ == "__main__":
    sys.exit(main())
