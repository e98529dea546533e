#!/usr/bin/env python3
"""Runs cases of the matrix in few jobs, and names those that fail.

Cases are chosen by --level and --seed (cases.py), or all whose name holds
the regular expression --only. What a level leaves out is printed first. A job
that ends early, or in which no case comes to its end for --timeout seconds,
fails the case it was at; the rest goes on in a new job.
"""
import argparse
import os
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "lib"))
import cases  # noqa: E402 (the paths come first)
import mpi_case  # noqa: E402
import processes  # noqa: E402
from no_input import NO_INPUT  # noqa: E402

SKIPPED = 77
OUTPUT_LINES = 25
LAST_SECONDS = 10  # from the last case's end to the job's


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--level", default="pairs",
                        choices=("pairs", "triples", "product"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="PATTERN",
                        help="of --level's cases, those that match")
    parser.add_argument("--case", action="append", default=[],
                        help="these cases instead, by full name")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="of those, N drawn by the seed")
    parser.add_argument("--most", type=int, default=cases.LARGEST,
                        help="largest message in bytes")
    parser.add_argument("--batch", type=int, default=400, metavar="N",
                        help="cases of a job (default 400)")
    parser.add_argument("--timeout", type=float, default=30, metavar="S",
                        help="of a case (default 30)")
    parser.add_argument("--limit", type=float, default=86400, metavar="S",
                        help="of everything (default 86400)")
    parser.add_argument("--stop-after", type=int, default=20, metavar="N",
                        help="failures to end after (default 20)")
    parser.add_argument("--print", action="store_true", dest="only_print",
                        help="print the names, run nothing")
    return parser.parse_args()


def names_of(arguments):
    if arguments.case:
        return arguments.case
    listing = subprocess.run([arguments.program, "--list"], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    if not arguments.only_print:
        for line in cases.left_out(listing, arguments.level, arguments.most):
            print("left out:", line)
    factors = cases.factors_of(listing, arguments.most)
    chosen = cases.choose(arguments.level, factors, arguments.seed)
    names = [cases.name_of(case) for case in chosen]
    if arguments.only:
        names = [n for n in names if re.search(arguments.only, n)]
    return names[:arguments.sample]  # their order is drawn already


def command_of(arguments, ranks, words):
    arguments.ranks = ranks
    arguments.option = []
    arguments.command = [arguments.program] + words
    return mpi_case.command_line(arguments)


def run_watched(command, silence, end):
    """
    Exit status and output. Status None: killed, since no case began or ended
    for `silence` seconds, or at the time `end`.
    """
    with processes.start(command, stdin=NO_INPUT, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT) as process:
        output = b""
        kill_at = min(time.monotonic() + silence, end)
        while select.select([process.stdout], [], [],
                            max(0, kill_at - time.monotonic()))[0]:
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            output += chunk
            if b"begin " in chunk or b"ok " in chunk:
                kill_at = min(time.monotonic() + silence, end)
        try:
            status = process.wait(LAST_SECONDS if time.monotonic() < kill_at
                                  else 0)
        except subprocess.TimeoutExpired:
            status = None
        processes.end(process)
    return status, output.decode(errors="replace")


class Job:
    """What one mpiexec made of its cases."""

    def __init__(self, arguments, names):
        ranks = int(names[0].rsplit("/", 1)[1])
        with tempfile.NamedTemporaryFile("w", suffix=".cases") as file:
            file.write("\n".join(names) + "\n")
            file.flush()
            command = command_of(arguments, ranks, ["--file", file.name])
            self.status, self.output = run_watched(
                command, arguments.timeout, arguments.end)
        lines = self.output.splitlines()
        self.held = {line[3:] for line in lines if line.startswith("ok ")}
        self.failed = dict(line[7:].split(": ", 1) for line in lines
                           if line.startswith("FAILED "))
        self.begun = [line[6:] for line in lines if line.startswith("begin ")]
        self.timeout = arguments.timeout
        self.out_of_time = time.monotonic() >= arguments.end

    def rest(self, names):
        """Cases left; the one the job ended in becomes a failure."""
        left = [n for n in names if n not in self.held
                and n not in self.failed]
        if not left:
            return self.end_checked(names)
        culprit = self.begun[-1] if self.begun else left[0]
        culprit = culprit if culprit in left else left[0]
        self.failed[culprit] = self.reason()
        left.remove(culprit)
        return left

    def end_checked(self, names):
        if self.status not in (0, 1) or (self.status == 1
                                         and not self.failed):
            self.failed["(end of a job, last case " + names[-1] + ")"] = \
                self.reason()
        return []

    def reason(self):
        said = [line for line in self.output.splitlines()
                if not line.startswith(("ok ", "begin "))]
        end = f"the job ended with status {self.status}"
        if self.status is None:
            end = "at it when the time of all cases was up" \
                if self.out_of_time else f"no end within {self.timeout:g} s"
        return "\n    ".join([end] + said[-OUTPUT_LINES:])


def batches_of(names, size):
    """Cases of one number of ranks at a time, in order."""
    for ranks in sorted({n.rsplit("/", 1)[1] for n in names}, key=int):
        mine = [n for n in names if n.endswith("/" + ranks)]
        for start in range(0, len(mine), size):
            yield mine[start:start + size]


def show(arguments, failed):
    for name, why in failed.items():
        print(f"FAILED {name}: {why}")
        if not name.startswith("("):
            ranks = int(name.rsplit("/", 1)[1])
            print("  again:", shlex.join(command_of(arguments, ranks,
                                                    [name])))
    sys.stdout.flush()


def run_all(arguments, names):
    """Runs everything; the number of cases that held, and of failures."""
    held = failures = 0
    arguments.end = time.monotonic() + arguments.limit
    for batch in batches_of(names, arguments.batch):
        while (batch and failures < arguments.stop_after
               and time.monotonic() < arguments.end):
            job = Job(arguments, batch)
            if job.status == SKIPPED:
                print(job.output.splitlines()[-1])
                sys.exit(SKIPPED)
            batch = job.rest(batch)
            held += len(job.held)
            failures += len(job.failed)
            show(arguments, job.failed)
    return held, failures


def main():
    arguments = parse_arguments()
    names = names_of(arguments)
    if arguments.only_print:
        print("\n".join(names))
        return 0
    if not names:
        print(f"matrix: no case matches {arguments.only!r}")
        return 2
    held, failures = run_all(arguments, names)
    not_run = len(names) - held - failures
    print(f"matrix: {held} of {len(names)} cases held, {failures} failed, "
          f"{max(0, not_run)} not run (level {arguments.level}, seed {arguments.seed})")
    return 1 if failures or held != len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
