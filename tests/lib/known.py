#!/usr/bin/env python3
"""Defects that are known: a test of one is held to what the defect looks like,
so that it tells of other failures, and of the day when the defect is gone.

  known.py --fails RE [--timeout S] -- COMMAND..

Exit status 0: the command failed, and a line of its output matches RE. 1: it
passed (XPASS: the mark goes), or failed in another way, or did not end.
"""
import argparse
import re
import sys

import processes

# What no known defect looks like.
NEVER = (r"Sanitizer:", r"does not hold", r"[Ss]egmentation fault",
         r"KILLED BY SIGNAL: (?!9 )", r"not done within")


def complaints(pattern, status, output):
    """status is None if the command did not end in time."""
    lines = output.splitlines()
    if status is None:
        yield "did not end in time: that is not the known defect"
        return
    if status == 0:
        yield "XPASS: it passes: remove the mark (FAILS) of this test"
        return
    if not any(re.search(pattern, line) for line in lines):
        yield f"fails, but no line matches {pattern!r}"
    for never in NEVER:
        for line in lines:
            if re.search(never, line):
                yield f"fails in another way, too: {line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fails", required=True)
    parser.add_argument("--timeout", type=float, default=50)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    command = arguments.command
    if command[:1] == ["--"]:
        del command[0]
    status, output = processes.run(command, arguments.timeout)
    print(output, end="")
    found = list(complaints(arguments.fails, status, output))
    for complaint in found:
        print("known:", complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
