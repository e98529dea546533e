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
# What is sent: the memory, the state of CUDA, bytes, MPIX_GDS_DIRECT and
# MPIX_GDS_ARM. Most instructions of ours a lap by phase, some ten per cent
# above what was measured, with gcc 12 (Clang's code has 30 to 45 more, so the
# builds with it do not run this); None: a rank that looks for direct messages
# asks about what it has begun again and again. And calls into the driver.
PLAIN = (65, 65, 65, 75)
ASKED = (150, 155, 155, 165)
LIMITS = {("stack", "none", 8, 0, "init"): ((20, 20, 20, 20), 0),
          ("stack", "context", 8, 0, "init"): (PLAIN, 0),
          ("mapped", "loaded", 8, 0, "init"): (ASKED, 1),
          ("mapped", "begun", 8, 0, "init"): (ASKED, 1),
          ("mapped", "context", 8, 0, "init"): (ASKED, 1),
          ("mapped", "gpu", 8, 0, "init"): (ASKED, 1),
          ("stack", "none", 8, 1, "context"): ((20, 20, 20, 20), 0),
          ("stack", "begun", 8, 1, "context"): (PLAIN, 0),
          ("stack", "context", 8, 1, "init"): ((65, 80, 65, 85), 0),
          ("stack", "context", 1024, 1, "init"): ((65, 300, 65, None), 0),
          ("mapped", "context", 1024, 1, "init"): ((150, 375, 155, None), 1)}


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


def measure(options, case, folder):
    memory, state, size, direct, arm = case
    output = os.path.join(folder, "-".join(str(word) for word in case))
    callgrind.run(options, f"{output}.%q{{PMI_RANK}}",
                  (LAPS, memory, state, size),
                  flags=("--dump-before=phase_*",),
                  variables=(("LD_LIBRARY_PATH", options.cuda),
                             ("MPIX_GDS_DIRECT", direct),
                             ("MPIX_GDS_ARM", arm)))
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
        for case, (most, calls) in LIMITS.items():
            memory, state, size, direct, arm = case
            kind = f"by {arm}" if direct else ""
            measured = measure(options, case, folder)
            for phase, limit, (ours, asked) in zip(PHASES, most, measured):
                good = asked == calls and 0 < ours <= (limit or ours)
                failed |= not good
                print(f"{memory:6} {state:7} {size:4} {kind:10} {phase:10} "
                      f"{ours:7.1f} "
                      f"instructions, {asked:.2f} driver calls"
                      f"{'' if good else '  FAILED'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
