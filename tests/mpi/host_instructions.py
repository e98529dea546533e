#!/usr/bin/env python3
"""Counts, with callgrind, what libmpix_gds.so adds to calls on host memory when
CUDA is in the process: its own instructions, and calls into libcuda, a call
of MPI. Fails above the limits; docs/design.md has what was measured.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import callgrind  # noqa: E402 (the path comes first)

LAPS = 100
PHASES = ("Send", "Recv", "Isend_Wait", "Irecv_Wait")
# Most instructions of ours a lap of any phase, and calls into the driver: some
# ten per cent above what was measured, with gcc 12 (Clang's code has 30 to 45
# more, so the builds with it do not run this).
LIMITS = {("stack", "none"): (20, 0), ("stack", "context"): (65, 0),
          ("mapped", "loaded"): (150, 1), ("mapped", "begun"): (150, 1),
          ("mapped", "context"): (150, 1), ("mapped", "gpu"): (150, 1)}


def driver_calls(path):
    """How often cuPointerGetAttribute(s) was entered, by the calls= lines."""
    entered, names, callee = 0, {}, ""
    with open(path) as lines:
        for line in lines:
            field, _, value = line.rstrip("\n").partition("=")
            if field in ("fn", "cfn"):
                number, _, name = value.partition(" ")
                if name:
                    names[number] = name
                callee = names[number]
            elif field == "calls" and callee.startswith("cuPointerGetAttr"):
                entered += int(value.split()[0])
    return entered


def measure(options, memory, state, folder):
    output = os.path.join(folder, f"{memory}-{state}")
    callgrind.run(options, f"{output}.%q{{PMI_RANK}}", (LAPS, memory, state),
                  flags=("--dump-before=phase_*",),
                  variables=(("LD_LIBRARY_PATH", options.cuda),))
    # The part that ends where the next phase begins holds a phase; the first
    # round of phases is for what is found at first use.
    parts = [f"{output}.0.{len(PHASES) + 3 + i}" for i in range(len(PHASES))]
    library = os.path.basename(options.library)
    return [(sum(callgrind.self_costs(part, library).values()) / LAPS,
             driver_calls(part) / LAPS) for part in parts]


def main():
    options = callgrind.options(__doc__, 60, paths=("cuda",))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for (memory, state), (most, calls) in LIMITS.items():
            for phase, (ours, asked) in zip(
                    PHASES, measure(options, memory, state, folder)):
                good = 0 < ours <= most and asked == calls
                failed |= not good
                print(f"{memory:6} {state:7} {phase:10} {ours:7.1f} "
                      f"instructions, {asked:.2f} driver calls"
                      f"{'' if good else '  FAILED'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
