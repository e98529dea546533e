#!/usr/bin/env python3
"""What messages in GPU memory cost beside the same ones in host memory.

Runs, in rounds, osu_bw (256 KiB to 4 MiB) and osu_latency (8 B) with host
buffers (H H) and with device buffers (D D, with --copies), the library
preloaded into all, and reports over the rounds

  bandwidth   D D / H H of each size; the goal is at least 0.7
  latency     D D / (H H + 1.2 x (one copy down + one copy up)), medians of a
              job; the goal is at most 1

with 95 % intervals. A benchmark, not a gate: the exit status says only whether
it could be run.
"""
import argparse
import os
import shlex
import statistics
import sys

from jobs import (add_version, finish_report, heading, interval,
                  need_benchmark, need_file, run_json)

SCHEMA = "mpix-gds/staged-goals/1"
ROUNDS = 11
BANDWIDTH_GOAL = 0.7
COPIES_FACTOR = 1.2
SIDES = ("H", "D")
SIZES = "262144:4194304"


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build", metavar="DIR",
                        help="build tree (default build)")
    parser.add_argument("--mpiexec", default="mpiexec.mpich", metavar="CMD",
                        help="starter with its options, one word list")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N",
                        help=f"at least {ROUNDS} to be reported")
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    parser.add_argument("--library", metavar="FILE",
                        help="preload this (default DIR/lib/libmpix_gds.so)")
    parser.add_argument("--also", action="append", default=[],
                        metavar="FILE", help="preload this ahead of it")
    parser.add_argument("--sizes", default=SIZES, metavar="MIN:MAX",
                        help=f"of osu_bw, in bytes (default {SIZES})")
    parser.add_argument("--iterations", type=int, metavar="N",
                        help="of a job (default the benchmark's)")
    parser.add_argument("--timeout", type=float, default=300, metavar="S",
                        help="of a job, in seconds (default 300)")
    add_version(parser)
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: give 1 or more")
    if not arguments.library:
        arguments.library = os.path.join(arguments.build, "lib",
                                         "libmpix_gds.so")
    return arguments


def job_run(arguments, benchmark, options, side):
    program = need_benchmark(arguments.build, benchmark)
    preload = [need_file(path, "library")
               for path in arguments.also + [arguments.library]]
    command = shlex.split(arguments.mpiexec) + [
        "-n", "2", "-genv", "LD_PRELOAD", ":".join(preload), program, *options]
    if arguments.iterations:
        command += ["-i", str(arguments.iterations)]
    return run_json(command + [side, side], os.environ, arguments.timeout)


def round_run(arguments, number):
    """Both benchmarks on both sides; who goes first alternates."""
    documents = {}
    for side in SIDES if number % 2 == 0 else SIDES[::-1]:
        copies = ["--copies"] if side == "D" else []
        documents["bw", side] = job_run(arguments, "osu_bw",
                                        ["-m", arguments.sizes], side)
        documents["latency", side] = job_run(arguments, "osu_latency",
                                             ["-m", "8:8", *copies], side)
    return documents


def figures_of(documents):
    """The figures of one round."""
    down_up = documents["latency", "D"]["rows"][0]
    latency = {side: documents["latency", side]["rows"][0]["p50"]
               for side in SIDES}
    bound = latency["H"] + COPIES_FACTOR * (down_up["d2h_us"]
                                            + down_up["h2d_us"])
    return {
        "bandwidth": {str(row["size"]): {side: mate["avg"] for side, mate in
                                         (("H", row), ("D", other))}
                      for row, other in zip(documents["bw", "H"]["rows"],
                                            documents["bw", "D"]["rows"])},
        "latency": {"H": latency["H"], "D": latency["D"],
                    "d2h_us": down_up["d2h_us"],
                    "h2d_us": down_up["h2d_us"], "bound": bound},
    }


def ratio_of(ratios, goal, at_least):
    median = statistics.median(ratios)
    return {"median": median, "ci95": interval(ratios), "goal": goal,
            "met": median >= goal if at_least else median <= goal}


def summarize(rounds):
    bandwidth = {
        size: ratio_of([r["bandwidth"][size]["D"] / r["bandwidth"][size]["H"]
                        for r in rounds], BANDWIDTH_GOAL, True)
        for size in rounds[0]["bandwidth"]}
    latency = ratio_of([r["latency"]["D"] / r["latency"]["bound"]
                        for r in rounds], 1, False)
    return {"bandwidth": bandwidth, "latency": latency}


def measure(arguments):
    rounds = []
    for number in range(arguments.rounds):
        documents = round_run(arguments, number)
        rounds.append(figures_of(documents))
        line = rounds[-1]["latency"]
        print(f"# {number + 1}/{arguments.rounds}: 8 B H H {line['H']:.2f} us, "
              f"D D {line['D']:.2f} us, bound {line['bound']:.2f} us",
              flush=True)
    return rounds, documents["latency", "D"]["machine"]


def report(arguments, rounds, machine):
    return {
        **heading(SCHEMA, "staged_goals", arguments.library, machine),
        "rounds": rounds,
        "summary": summarize(rounds),
    }


def show_ratio(what, entry):
    low, high = entry["ci95"]
    print(f"{what}: {entry['median']:.3f} (95 % {low:.3f} to {high:.3f}), "
          f"goal {entry['goal']}: {'met' if entry['met'] else 'NOT met'}")


def show(document):
    summary = document["summary"]
    for size, entry in summary["bandwidth"].items():
        show_ratio(f"osu_bw {size} B, D D / H H", entry)
    show_ratio("osu_latency 8 B, D D / (H H + 1.2 copies)",
               summary["latency"])
    if not document["active"]:
        print(f"note: {document['library']} was not active in its runs")
    if len(document["rounds"]) < ROUNDS:
        print(f"note: {len(document['rounds'])} rounds; report no fewer than "
              f"{ROUNDS}")


def main():
    arguments = parse_arguments()
    return finish_report("staged_goals",
                         lambda: report(arguments, *measure(arguments)), show,
                         arguments.json)


if __name__ == "__main__":
    sys.exit(main())
