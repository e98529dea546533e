"""mpix-gds-doctor above the real library: the transports that it says ranks
use, what it says of settings and cores, and of launches that fail."""

import json
import os
import shutil
import unittest

from doctor_case import BEGIN, END, SOURCE, DoctorTest
from tree import BUILD, LIBRARY, MPIEXEC, SIM

STAGED = "GPU buffers of ordinary calls are staged in host memory"


class RealTest(DoctorTest):
    """The library and the software GPU of this build."""

    def install(self, root):
        super().install(root)
        for name in (LIBRARY, SIM + "/libcuda.so.1"):
            shutil.copy2(os.path.join(BUILD, "lib", name),
                         os.path.join(root, "lib", name))

    def rows(self, report):
        return report["checks"]["pairs"]["rows"]


class Transports(RealTest):
    def test_two_ranks_on_the_software_gpu_are_well(self):
        report = self.report("--sim=gpu")
        self.assertEqual(report["status"], 0)
        self.assertEqual(self.rows(report), [
            "enqueued self of each rank with itself",
            "enqueued p2p between every two ranks",
            f"ordinary host between all ranks: {STAGED} -> nothing to do in "
            "this version"])
        self.assertEqual(
            {(p["from"], p["to"], p["use"], p["bytes"]): p["transport"]
             for p in report["pairs"]},
            {(a, b, use, size): "host" if use == "ordinary" else
             "self" if a == b else "p2p" for a in (0, 1) for b in (0, 1)
             for use in ("enqueued", "ordinary") for size in (1024, 4 << 20)})
        for pair in report["pairs"]:
            self.assertEqual((pair["reason"], pair["remedy"]),
                             ("" if pair["use"] == "enqueued" else STAGED, ""))

    def test_text_has_the_rows_in_80_columns(self):
        done = self.doctor("--sim=gpu", "-n", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.endswith("\nall well\n"))
        self.assertIn(" enqueued p2p between every two ranks\n", done.stdout)
        for line in done.stdout.splitlines():
            if "/" not in line:
                self.assertLessEqual(len(line), 80, line)

    def test_manual_shows_what_is_printed(self):
        with open(os.path.join(SOURCE, "docs", "doctor.md"),
                  encoding="utf-8") as manual:
            sample = manual.read().split("$ mpix-gds-doctor --sim=gpu\n")[1]
        done = self.doctor("--sim=gpu")
        self.assertEqual(self.outline(sample.split("```")[0]),
                         self.outline(done.stdout))

    def outline(self, text):
        """What does not depend on the machine: entries, and all of pairs."""
        entries, pairs = text.split("ok        pairs", 1)
        return [line[:22] for line in entries.splitlines()
                if line[0] != " "], pairs

    def test_what_can_be_mended_has_a_remedy(self):
        for sim, env, reason, remedies in (
                ("gpu:1", {}, "its process uses the same GPU",
                 ("a GPU of its",
                  "only calls of the driver copy what ranks of other GPUs")),
                ("gpu", {"MPIX_SIM_PEERS": "0"}, "the two GPUs are no peers",
                 ("nvidia-smi topo",))):
            report = self.report("--sim=" + sim, env=env)
            self.assertEqual(report["status"], 1)
            self.assert_check(report, "pairs", "fallback")
            row = [p for p in report["pairs"] if p["from"] != p["to"] and
                   p["use"] == "enqueued"][0]
            self.assertEqual(row["transport"], "host")
            self.assertIn(reason, row["reason"])
            for remedy in remedies:
                self.assertIn(remedy, row["remedy"])
            self.assertTrue(any(row["reason"] + " -> " + row["remedy"] in line
                                for line in self.rows(report)))

    def test_what_nothing_helps_against_is_no_finding(self):
        report = self.report("--launcher", " ".join(
            [MPIEXEC, "-n 1 -env MPIX_SIM_HOST one", self.bin("mpix-gds-run"),
             "--sim=gpu", self.bin("mpix-gds-probe"),
             ": -n 1 -env MPIX_SIM_HOST two"]), "--sim=gpu")
        self.assert_check(report, "pairs", "ok")
        self.assertIn("enqueued host between every two ranks: it is on another "
                      "host -> nothing to do in this version",
                      self.rows(report))

    def test_no_gpu_is_asked_for(self):
        report = self.report("--no-gpu")
        self.assertEqual((report["status"], report["pairs"]), (0, []))
        self.assert_check(report, "driver", "ok", "--no-gpu")


class Saved(RealTest):
    """What jobs elsewhere have saved: the probe's report, changed."""

    def saved(self, change):
        done = self.call(MPIEXEC, "-n", "2", self.bin("mpix-gds-run"),
                         "--sim=gpu:2", self.bin("mpix-gds-probe"))
        ranks = json.loads(done.stdout.splitlines()[1])
        change(ranks)
        path = os.path.join(self.scratch, "saved")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"{BEGIN}\n{json.dumps(ranks)}\n{END}\n")
        return self.report("--read", path)

    def test_containers_of_one_machine(self):
        def part(ranks):
            ranks[0]["host"], ranks[1]["host"] = "boot+1", "boot+2"
            ranks[1].update(hca=[], gpu=ranks[0]["gpu"])
            for rank in ranks:
                for way in rank["messages"]["ways"]:
                    if way["transport"] == "p2p":
                        way.update(transport="host",
                                   reason="it is on another host")

        report = self.saved(part)
        self.assert_check(report, "pairs", "fallback")
        self.assertIn("--ipc=host", report["checks"]["pairs"]["remedy"])

    def test_receiver_that_takes_less_is_believed(self):
        def spoil(ranks):
            for way in ranks[1]["messages"]["ways"]:
                if not way["sent"] and way["enqueued"] and way["peer"] == 0 \
                        and way["bytes"] > 1024:
                    way.update(transport="host", reason="why", remedy="what")

        report = self.saved(spoil)
        self.assertIn("enqueued host (4 MiB) 0>1: why -> what",
                      self.rows(report))
        self.assertIn("enqueued p2p (1 KiB) 0>1", self.rows(report))
        self.assertIn("enqueued p2p 1>0", self.rows(report))

    def test_rank_that_took_no_part_is_named(self):
        report = self.saved(lambda ranks: (
            ranks[1]["messages"].update(error="no stream", ways=[]),
            ranks[0]["messages"].update(
                ways=[w for w in ranks[0]["messages"]["ways"]
                      if w["peer"] == 0])))
        self.assert_check(report, "pairs", "broken")
        self.assertTrue(any(
            line.startswith("enqueued none 0-1 1-1: no stream -> ")
            for line in self.rows(report)), self.rows(report))

    def test_core_that_the_progress_thread_shares(self):
        def bind(host):
            def change(ranks):
                ranks[1]["cores"] = {"rank": 1, "host": host}
                ranks[1]["messages"]["progress_cores"] = 1
            return change

        report = self.saved(bind(8))
        self.assert_check(report, "cores", "fallback",
                          "rank 1 is bound to one core")
        self.assertIn("-bind-to core:2", report["checks"]["cores"]["remedy"])
        self.assert_check(self.saved(bind(1)), "cores", "ok", "rank 1")


class Cores(RealTest):
    @unittest.skipIf(os.cpu_count() < 2, "one processor")
    def test_bound_ranks_are_seen(self):
        bound = MPIEXEC + " -n 2 -bind-to core"
        report = self.report("--sim=gpu", "--launcher", bound)
        self.assertEqual([r["cores"]["rank"] for r in report["ranks"]], [1, 1])
        self.assert_check(report, "cores", "ok", "progress thread")
        report = self.report(
            "--sim=gpu", "--launcher",
            bound + " -env MPIX_GDS_PROGRESS_AFFINITY inherit")
        self.assert_check(report, "cores", "fallback", "rank 0 is bound")


class Settings(RealTest):
    """The caller's settings are reported, and change nothing else."""

    HARMFUL = {"MPIX_GDS_REQUIRE": "self", "MPIX_GDS_TRACE": "yes",
               "MPIX_GDS_TRACE_FILE": "/no/such/folder/%p",
               "MPIX_GDS_LOG_LEVEL": "debug", "MPIX_GDS_TIMEOUT": "1",
               "MPIX_GDS_EAGER": "0", "MPIX_GDS_PULL": "0",
               "MPIX_GDS_ENABLE": "no", "MPIX_GDS_SUMMARY": "all"}

    def test_good_ones_are_told(self):
        plain = self.report("--sim=gpu")
        self.assert_check(plain, "settings", "ok", "no MPIX_GDS_*")
        report = self.report("--sim=gpu", env=self.HARMFUL)
        self.assert_check(report, "settings", "ok", "what follows is without",
                          *(f"{k}={v}" for k, v in self.HARMFUL.items()))
        self.assertEqual(report["status"], 0)
        self.assertEqual(report["pairs"], plain["pairs"])

    def test_bad_ones_are_findings_that_quote_them(self):
        for env, state, status, said in (
                ({"MPIX_GDS_LOG_LEVEL": "shout"}, "fallback", 1,
                 "MPIX_GDS_LOG_LEVEL 'shout' is not one of"),
                ({"MPIX_GDS_REQUIER": "p2p"}, "fallback", 1,
                 "did you mean MPIX_GDS_REQUIRE?"),
                ({"MPIX_GDS_REQUIRE": "p2q"}, "broken", 2,
                 "MPIX_GDS_REQUIRE 'p2q' is not")):
            done = self.doctor("--json", "--sim=gpu", env=env)
            self.assertEqual(done.stderr, "")
            report = self.judge(done)
            self.assertEqual(report["status"], status)
            check = report["checks"]["settings"]
            self.assertEqual(check["state"], state)
            self.assertEqual(len(check["rows"]), 1)
            self.assertIn(said, check["rows"][0])
            self.assert_check(report, "pairs", "ok")


class Launches(RealTest):
    """One that fails has one diagnosis, with a remedy, and no other line but
    those of what was examined before."""

    FAILURES = (
        # what the launcher is; what is found; what helps
        ("echo 'Open MPI has detected an attempt to run as root' >&2\nexit 1",
         "the launcher is Open MPI's", "mpiexec.mpich -n 2"),
        ("echo 'PRTE ERROR: no slots' >&2\nexit 213",
         "the launcher is Open MPI's", "mpiexec.mpich -n 2"),
        ("echo '/x/probe: error while loading shared libraries:"
         " libmpich.so.12: cannot open shared object file' >&2\nexit 127",
         "a rank cannot start: libmpich.so.12: cannot open", "LD_LIBRARY_PATH"),
        ("echo '[proxy:0:1@b] HYDU_create_process (x.c:75): execvp error on "
         "file /x/mpix-gds-run (No such file or directory)' >&2\nexit 255",
         "the launcher cannot start /x/mpix-gds-run", "every host"),
        ("echo 'YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed "
         "(signal 9)' >&2\nexit 9", "a rank was ended: Killed (signal 9)",
         "dmesg"),
        ("echo 'mpix-gds-run: this build has no software HCA: leave it out' "
         ">&2\nexit 2", "refuses to start: this build has no software HCA",
         "do what that says"),
        ("exit 3", "the launcher ended with exit status 3", "by hand"),
        ("kill -KILL $$", "the launcher died of signal 9", "by hand"),
        ("exit 0", "no report of use came: none was printed", "MPICH's"),
        ("sleep 60", "not ended after 2 s", "--timeout"),
    )

    def test_each_failure_has_one_diagnosis(self):
        for program, text, remedy in self.FAILURES:
            self.script("mpiexec.mpich", program + "\n")
            done = self.doctor("--timeout", "2")
            self.assertEqual(done.returncode, 2, program)
            flat = " ".join(done.stdout.split())
            self.assertIn(text, flat)
            self.assertIn(remedy, flat)
            starts = [line.split()[:2] for line in done.stdout.splitlines()
                      if line[0] != " "]
            self.assertEqual(starts, [
                ["ok", "installation"], ["ok", "settings"],
                ["broken", "launch"], ["broken:", "launch"]])
            self.assertEqual(done.stdout.count("-> "), 1)

    def test_a_rank_that_is_killed_is_named(self):
        os.unlink(self.bin("mpix-gds-probe"))
        path = self.script("probe", '[ "$PMI_RANK" = 1 ] && kill -KILL $$\n'
                           "exec sleep 60\n")
        shutil.copy2(path, self.bin("mpix-gds-probe"))
        check = self.report()["checks"]["launch"]
        self.assertEqual(check["state"], "broken", check)
        # Hydra says it (FAILURES has its words), or, where its proxy ends
        # before that was read, nothing but 255.
        self.assertRegex(check["text"], "a rank was ended: Killed|"
                         "the launcher ended with exit status 255")

    def test_a_message_that_fails_is_named(self):
        report = self.report("--sim=gpu", "--launcher",
                             MPIEXEC + " -n 2 -env MPIX_GDS_REQUIRE self")
        self.assert_check(report, "launch", "broken",
                          "an examination failed: rank ", "MPIX_GDS_REQUIRE")


if __name__ == "__main__":
    unittest.main()
