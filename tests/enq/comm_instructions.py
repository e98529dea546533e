#!/usr/bin/env python3
"""Counts, with callgrind, what freeing one stream communicator of many and
making another takes of libmpix_gds.so's own instructions, on the software GPU:
with 1,000 of them about what it takes with 10, for nothing looks through all.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import callgrind  # noqa: E402 (the path comes first)

LAPS, FEW, MANY = 12, 10, 1000
CALLS = ("MPI_Comm_free", "MPI_Comm_dup")
# Most instructions more: a look at each of the others would take thousands.
MORE = 500


def run(options, folder):
    output = os.path.join(folder, "comms")
    callgrind.run(options, f"{output}.%q{{PMI_RANK}}", (LAPS, FEW, MANY),
                  flags=("--dump-before=phase_lap",
                         *(f"--toggle-collect={call}" for call in CALLS)),
                  variables=(("LD_LIBRARY_PATH", options.cuda),
                             ("MPIX_SIM_GPUS", 2)))
    return output


def laps_of(options, output, first):
    """What laps take, those that wait least first. Dump n ends where lap n
    begins, from 1 on."""
    library = os.path.basename(options.library)
    parts = (callgrind.self_costs(f"{output}.0.{first + i}", library)
             for i in range(LAPS))
    return sorted(sum(part.values()) for part in parts)


def main():
    options = callgrind.options(__doc__, 280, paths=("cuda",))
    with tempfile.TemporaryDirectory() as folder:
        output = run(options, folder)
        few = laps_of(options, output, 2)
        many = laps_of(options, output, LAPS + 3)
    good = 0 < few[0] and many[0] <= few[0] + MORE
    for count, laps in ((FEW, few), (MANY, many)):
        print(f"with {count:4} communicators: {laps[0]} instructions of ours "
              f"(to {laps[-1]}) to free one and to make one")
    if not good:
        print(f"FAILED: more than {MORE} more with {MANY}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
