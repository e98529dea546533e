"""The closing table of ./check: what counts as passed, failed, skipped."""

import setup_case
from setup_case import SOURCE, run

JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x">
  <testcase name="unit/good" status="run"><system-out/></testcase>
{extra}
</testsuite>
"""
BAD = ('<testcase name="mpi/bad" status="fail"><failure message="Failed"/>'
       '<system-out>noise</system-out></testcase>')
TIMEOUT = ('<testcase name="mpi/slow" status="fail">'
           '<failure message="Timeout"/></testcase>')
LONG = ('<testcase name="mpi/long" status="fail">'
        '<failure message="Failed"/><system-out>'
        + "".join(f"line {i}\n\n" for i in range(40))
        + '</system-out></testcase>')
SKIP = ('<testcase name="hw/gpu" status="notrun">'
        '<skipped message="SKIP_RETURN_CODE=77"/>'
        '<system-out>looking\nno GPU here\n\n</system-out></testcase>')
SILENT = ('<testcase name="hw/mute" status="notrun">'
          '<skipped message="SKIP_RETURN_CODE=77"/></testcase>')
TOOK = ('<testcase name="mpi/took{0}" time="{0}.7" status="run">'
        '<system-out/></testcase>')
MISSING = ('<testcase name="unit/gone" status="notrun">'
           '<skipped message="Unable to find executable"/></testcase>')


class Report(setup_case.SetupCase):

    def report(self, *stages):
        """stages: (name, status, junit text or None for a build)"""
        lines = []
        for number, (name, status, junit) in enumerate(stages):
            path = ""
            if junit is not None:
                path = self.folder / f"{number}.xml"
                path.write_text(junit, encoding="utf-8")
            lines.append(f"{name}\t{status}\t61\t{path}\n")
        score = self.folder / "score.tsv"
        score.write_text("".join(lines), encoding="utf-8")
        done = run("python3", SOURCE / "tools/setup/report.py", score)
        self.assertEqual(done.stderr, "")
        (self.folder / "logs").mkdir(exist_ok=True)
        score.rename(self.folder / "logs/score.tsv")
        return done.returncode, done.stdout.splitlines()

    def junit(self, *extra):
        return JUNIT.format(extra="\n".join(extra))

    def test_all_well(self):
        status, lines = self.report(("build", 0, None),
                                    ("tests", 0, self.junit()))
        self.assertEqual((status, lines[-1]),
                         (0, "2 passed, 0 failed, 0 skipped"))
        self.assertIn("1:01", lines[1])

    def test_failed_test_is_named_and_counted(self):
        status, lines = self.report(("tests", 8, self.junit(BAD, TIMEOUT)))
        self.assertEqual((status, lines[-1]),
                         (1, "1 passed, 2 failed, 0 skipped"))
        self.assertIn("  tests: mpi/bad: Failed", lines)
        self.assertIn("  tests: mpi/slow: Timeout", lines)

    def test_end_of_a_failed_tests_output_is_shown(self):
        _, lines = self.report(("tests", 8, self.junit(BAD, LONG)))
        at = lines.index("  tests: mpi/bad: Failed")
        self.assertEqual(lines[at + 1], "      noise")
        at = lines.index("  tests: mpi/long: Failed")
        self.assertEqual(lines[at + 1], "      (25 lines before are in "
                         "logs/test.log of the build)")
        self.assertEqual(lines[at + 2:at + 17],
                         [f"      line {i}" for i in range(25, 40)])

    def test_very_many_failures_show_the_output_of_the_first_only(self):
        _, lines = self.report(("tests", 8, self.junit(*[BAD] * 30)))
        self.assertEqual(lines.count("  tests: mpi/bad: Failed"), 30)
        self.assertEqual(lines.count("      noise"), 20)

    def test_skip_gives_the_last_line_the_test_printed(self):
        status, lines = self.report(("tests", 0, self.junit(SKIP, SILENT)))
        self.assertEqual((status, lines[-1]),
                         (0, "1 passed, 0 failed, 2 skipped"))
        self.assertIn("  tests: hw/gpu: no GPU here", lines)
        self.assertIn("  tests: hw/mute: no reason given", lines)

    def test_ten_slowest_of_all_stages_come_last(self):
        many = self.junit(*(TOOK.format(i) for i in range(20)))
        more = self.junit(TOOK.format(119))
        _, lines = self.report(("a: tests", 0, many), ("b: tests", 0, more))
        at = lines.index("slowest:")
        self.assertEqual(lines[at + 1:at + 3],
                         ["   2:00  b: tests: mpi/took119",
                          "   0:20  a: tests: mpi/took19"])
        self.assertEqual(lines[at + 10], "   0:12  a: tests: mpi/took11")
        self.assertEqual(lines[at + 11:], ["", "23 passed, 0 failed, "
                                           "0 skipped"])

    def test_minutes_are_those_of_the_last_check(self):
        self.report(("a: build", 0, None),
                    ("a: tests", 0, self.junit(TOOK.format(59))))
        said = self.ok("python3", "-B", SOURCE / "tools/setup/minutes",
                       self.folder)
        self.assertEqual(said.splitlines()[2:],
                         ["| a: build | 1.0 |  |  |",
                          "| a: tests | 1.0 | 2 | 1.0 |",
                          "| all | 2.0 | | |"])

    def test_program_that_is_not_there_is_a_failure(self):
        status, lines = self.report(("tests", 8, self.junit(MISSING)))
        self.assertEqual((status, lines[-1]),
                         (1, "1 passed, 1 failed, 0 skipped"))

    def test_failed_build_is_a_failure(self):
        status, lines = self.report(("dev: build", 1, None))
        self.assertEqual((status, lines[-1]),
                         (1, "0 passed, 1 failed, 0 skipped"))

    def test_stage_behind_the_deadline_is_a_skip_with_its_reason(self):
        status, lines = self.report(("a: tests", 0, self.junit()),
                                    ("b: build", "late", None))
        self.assertEqual((status, lines[-1]),
                         (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("  b: build: b: build: --minutes were over before it",
                      lines)

    def test_ctest_that_failed_as_a_whole_is_a_failure(self):
        status, lines = self.report(("tests", 8, self.junit()))
        self.assertEqual((status, lines[-1]),
                         (1, "1 passed, 1 failed, 0 skipped"))

    def test_results_cut_short_are_a_failure(self):
        status, lines = self.report(("tests", 0, "<testsuite><testca"))
        self.assertEqual((status, lines[-1]),
                         (1, "0 passed, 1 failed, 0 skipped"))

    def test_nothing_passed_is_no_success(self):
        self.assertEqual(self.report()[0], 1)


setup_case.main()
