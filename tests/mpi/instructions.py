#!/usr/bin/env python3
"""Counts, with callgrind, the instructions that a passed-through MPI call
spends in libmpix_gds.so: exactly, as the difference between a long and a
short run, divided by the difference in calls. Fails above the limit.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import callgrind  # noqa: E402 (the path comes first)
from no_input import NO_INPUT  # noqa: E402

LIMIT = 10
SHORT, LONG = 20, 120
# Calls of each function in one lap of calls.c.
PER_LAP = {"MPI_Irecv": 1, "MPI_Send": 1, "MPI_Wait": 2, "MPI_Isend": 1,
           "MPI_Recv": 1, "MPI_Test": 1}


def self_costs(path, library):
    """Instructions by function of one object, from a callgrind file with
    compressed names: (id) name at first mention, (id) alone later."""
    names, costs = {}, collections.Counter()
    current_object = current_function = None
    skip = False

    def name_of(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            field, equals, value = line.partition("=")
            if equals and field == "ob":
                current_object = name_of("ob", value)
            elif equals and field == "cob":
                name_of("ob", value)
            elif equals and field == "fn":
                current_function = name_of("fn", value)
            elif equals and field == "cfn":
                name_of("fn", value)
            elif equals and field == "calls":
                skip = True  # the next line is the cost of the callee
            elif re.match(r"[+*\-0-9]", line):
                if not skip and os.path.basename(current_object) == library:
                    costs[current_function] += int(line.split()[1])
                skip = False
    return costs


def measure(options, laps, folder):
    output = os.path.join(folder, f"laps{laps}")
    command = [options.mpiexec, "-genv", "LD_PRELOAD",
               f"{options.library}:{options.sim}", "-n", "2",
               options.valgrind, "--tool=callgrind", "--quiet",
               f"--callgrind-out-file={output}.%p",
               options.program, str(laps)]
    subprocess.run(command, check=True, stdin=NO_INPUT,
                   timeout=options.timeout)
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
             if name.startswith(f"laps{laps}.")]
    assert len(files) == 2, files
    return self_costs(files[0], os.path.basename(options.library))


def main():
    options = callgrind.options(__doc__, 250)
    with tempfile.TemporaryDirectory() as folder:
        short = measure(options, SHORT, folder)
        long = measure(options, LONG, folder)
    failed = False
    for function, per_lap in PER_LAP.items():
        calls = per_lap * (LONG - SHORT)
        each = (long[function] - short[function]) / calls
        verdict = "ok" if 0 < each <= LIMIT else "FAILED"
        failed |= verdict != "ok"
        print(f"{function:10} {each:6.2f} instructions a call  {verdict}")
    others = {function: cost - short[function] for function, cost
              in long.items() if function not in PER_LAP
              and cost != short[function]}
    if others:
        print("other functions of ours grew with the calls:", others)
    return 1 if failed or others else 0


if __name__ == "__main__":
    sys.exit(main())
