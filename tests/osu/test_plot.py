#!/usr/bin/env python3
"""mpix-gds-plot draws lines, rivals and facts: read back from an SVG.

test_plot.py PLOT [unittest's options]
"""
import contextlib
import glob
import gzip
import importlib.machinery
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "../../results")
PLOT = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SKIP = 77


def figures(avg, **more):
    return {"avg": avg, "min": avg, "p50": avg, "p99": avg, "max": avg,
            "validated": True, "rounds": [avg], **more}


def document(name="osu_latency_enqueue", unit="us", rivals=("nccl",)):
    rows = []
    for power, avg in enumerate((3.5, 3.25, 4.0, 9.0)):
        row = figures(avg, size=8 << power, transmitted=8 << power, unit=unit,
                      datatype="MPI_CHAR", window=1, iterations=10, held=True)
        row["rivals"] = {rival: figures(2 * avg, process_us=1.0, ratio=0.5)
                         for rival in rivals}
        rows.append(row)
    return {
        "schema": "mpix-gds/osu-extensions/1", "name": name,
        "version": "0.1.0", "date": "2026-11-21T07:00:00Z",
        "machine": {"host": "h", "cpu": "Some CPU", "cores": 32,
                    "kernel": "Linux 6", "mpi": "MPICH 4.0.2",
                    "mpix_gds": "0.1.0", "gpu": "NVIDIA H200",
                    "gpu_driver": "CUDA 13.0", "ranks": 2, "nodes": 1},
        "options": {"rounds": 3, "trigger": None},
        "rivals": {r: {"version": "2.28.9", "left_out": None}
                   for r in rivals},
        "rows": rows}


def halo_document():
    """Two sizes; a variant that was left out, one that is wrong."""
    def one(step, **more):
        return {"step_us": step, "cpu_us": step / 2, "validated": True, **more}

    base = document()
    return {
        "schema": "mpix-gds/halo/1", "name": "osu_halo_enqueue",
        "date": base["date"], "machine": base["machine"],
        "options": {"grid": [2, 2], "periodic": True, "kernel_us": 4,
                    "rounds": 5},
        "variants": {
            "enqueued": {"title": "MPI enqueued", "version": None,
                         "left_out": None},
            "group": {"title": "MPI group", "version": None,
                      "left_out": "not here"},
            "nccl": {"title": "NCCL group", "version": "2.28.9",
                     "left_out": None}},
        "rows": [{"face": face, "kernel_us": 4.0, "variants": {
            "enqueued": one(12.0), "nccl": one(15.0)}}
            for face in (8192, 16384)]}


def printed_halo(grid="2 x 2", validation="Pass"):
    """What osu_halo_enqueue prints: a row for each variant of each size."""
    lines = [
        "# OSU MPI Enqueued Halo Test v7.4 style, mpix-gds 0.2.0 (not OSU's "
        "program)",
        f"# Grid {grid} ranks, periodic, kernel of 4 us, medians of 5 rounds",
        "# NCCL 2.28.9",
        "# Face    Variant                 Step(us)     Step/NCCL"
        "       CPU(us)     Calls(us)    Calls/NCCL    Validation",
        "# MPI group left out: not here"]
    for face in (8192, 16384):
        lines.append(f"# {face} bytes: the kernel alone takes 4.00 us")
        for name, verdict in (("program", "Pass"), ("enqueued", validation),
                              ("nccl", "Pass"), ("nccl_graph", "Pass"),
                              ("copy", "Pass")):
            lines.append(f"{face:<10}{name:<18}{'12.50':>14}{'-':>14}"
                         f"{'6.25':>14}{'3.00':>14}{'-':>14}{verdict:>14}")
    return "\n".join(lines) + "\n"


TOOL = types.ModuleType("mpix_gds_plot")
importlib.machinery.SourceFileLoader("mpix_gds_plot", PLOT).exec_module(TOOL)


def plot(*args):
    """One run; in this process, which reads matplotlib in once."""
    out, err = io.StringIO(), io.StringIO()
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), \
            unittest.mock.patch("sys.argv", [PLOT, *args]):
        try:
            TOOL.main()
        except SystemExit as stopped:
            status = stopped.code
    return subprocess.CompletedProcess(args, status, out.getvalue(),
                                       err.getvalue())


class Plot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content if isinstance(content, str)
                      else json.dumps(content))
        return path

    def drawn(self, *documents):
        return self.drawn_of(*(self.file(f"{i}.json", d)
                               for i, d in enumerate(documents)))[0]

    def drawn_of(self, *paths):
        """The texts of the drawing (SVG keeps them in comments), and what the
        tool said of files that it left out."""
        out = os.path.join(self.folder, "out.svg")
        done = plot("-o", out, *paths)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), out)
        with open(out, encoding="utf-8") as file:
            return file.read(), done.stderr

    def test_lines_rivals_and_facts_are_there(self):
        text = self.drawn(document())
        for word in ("osu_latency_enqueue", "NCCL 2.28.9", "NVIDIA H200",
                     "CUDA 13.0", "medians of 3 rounds", "every byte checked",
                     "latency, one way (us)"):
            self.assertIn(f"{word}", text)
        self.assertNotIn("NVSHMEM", text)
        self.assertNotIn("bandwidth (MB/s)", text)

    def test_each_unit_has_its_panel(self):
        text = self.drawn(document(),
                          document("osu_bw_enqueue", "MB/s", ("copy",)),
                          document("osu_enqueue_cost", "us", ()))
        for label in ("latency, one way (us)", "bandwidth (MB/s)", "a call (us",
                      "plain copies"):
            self.assertIn(label, text)

    def test_wrong_bytes_are_said(self):
        wrong = document()
        wrong["rows"][1]["validated"] = False
        wrong["rows"][2]["rivals"]["nccl"]["validated"] = False
        self.assertIn("WRONG BYTES in 2 rows", self.drawn(wrong))

    def test_a_left_out_rival_has_no_line(self):
        lone = document(rivals=())
        lone["rivals"] = {"nccl": {"version": None, "left_out": "not here"}}
        self.assertNotIn("NCCL", self.drawn(lone))

    def test_lines_of_several_files_are_named_by_file(self):
        text = self.drawn(document())
        self.assertNotIn(".json", text)
        text = self.drawn(document(), document())
        for number in (0, 1):
            self.assertIn(f"<!-- osu_latency_enqueue ({number}.json) -->",
                          text)
            self.assertIn(
                f"<!-- NCCL 2.28.9 (osu_latency_enqueue, {number}.json) -->",
                text)

    def test_steps_of_a_program_are_drawn(self):
        text = self.drawn(halo_document())
        for word in ("step of a program (us)", "size of a face (bytes)",
                     "CPU of the caller, a step (us)", "MPI enqueued",
                     "NCCL group 2.28.9", "2 x 2 ranks, periodic",
                     "every bit checked"):
            self.assertIn(word, text)
        self.assertNotIn("MPI group", text)
        self.assertEqual(text.count("<!-- MPI enqueued -->"), 2)
        wrong = halo_document()
        wrong["rows"][1]["variants"]["nccl"]["validated"] = False
        self.assertIn("WRONG VALUES of 1 variants", self.drawn(wrong))

    def test_parts_of_a_sweep_are_joined(self):
        path = [self.file(f"{number}.json", document()) for number in (0, 1)]
        text, _ = self.drawn_of("--join", *path)
        self.assertEqual(text.count("<!-- osu_latency_enqueue -->"), 1)
        self.assertEqual(text.count("<!-- NCCL 2.28.9 (osu_latency_enqueue) "
                                    "-->"), 1)
        self.assertNotIn(".json", text)

    def test_picture_of_the_readme_is_of_its_results(self):
        folder = os.path.join(SOURCE, "results/2026-11-21-quiet")
        fresh, _ = self.drawn_of("--join", *(
            os.path.join(folder, f"{name}.json")
            for name in ("latency", "latency_long", "bw", "bw16")))
        with open(os.path.join(SOURCE, "docs/images/enqueued.svg"),
                  encoding="utf-8") as file:
            kept = file.read()
        with_version = re.compile(r"Matplotlib v[\d.]+")
        if with_version.findall(kept) != with_version.findall(fresh):
            self.skipTest("the picture was drawn with another matplotlib")
        for part in (r"<!-- .* -->", r'<path d="M[^"]*"\s+clip-path'):
            self.assertEqual(re.findall(part, kept), re.findall(part, fresh))
            self.assertGreater(len(re.findall(part, kept)), 6)

    def test_equal_file_names_are_told_apart_by_folder(self):
        paths = []
        for name in ("before", "after"):
            os.mkdir(os.path.join(self.folder, name))
            paths.append(self.file(f"{name}/latency.json", document()))
        text, _ = self.drawn_of(*paths)
        self.assertIn("(before/latency.json)", text)
        self.assertIn("(after/latency.json)", text)

    def test_printed_tables_are_drawn_compressed_too(self):
        path = os.path.join(self.folder, "all.txt.gz")
        with open(os.path.join(RESULTS, "2026-11-21-quiet/latency.txt"),
                  "rb") as printed, gzip.open(path, "wb") as file:
            file.write(b"a line of the launcher\n" + 2 * printed.read())
        text, said = self.drawn_of(path)
        for word in ("Enqueued Latency (#1)", "Enqueued Latency (#2)",
                     "NCCL 2.28.9 (Enqueued Latency, #1)", "NVSHMEM 3.4.5",
                     "machine not said, medians of 5 rounds",
                     "latency, one way (us)"):
            self.assertIn(word, text)
        self.assertEqual(said, "")

    def test_printed_failures_are_said(self):
        path = self.file("bad.txt", "# OSU MPI-CUDA Bandwidth Test v7.4\n"
                         "# Size      Bandwidth (MB/s)        Validation\n"
                         "8                       2.00              Fail\n")
        text, _ = self.drawn_of(path)
        self.assertIn("WRONG BYTES in 1 rows", text)
        self.assertIn("bandwidth (MB/s)", text)

    def test_a_printed_halo_is_drawn(self):
        text, said = self.drawn_of(self.file("halo.txt", printed_halo()))
        name = "Enqueued Halo, 2 x 2 ranks, periodic, kernel of 4 us"
        for word in ("step of a program (us)", "size of a face (bytes)",
                     "CPU of the caller, a step (us)", "machine not said",
                     "2 x 2 ranks, periodic", "medians of 5 rounds"):
            self.assertIn(word, text)
        for label in ("enqueued", f"program ({name})", f"copy ({name})",
                      f"nccl 2.28.9 ({name})", f"nccl_graph 2.28.9 ({name})"):
            self.assertEqual(text.count(f"<!-- {label} -->"), 2, label)
        self.assertNotIn("group", text)
        self.assertNotIn("WRONG", text)
        self.assertEqual(said, "")

    def test_printed_halos_of_a_file_are_told_apart(self):
        text, _ = self.drawn_of(self.file(
            "halo.txt", printed_halo("4") + printed_halo("2 x 2")))
        for label in ("enqueued (#1)", "enqueued (#2)",
                      "copy (Enqueued Halo, 4 ranks, periodic, kernel of 4 us, "
                      "#1)"):
            self.assertEqual(text.count(f"<!-- {label} -->"), 2, label)

    def test_failures_of_a_printed_halo_are_said(self):
        text, _ = self.drawn_of(
            self.file("halo.txt", printed_halo(validation="Fail")))
        self.assertIn("WRONG BYTES in 2 rows", text)

    def test_our_results_are_drawn_or_named_with_a_reason(self):
        """Every file under results/ with a benchmark's table is drawn."""
        paths = [path for path in glob.glob(RESULTS + "/**", recursive=True)
                 if os.path.isfile(path)]
        text, said = self.drawn_of(*paths)
        left_out = {line.split(": ")[1]: line.split(": ", 3)[3]
                    for line in said.splitlines()
                    if ": nothing to draw: " in line}
        for path in paths:
            opened = gzip.open if path.endswith(".gz") else open
            with opened(path, "rb") as file:
                content = file.read()
            printed = any(line.startswith(b"# OSU MPI")
                          for line in content.splitlines())
            measured = (b'"mpix-gds/osu-extensions/1"' in content
                        or b'"mpix-gds/halo/1"' in content
                        or b'"mpix-gds/staged-goals/1"' in content)
            self.assertEqual(path not in left_out, printed or measured, path)
        self.assertIn("osu_bw D D (2026-11-21-staged-3/goals.json)", text)
        reasons = "\n".join(left_out.values())
        for reason in ("ratios of one message size", "no table of a benchmark",
                       "not what a benchmark writes"):
            self.assertIn(reason, reasons)

    def test_a_file_without_figures_does_not_keep_the_others_back(self):
        empty = document()
        empty["rows"] = []
        only_empty_messages = document()
        only_empty_messages["rows"] = [dict(document()["rows"][0], size=0)]
        cases = {
            "rows.json": (empty, "without rows"),
            "zero.json": (only_empty_messages, "longer than 0"),
            "torn.json": ({"schema": "mpix-gds/osu-extensions/1"}, "'name'"),
            "windows.txt": ("# OSU MPI Bandwidth Test v7.4\n", "of -V"),
            "plain.txt": ("words\n", "no table of a benchmark"),
        }
        paths = [self.file(name, content)
                 for name, (content, _) in cases.items()]
        text, said = self.drawn_of(self.file("good.json", document()), *paths)
        self.assertIn("NVIDIA H200", text)
        for path, (_, reason), line in zip(paths, cases.values(),
                                           said.splitlines(), strict=True):
            self.assertIn(f"{path}: nothing to draw: ", line)
            self.assertIn(reason, line)

    def test_what_is_no_document_is_named(self):
        for content in ("{", "[]", {"schema": "other"}):
            path = self.file("bad.json", content)
            done = plot(path)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(path, done.stderr)
        self.assertIn("/nowhere", plot("/nowhere.json").stderr)


if __name__ == "__main__":
    probe = plot("/nowhere.json")
    if "matplotlib is missing" in probe.stderr:
        print("skipped: " + probe.stderr.strip())
        sys.exit(SKIP)
    unittest.main()
