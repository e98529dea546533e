#!/usr/bin/env python3
"""Counts, with callgrind, what freeing one stream communicator of many and
making another takes of libmpix_gds.so's own instructions, on the software GPU:
with 1,000 of them about what it takes with 10, for nothing looks through all.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "mpi"))
import callgrind  # noqa: E402 (the path comes first)
from instructions import self_costs  # noqa: E402
from no_input import NO_INPUT  # noqa: E402

LAPS, FEW, MANY = 12, 10, 1000
CALLS = ("MPI_Comm_free", "MPI_Comm_dup")
# Most instructions more: a look at each of the others would take thousands.
MORE = 500


def run(options, folder):
    output = os.path.join(folder, "comms")
    command = [options.mpiexec, "-genv", "LD_PRELOAD",
               f"{options.library}:{options.sim}",
               "-genv", "LD_LIBRARY_PATH", options.cuda,
               "-genv", "MPIX_SIM_GPUS", "2", "-n", "2",
               options.valgrind, "--tool=callgrind", "--quiet",
               "--dump-before=phase_lap",
               *(f"--toggle-collect={call}" for call in CALLS),
               f"--callgrind-out-file={output}.%q{{PMI_RANK}}",
               options.program, str(LAPS), str(FEW), str(MANY)]
    subprocess.run(command, check=True, stdin=NO_INPUT,
                   stdout=subprocess.DEVNULL, timeout=options.timeout)
    return output


def laps_of(options, output, first):
    """What laps take, those that wait least first. Dump n ends where lap n
    begins, from 1 on."""
    library = os.path.basename(options.library)
    return sorted(sum(self_costs(f"{output}.0.{first + i}", library).values())
                  for i in range(LAPS))


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
