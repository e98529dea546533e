#!/usr/bin/env python3
"""Runs one MPI test row: starts a program under mpiexec, with libraries
preloaded into the ranks, and holds its exit status and output to the row.

Only ranks get the preloads (mpiexec itself does not), the sanitizer's runtime
comes first, and every run is bounded.
"""
import argparse
import os
import re
import sys

import deadline
import known
import processes

SKIPPED = 77

# What the library says where it finds itself at fault: no row expects that.
NEVER = "this is a bug in MPIX-GDS"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--exit", default="0", help="a status, or any")
    parser.add_argument("--expect", action="append", default=[],
                        help="regular expression some line must match")
    parser.add_argument("--refuse", action="append", default=[],
                        help="regular expression no line may match")
    parser.add_argument("--lines", default="",
                        help="N:RE, exactly N lines must match RE")
    parser.add_argument("--fails", default="",
                        help="the defect is known: the line that it shows")
    parser.add_argument("--option", action="append", default=[],
                        help="for mpiexec")
    parser.add_argument("--timeout", type=float, default=100)
    parser.add_argument("--in-time", action="store_true",
                        help="skip it behind ./check's deadline")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.command[:1] == ["--"]:
        del arguments.command[0]
    return arguments


def rank_environment(arguments):
    """What the ranks see on top of this environment, in order."""
    preload = [arguments.runtime] if arguments.runtime else []
    preload += arguments.preload
    variables = ["LD_PRELOAD=" + ":".join(preload)] if preload else []
    if arguments.runtime:
        variables.append("UCX_MEM_EVENTS=no")
    return variables + arguments.env


def command_line(arguments):
    command = [arguments.mpiexec] + arguments.option
    variables = rank_environment(arguments)
    if "openmpi" in os.path.basename(arguments.mpiexec):
        command += ["--allow-run-as-root", "--oversubscribe"]
        for variable in variables:
            command += ["-x", variable]
    else:
        for variable in variables:
            command += ["-genv", *variable.split("=", 1)]
    return command + ["-n", str(arguments.ranks), *arguments.command]


def complaints(arguments, status, output):
    lines = output.splitlines()
    if status is None:
        yield f"did not end within {arguments.timeout} s"
    elif arguments.exit not in ("any", str(status)):
        yield f"exit status {status}, expected {arguments.exit}"
    for pattern in arguments.expect:
        if not any(re.search(pattern, line) for line in lines):
            yield f"no line matches {pattern!r}"
    for pattern in [NEVER, *arguments.refuse]:
        for line in lines:
            if re.search(pattern, line):
                yield f"a line matches {pattern!r}: {line}"
    if arguments.lines:
        count, pattern = arguments.lines.split(":", 1)
        found = sum(bool(re.search(pattern, line)) for line in lines)
        if found != int(count):
            yield f"{found} lines match {pattern!r}, expected {count}"


def main():
    arguments = parse_arguments()
    if arguments.in_time and deadline.is_over():
        print(deadline.REASON)
        return SKIPPED
    command = command_line(arguments)
    status, output = processes.run(command, arguments.timeout)
    print("$", " ".join(command))
    print(output, end="")
    if status == SKIPPED:
        return SKIPPED
    if arguments.fails:
        found = list(known.complaints(arguments.fails, status, output))
    else:
        found = list(complaints(arguments, status, output))
    for complaint in found:
        print("mpi_case:", complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
