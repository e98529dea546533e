#!/usr/bin/env python3
"""Runs the cases of communication in stream order with many seeds. Programs
and 2, 3 and 4 ranks go round with the seed, so that every pair gets its share;
the rest is drawn from it. A failed run's command is printed, and repeats it.
Ends with status 1 after the last seed if any run failed.
"""
import argparse
import collections
import os
import random
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import mpi_case  # noqa: E402
import processes  # noqa: E402
import rows  # noqa: E402 (beside this file)


def drawn_list():
    lines = [f"  {name}: " + ", ".join(way or "default"
                                       for way in ways.values())
             for name, ways in rows.WAYS.items()]
    return "\n".join(["a seed draws:", *lines])


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=drawn_list(),
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--sim", required=True, help="folder of libcuda.so.1")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--laps", type=int, default=50)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("programs", nargs="+")
    return parser.parse_args()


def draw(seed):
    """Each line from a generator of its own: another line, or way, leaves the
    rest as it was."""
    words = " ".join(random.Random(f"{name} {seed}").choice([*ways.values()])
                     for name, ways in rows.WAYS.items()).split()
    options = [word for word in words if word.startswith("--")]
    return [word for word in words if word not in options], options


def row_of(seed, arguments):
    variables, options = draw(seed)
    programs = arguments.programs
    return argparse.Namespace(
        mpiexec=arguments.mpiexec, runtime=arguments.runtime, option=[],
        preload=arguments.preload, ranks=2 + seed // len(programs) % 3,
        env=[f"LD_LIBRARY_PATH={arguments.sim}",
             "CUDA_DEVICE_MAX_CONNECTIONS=32", f"MPIX_SIM_SEED={seed}",
             *variables],
        command=[programs[seed % len(programs)], "--laps", str(arguments.laps),
                 "--limit", str(int(arguments.timeout) - 5), *options],
        exit="0", expect=["all well"], refuse=[], lines="",
        timeout=arguments.timeout)


def passed(seed, row):
    command = mpi_case.command_line(row)
    status, output = processes.run(command, row.timeout)
    found = list(mpi_case.complaints(row, status, output))
    if found:
        print(f"seed {seed}:", *found, "load", *os.getloadavg())
        print("$", shlex.join(command))
        print(output, flush=True)
    return not found


def main():
    arguments = parse_arguments()
    ran = collections.Counter()
    failed = collections.defaultdict(list)
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        row = row_of(seed, arguments)
        group = os.path.basename(row.command[0])
        ran[group] += 1
        if not passed(seed, row):
            failed[group].append(seed)
    for group, count in ran.items():
        print(f"{group}: {count} seeds, {len(failed[group])} failed",
              *failed[group])
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
