#!/usr/bin/env python3
"""What preloading libmpix_gds.so costs a host-only program.

Runs osu_latency in triples of jobs: without the library, with it, without it
again. The second ratio of a triple, without over without, is the control: it
shows what the machine alone makes of equal jobs. A benchmark, not a gate:
the exit status says only whether it could be run.
"""
import argparse
import os
import shlex
import statistics
import sys

from jobs import (add_version, finish_report, heading, interval,
                  need_benchmark, need_file, run_json)

SCHEMA = "mpix-gds/preload-latency/1"
TRIPLES = 25
FIGURES = ("p50", "avg")
SIDES = ("without", "with", "control")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", metavar="DIR",
                        help="build tree (default build)")
    parser.add_argument("--mpiexec", default="mpiexec.mpich", metavar="CMD",
                        help="starter with its options, one word list")
    parser.add_argument("--triples", type=int, default=TRIPLES, metavar="N",
                        help=f"at least {TRIPLES} to be reported")
    parser.add_argument("--json", metavar="FILE", help="write all figures")
    parser.add_argument("--library", metavar="FILE",
                        help="preload this (default DIR/lib/libmpix_gds.so)")
    parser.add_argument("--also", action="append", default=[],
                        metavar="FILE", help="preload this in every job")
    parser.add_argument("--iterations", type=int, metavar="N",
                        help="of a job (default osu_latency's)")
    parser.add_argument("--timeout", type=float, default=120, metavar="S",
                        help="of a job, in seconds (default 120)")
    add_version(parser)
    arguments = parser.parse_args()
    if arguments.triples < 1:
        parser.error(f"--triples {arguments.triples}: give 1 or more")
    if not arguments.library:
        arguments.library = os.path.join(arguments.build, "lib",
                                         "libmpix_gds.so")
    return arguments


def job_command(arguments, program, preload):
    command = shlex.split(arguments.mpiexec) + ["-n", "2"]
    if preload:
        command += ["-genv", "LD_PRELOAD", ":".join(preload)]
    command += [program, "-m", "8:8"]
    if arguments.iterations:
        command += ["-i", str(arguments.iterations)]
    return command


def ratio(triples, figure, over, under):
    ratios = [triple[over][figure] / triple[under][figure]
              for triple in triples]
    return {"median": statistics.median(ratios), "ci95": interval(ratios)}


def summarize(triples):
    """The figures of the report, one entry for each of FIGURES."""
    return {figure: {
        "unit": "us",
        "median": {side: statistics.median(triple[side][figure]
                                           for triple in triples)
                   for side in SIDES},
        "with_over_without": ratio(triples, figure, "with", "without"),
        "control_over_without": ratio(triples, figure, "control",
                                      "without"),
    } for figure in FIGURES}


def measure(arguments):
    program = need_benchmark(arguments.build, "osu_latency")
    library = need_file(arguments.library, "library")
    also = [need_file(path, "library") for path in arguments.also]
    # Runtimes of sanitizers want to be first, so the library comes last.
    preloads = {"without": also, "with": also + [library], "control": also}
    triples = []
    machines = {}
    for number in range(arguments.triples):
        triple = {}
        for side in SIDES:
            document = run_json(
                job_command(arguments, program, preloads[side]), os.environ,
                arguments.timeout)
            row = document["rows"][0]
            triple[side] = {figure: row[figure] for figure in FIGURES}
            machines[side] = document["machine"]
        triples.append(triple)
        print(f"# {number + 1}/{arguments.triples}: "
              + "  ".join(f"{side} {triple[side]['p50']:.3f}"
                          for side in SIDES), flush=True)
    return triples, machines


def report(arguments, triples, machines):
    return {
        **heading(SCHEMA, "preload_latency", arguments.library, machines["with"]),
        "triples": triples,
        "summary": summarize(triples),
    }


def show(document):
    for figure, entry in document["summary"].items():
        medians = entry["median"]
        print(f"8 B {figure}: " + ", ".join(
            f"{side} {medians[side]:.3f} us" for side in SIDES))
        for name in ("with_over_without", "control_over_without"):
            low, high = entry[name]["ci95"]
            print(f"  {name}: {entry[name]['median']:.4f} "
                  f"(95 % {low:.4f} to {high:.4f})")
    if not document["active"]:
        print(f"note: {document['library']} was not active in its runs")
    if len(document["triples"]) < TRIPLES:
        print(f"note: {len(document['triples'])} triples; report no fewer "
              f"than {TRIPLES}")


def main():
    arguments = parse_arguments()
    return finish_report("preload_latency",
                         lambda: report(arguments, *measure(arguments)), show,
                         arguments.json)


if __name__ == "__main__":
    sys.exit(main())
