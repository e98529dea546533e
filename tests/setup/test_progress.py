"""How far the tests are, and when they may end, while ./check runs them."""

import os
import pty
import subprocess
import sys

import setup_case
from setup_case import SOURCE, run

sys.path.insert(0, str(SOURCE / "tools/setup"))
import progress  # noqa: E402 (the path comes first)

LIST = """Test project /build
  Test   #1: unit/a
  Test  #22: mpi/b_2
  Test #333: mpi/c

Total Tests: 3
"""
COSTS = "unit/a 3 1.0\nmpi/b_2 1 9.0\nmpi/other 1 70.0\n---\nmpi/failed\n"
ENDED = " 1/3 Test  #22: mpi/b_2 ......   Passed    8.50 sec\n"
SCRIPT = SOURCE / "tools/setup/progress.py"


def names():
    return progress.LISTED.findall(LIST)


class Estimate(setup_case.SetupCase):

    def begun(self, costs):
        return progress.Progress("release", names(), costs, begin=100)

    def test_tests_that_have_ended_are_counted_however_they_ended(self):
        one = self.begun({})
        for line in ("      Start 1: unit/a", ENDED,
                     "mpi/c is no test's end: 2/3 Test #333: mpi/c",
                     "2/3 Test   #1: unit/a .....***Skipped   0.02 sec",
                     "2/3 Test   #1: unit/a .....***Skipped   0.02 sec"):
            one.take(line)
        self.assertEqual(one.line(101), "release: 2/3 tests, 0 min")
        one.take("3/3 Test #333: mpi/c .....***Failed   9.00 sec")
        self.assertEqual(one.line(460),
                         "release: 3/3 tests, 6 min, less than 1 more")

    def test_without_earlier_runs_the_share_of_tests_says(self):
        one = self.begun({})
        one.take(ENDED)
        self.assertEqual(one.line(100 + 360),
                         "release: 1/3 tests, 6 min, about 12 more")

    def test_seconds_of_earlier_runs_weigh_the_tests(self):
        # 9 of 1 + 9 + 5 s are done; mpi/c is new: the mean of the others
        one = self.begun(progress.read_costs(COSTS))
        one.take(ENDED)
        self.assertEqual(one.line(100 + 360),
                         "release: 1/3 tests, 6 min, about 4 more")

    def test_nothing_is_estimated_from_nothing(self):
        one = self.begun({})
        self.assertEqual(one.line(900), "release: 0/3 tests, 13 min")
        empty = progress.Progress("release", [], {}, begin=0)
        self.assertEqual(empty.line(60), "release: 0/0 tests, 1 min")


class Output(setup_case.SetupCase):

    def command(self, seconds):
        tests = self.folder / "tests.txt"
        tests.write_text(LIST, encoding="utf-8")
        return [sys.executable, SCRIPT, "release", tests,
                self.folder / "no such file", seconds]

    def test_a_log_has_ctests_lines_and_one_at_a_time_of_ours(self):
        with subprocess.Popen(
                [str(word) for word in self.command("0.05")], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(ENDED)
            process.stdin.flush()
            # lines come while nothing else does
            lines = [process.stdout.readline() for _ in range(3)]
            process.stdin.write("no end of line")
            rest, _ = process.communicate(timeout=30)
        self.assertEqual(lines[0], ENDED)
        self.assertEqual(lines[1:], ["-- release: 1/3 tests, 0 min\n"] * 2)
        self.assertTrue(rest.endswith("no end of line"), rest)
        self.assertNotIn("\r", rest)

    def test_a_log_of_less_than_a_minute_has_ctests_lines_alone(self):
        done = subprocess.run([str(word) for word in self.command("60")],
                              input=2 * ENDED, capture_output=True, text=True,
                              timeout=30, check=True)
        self.assertEqual(done.stdout, 2 * ENDED)

    def test_a_terminal_has_one_line_that_is_written_anew(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([str(word) for word in self.command("60")],
                              stdin=subprocess.PIPE, stdout=theirs) as process:
            os.close(theirs)
            process.stdin.write(ENDED.encode())
            process.stdin.flush()
            said = ""
            while "1/3 tests" not in said:
                said += os.read(ours, 4096).decode()
            process.stdin.close()
            try:
                while True:
                    said += os.read(ours, 4096).decode()
            except OSError:
                pass  # the end of a terminal
        os.close(ours)
        self.assertIn("\r\033[Krelease: 1/3 tests, 0 min", said)
        self.assertTrue(said.endswith("\r\033[K"), repr(said))

    def logged(self, viewer):
        log = self.folder / "log"
        done = run("bash", "-c",
                   f'top="{SOURCE}"; . "$top/tools/setup/common.sh"; '
                   f'viewer=({viewer}); '
                   f'run_logged "{log}" bash -c "echo said; exit 3"')
        return done, log.read_text(encoding="utf-8")

    def test_the_log_is_kept_and_the_status_is_the_commands(self):
        for viewer in ("sed s/said/shown/", "false"):
            done, log = self.logged(viewer)
            self.assertEqual(done.returncode, 3)
            self.assertEqual(log, "said\n")
            self.assertEqual(done.stdout,
                             "said\n" if viewer == "false" else "shown\n")


setup_case.main()
