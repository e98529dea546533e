"""The doctor in a scratch installation, and its report as Python values."""

import json
import os

from tree import MPIEXEC, TreeTest
import schema  # tree has put its place into the path

SOURCE = os.environ["MGDS_SOURCE_DIR"]
STUB_CUDA = os.environ["MGDS_STUB_CUDA"]
BEGIN = "mpix-gds-probe begin 2"
END = "mpix-gds-probe end"
CHECKS = ["installation", "settings", "launch", "library", "mpi", "cores",
          "memlock", "driver", "gpus", "peers", "memops", "hca", "pairs"]

with open(os.path.join(SOURCE, "tools", "doctor.schema.json"),
          encoding="utf-8") as file:
    SCHEMA = json.load(file)


class DoctorTest(TreeTest):
    programs = ("mpix-gds-run", "mpix-gds-probe", "mpix-gds-doctor")

    def setUp(self):
        super().setUp()
        # MPICH's launcher under the name that the doctor looks for first; it
        # looks for its own parts beside itself, so no link would do.
        self.path = os.path.join(self.scratch, "path")
        os.mkdir(self.path)
        self.script("mpiexec.mpich", f'exec {MPIEXEC} "$@"\n')

    def doctor(self, *words, env=None, **options):
        full = {"PATH": self.path + ":" + os.environ["PATH"]}
        full.update(env or {})
        return self.call(self.bin("mpix-gds-doctor"), *words, env=full,
                         **options)

    def judge(self, done):
        """done's report: valid, consistent; checks by their ids."""
        report = json.loads(done.stdout)
        self.assertEqual(list(schema.check(report, SCHEMA)), [])
        self.assertEqual(report["status"], done.returncode)
        self.assertEqual([c["id"] for c in report["checks"]], CHECKS)
        states = {c["state"] for c in report["checks"]}
        worst = 2 if "broken" in states else 1 if "fallback" in states else 0
        self.assertEqual(report["status"], worst)
        for check in report["checks"]:
            if check["state"] in ("broken", "fallback"):
                self.assertNotEqual(check["remedy"], "", check)
        report["checks"] = {c["id"]: c for c in report["checks"]}
        return report

    def report(self, *words, **options):
        return self.judge(self.doctor("--json", *words, **options))

    def assert_check(self, report, name, state, *words):
        check = report["checks"][name]
        self.assertEqual(check["state"], state, check)
        for word in words:
            self.assertIn(word, check["text"])

    def script(self, name, text):
        path = os.path.join(self.path, name)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path
