#!/usr/bin/env python3
"""tools/mpix-gds-plot draws lines, rivals and facts: read back from an SVG."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PLOT = os.path.join(HERE, "../../tools/mpix-gds-plot")
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


def plot(*args):
    return subprocess.run([PLOT, *args], capture_output=True, text=True,
                          timeout=100, stdin=subprocess.DEVNULL)


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
        """The texts of the drawing; SVG keeps them in comments."""
        paths = [self.file(f"{i}.json", d) for i, d in enumerate(documents)]
        out = os.path.join(self.folder, "out.svg")
        done = plot("-o", out, *paths)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), out)
        with open(out, encoding="utf-8") as file:
            return file.read()

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
