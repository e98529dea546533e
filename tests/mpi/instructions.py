#!/usr/bin/env python3
"""Counts, with callgrind, the instructions that a passed-through MPI call
spends in libmpix_gds.so: exactly, as the difference between a long and a
short run, divided by the difference in calls. Fails above the limit.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import callgrind  # noqa: E402 (the path comes first)

LIMIT = 10
SHORT, LONG = 20, 120
# Calls of each function in one lap of calls.c.
PER_LAP = {"MPI_Irecv": 1, "MPI_Send": 1, "MPI_Wait": 2, "MPI_Isend": 1,
           "MPI_Recv": 1, "MPI_Test": 1}


def measure(options, laps, folder):
    output = os.path.join(folder, f"laps{laps}")
    # In MPI_Init ranks that agree on something wait for each other, as long as
    # it takes; host_instructions.py counts calls of such ranks.
    callgrind.run(options, f"{output}.%p", [laps],
                  variables=(("MPIX_GDS_DIRECT", 0),))
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
             if name.startswith(f"laps{laps}.")]
    assert len(files) == 2, files
    return callgrind.self_costs(files[0], os.path.basename(options.library))


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
