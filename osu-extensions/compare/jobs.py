"""What comparisons of whole jobs share: running one, and ratios of many."""
import datetime
import json
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

RESAMPLES = 10000
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class Failure(Exception):
    """One line for the user."""


def add_version(parser):
    """--version: the project's, from the tree that the script is run in."""
    header = os.path.join(TREE, "include", "mpix_gds.h")
    with open(header, encoding="utf-8") as file:
        version = ".".join(re.findall(
            r"(?m)^#define MPIX_GDS_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
            file.read()))
    parser.add_argument("--version", action="version",
                        version=f"%(prog)s (mpix-gds) {version}")


def need_file(path, what):
    if not os.path.isfile(path):
        raise Failure(f"{path}: no such {what}; build it or name its place")
    return os.path.abspath(path)


def need_benchmark(build, name):
    return need_file(os.path.join(build, "libexec", "mpix-gds", name),
                     "benchmark")


def finish(command, environment, timeout):
    """Runs command; its status and all it printed."""
    with subprocess.Popen(command, env=environment, text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpiexec takes its ranks with it
            process.communicate()
            return -1, f"no end within {timeout:g} s"
    return process.returncode, output


def run_json(command, environment, timeout):
    """One benchmark; its JSON document. --json is added to the command."""
    environment = {name: value for name, value in environment.items()
                   if name != "LD_PRELOAD"}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "job.json")
        command = command + ["--json", path]
        line = shlex.join(command)
        try:
            status, output = finish(command, environment, timeout)
        except OSError as error:
            raise Failure(f"{line}: {error}") from error
        if status != 0:
            raise Failure(f"{line}: status {status}: "
                          + " / ".join(output.splitlines()[-3:]))
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def interval(ratios):
    """Percentile bootstrap of the median, 95 %; the seed is fixed."""
    source = random.Random(1)
    medians = sorted(
        statistics.median(source.choices(ratios, k=len(ratios)))
        for _ in range(RESAMPLES))
    return [medians[int(0.025 * RESAMPLES)],
            medians[int(0.975 * RESAMPLES) - 1]]


def heading(schema, name, library, machine):
    """What every report starts with."""
    return {
        "schema": schema,
        "name": name,
        "command": sys.argv,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime(
            "%Y-%m-%dT%H:%M:%SZ"),
        "machine": machine,
        "library": os.path.abspath(library),
        "active": machine["mpix_gds"] is not None,
    }


def finish_report(name, make, show, path):
    """Makes, shows and writes a report; the exit status of the script."""
    try:
        document = make()
        show(document)
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2)
                file.write("\n")
    except (Failure, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
