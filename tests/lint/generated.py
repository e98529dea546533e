"""Pages that are printed from tables are what the tables print today.

A row of PAGES is a program below the build folder, its arguments and the page
that its output must equal.
"""
import difflib
import os
import shlex
import subprocess

import lintlib

PAGES = [
    ("bin/mgds-config-doc", [], "docs/env.md"),
    ("bin/mgds-sim-doc", [], "docs/env-sim.md"),
    ("bin/mgds-coverage-doc", [], "docs/mpi-coverage.md"),
]
SECONDS = 30
SHOWN = 10


def printed(program, arguments):
    """Output of a generator; raises RuntimeError that says what failed."""
    try:
        done = subprocess.run([program] + arguments, capture_output=True,
                              text=True, timeout=SECONDS)
    except OSError as error:
        raise RuntimeError(f"{program}: {error.strerror}: build it first")
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{program}: not done after {SECONDS} s")
    if done.returncode:
        raise RuntimeError(f"{program}: exit {done.returncode}: "
                           f"{done.stderr.strip()}")
    if not done.stdout.strip():
        raise RuntimeError(f"{program}: prints nothing")
    return done.stdout


def compare(root, page, wanted):
    """First lines of the difference; empty if the page is fresh."""
    path = os.path.join(root, page)
    present = lintlib.read(root, page) if os.path.exists(path) else ""
    lines = list(difflib.unified_diff(
        present.splitlines(), wanted.splitlines(), page, "printed today",
        lineterm="", n=0))
    if not lines and present != wanted:
        lines = ["(only the line ends differ)"]
    return "\n".join(lines[:SHOWN])


def check_page(report, args, row):
    program, arguments, page = row
    program = os.path.join(args.build, program)
    try:
        difference = compare(args.root, page, printed(program, arguments))
    except RuntimeError as error:
        report.add("generator", page, 0, str(error))
        return
    if difference:
        command = shlex.join([os.path.relpath(program, args.root)]
                             + arguments)
        report.add("stale", page, 0,
                   f"stale, refresh with: {command} > {page}\n{difference}")


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--build", {"required": True}))
    report = lintlib.Report("generated", args.root)
    for row in PAGES:
        check_page(report, args, row)
    return report.finish(len(PAGES), "pages")


if __name__ == "__main__":
    lintlib.main(check)
