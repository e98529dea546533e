#!/usr/bin/env python3
"""Counts, with callgrind, the instructions of the enqueued calls of a step on
the software GPU: ours, and those of the C library and the MPI below that we
call, but not the driver's. How many a call takes depends on what other threads
have done: on a loaded machine nine laps of ten may find work that they leave to
the caller. What is told is the third least of all laps. Fails above the limits. --functions lists where they go.
"""
import collections
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import callgrind  # noqa: E402 (the path comes first)

WARM, LAPS, SIZE, RING = 12, 61, 8192, 4 << 20
THIRD_LEAST = 2
# By what is shown: the way of a step (step_calls.c) and the function of which
# is counted, with what it calls, its calls in a lap, and the most instructions
# a call: a few per cent above what gcc 12's code takes.
COUNTED = {"Isend": ("single", "MPIX_Isend_enqueue", 2, 3420),
           "Irecv": ("single", "MPIX_Irecv_enqueue", 2, 3500),
           "Waitall of 4": ("single", "MPIX_Waitall_enqueue", 1, 4290),
           "group of 2 + 2": ("group", "counted_step", 1, 16600),
           "Startall, Waitall": ("persistent", "counted_step", 1, 16100)}
SHOWN = 70
OTHERS = {"driver": r"libcuda\.so", "mpi": r"lib(mpix_sim_)?(mpi|mpich)\b"}


class Part:
    """What one dump of callgrind says. Functions are (object, name)."""

    def __init__(self, path):
        self.costs = collections.Counter()  # by function, its own
        self.edges = []  # (caller, callee, cost with what it calls)
        self.names = {}
        with open(path) as lines:
            self.read(lines)

    def name_of(self, kind, text):
        number, _, name = text.partition(" ")
        if name:
            self.names[kind, number] = name
        return self.names[kind, number]

    def read(self, lines):
        place = {"ob": "", "cob": None, "fn": "", "cfn": ""}
        called = False
        for line in lines:
            line = line.rstrip("\n")
            field, equals, value = line.partition("=")
            if equals and field in place:
                place[field] = self.name_of(field[-2:], value)
            elif equals and field == "calls":
                called = True  # the next line is the cost of the callee
            elif re.match(r"[+*\-0-9]", line):
                cost = int(line.split()[1])
                fn = (place["ob"], place["fn"])
                if called:
                    callee = (place["cob"] or place["ob"], place["cfn"])
                    self.edges.append((fn, callee, cost))
                    called = place["cob"] = None
                else:
                    self.costs[fn] += cost

    def other(self, fn):
        base = os.path.basename(fn[0])
        for kind, pattern in OTHERS.items():
            if re.match(pattern, base):
                return kind
        return None

    def entered(self, kind):
        """What calls into these objects from elsewhere cost, by name. How many
        they are is not known: callgrind counts those of other calls, too."""
        found = collections.Counter()
        for caller, callee, cost in self.edges:
            if self.other(callee) == kind and self.other(caller) is None:
                found[callee[1]] += cost
        return found

    def without_driver(self):
        return sum(self.costs.values()) - sum(self.entered("driver").values())


def run(options, way, function, folder):
    output = os.path.join(folder, way + function)
    callgrind.run(options, f"{output}.%q{{PMI_RANK}}",
                  (WARM + LAPS, SIZE, way),
                  flags=("--dump-before=phase_lap",
                         f"--toggle-collect=*{function}"),
                  variables=(("LD_LIBRARY_PATH", options.cuda),
                             ("MPIX_SIM_GPUS", 2),
                             ("CUDA_DEVICE_MAX_CONNECTIONS", 32),
                             # that is cleared in time though valgrind is slow
                             ("MPIX_GDS_RING", RING)))
    # part n ends where lap n begins, from 1 on
    return [Part(f"{output}.0.{WARM + 2 + i}") for i in range(LAPS)]


def list_functions(parts, calls):
    """By their own cost, which is that of the driver's calls to the C library,
    too; then with what they call."""
    own, inclusive = collections.Counter(), collections.Counter()
    entered = {kind: collections.Counter() for kind in OTHERS}
    for part in parts:
        own.update({fn: cost for fn, cost in part.costs.items()
                    if not part.other(fn)})
        for kind in OTHERS:
            entered[kind].update(part.entered(kind))
        for _, callee, cost in part.edges:
            inclusive[callee] += cost
    each = len(parts) * calls
    for kind, found in entered.items():
        for name, cost in found.most_common():
            if cost:
                print(f"    {cost / each:8.1f} {kind}: {name}")
    for fn, cost in own.most_common(SHOWN):
        print(f"    {cost / each:8.1f} of {inclusive[fn] / each:8.1f} "
              f"{fn[1]} ({os.path.basename(fn[0])})")


def main():
    options = callgrind.options(__doc__, 120, paths=("cuda",),
                                flags=("functions",))
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, (way, function, calls, most) in COUNTED.items():
            parts = run(options, way, function, folder)
            laps = sorted(part.without_driver() / calls for part in parts)
            got = laps[THIRD_LEAST]
            good = 0 < got <= most
            failed |= not good
            print(f"{name:17} {got:7.1f} instructions of at most {most}"
                  f" ({laps[0]:.0f} to {laps[-1]:.0f})"
                  f"{'' if good else '  FAILED'}", flush=True)
            if options.functions:
                list_functions(parts, calls)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
