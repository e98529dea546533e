"""Starts benchmarks under mpiexec and reads what they print and write."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import schema  # noqa: E402 (the path comes first)
from no_input import NO_INPUT  # noqa: E402

RANKS = {"osu_mbw_mr": 4, "osu_multi_lat": 4, "osu_mbw_mr_enqueue": 4}


def finish(command, timeout):
    """Runs command; returns status, stdout, stderr."""
    with subprocess.Popen(command, stdin=NO_INPUT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.terminate()  # mpiexec takes its ranks with it
            out, err = process.communicate()
            print(out + err)
            raise
    return process.returncode, out, err


class Job:
    """How jobs are started here; set from the command line."""

    def __init__(self, args):
        self.args = args

    def run(self, program, options, ranks=None, preload=None, env=None):
        """Runs program; returns status, lines of stdout, lines of stderr."""
        ranks = ranks or RANKS.get(program, 2)
        libraries = [path for path in (self.args.runtime, preload,
                                       self.args.yielding) if path]
        command = [self.args.mpiexec, "-n", str(ranks)]
        if libraries:
            command += ["-genv", "LD_PRELOAD", ":".join(libraries)]
        for name, value in (env or {}).items():
            command += ["-genv", name, str(value)]
        command += [os.path.join(self.args.bin, program)] + options
        print("$", " ".join(command), flush=True)
        status, out, err = finish(command, self.args.timeout)
        print("->", status)
        print(out + err)
        return status, out.splitlines(), err.splitlines()

    def json(self, program, options, **how):
        """Runs program with --json; returns the checked document."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            status, lines, _ = self.run(program,
                                        options + ["--json", path], **how)
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        return status, lines, checked(document)


def load_schema():
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(here, "../../osu-extensions/schema.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def checked(document):
    found = list(schema.check(document, load_schema()))
    assert not found, found
    for row in document["rows"]:
        assert (row["min"] <= row["p50"] <= row["p99"] <= row["max"]), row
        assert row["min"] * 0.999 <= row["avg"] <= row["max"] * 1.001, row
    return document


def table(lines):
    """The rows of a table: lists of words."""
    return [line.split() for line in lines
            if line and not line.startswith("#")]


def refused(job, program, options, named, ranks=2, env=None):
    status, lines, errors = job.run(program, options, ranks=ranks, env=env)
    assert status == 2, status
    assert not lines, lines
    assert len(errors) == 1, errors
    assert errors[0].startswith(program + ": ") and named in errors[0], errors


def software_gpu(job, **settings):
    """Environment of ranks that find the software GPU as their driver."""
    return {"LD_LIBRARY_PATH": job.args.sim,
            **{"MPIX_SIM_" + name: value for name, value in settings.items()}}
