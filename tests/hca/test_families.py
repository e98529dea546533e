#!/usr/bin/env python3
"""families.py counts what it should, and is not content with less."""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ["hca/pingpong", "hca/devinfo", "hca/perftest_read_bw", "hca/ucx_info",
        "hca/mpich_rc_x_2", "hca/objects", "unit/hca_order"]


def case(name, status="run", inside=""):
    return f'<testcase name="{name}" status="{status}">{inside}</testcase>'


PYVERBS = case("hca/pyverbs_core", inside="<system-out>pd: 4 ran, 4 passed, 0 "
               "skipped\nall: 44 ran, 41 passed, 3 skipped\n</system-out>")
SKIPPED = '<skipped message="SKIP_RETURN_CODE=77"/>'


def run(text):
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(f"<testsuite>{text}</testsuite>")
        file.flush()
        done = subprocess.run([sys.executable, f"{HERE}/families.py",
                               file.name], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


class Families(unittest.TestCase):
    def expect(self, out, family, *numbers):
        line, = [line for line in out.splitlines() if line.startswith(family)]
        self.assertEqual([int(word) for word in line[32:].split()],
                         list(numbers))

    def test_all_is_well(self):
        status, out = run(PYVERBS + "".join(map(case, ROWS))
                          + case("hca/pingpong_uc", "notrun", SKIPPED)
                          + case("mpi/p2p", "fail"))
        self.assertEqual(status, 0)
        self.expect(out, "rdma-core", 44, 41, 3, 0)
        self.expect(out, "ibv_*_pingpong", 2, 1, 1, 0)
        self.expect(out, "perftest", 1, 1, 0, 0)
        self.expect(out, "a kernel's", 0, 0, 0, 0)

    def test_numbers_are_missing(self):
        """Of what tells its own: ctest cuts long outputs."""
        status, out = run(case("hca/pyverbs_more") + PYVERBS
                          + "".join(map(case, ROWS)))
        self.assertEqual(status, 1)
        self.expect(out, "rdma-core", 45, 41, 3, 1)

    def test_a_family_is_missing(self):
        self.assertEqual(run("".join(map(case, ROWS)))[0], 1)

    def test_all_of_a_family_is_skipped(self):
        text = PYVERBS + "".join(map(case, ROWS[1:]))
        self.assertEqual(
            run(text + case(ROWS[0], "notrun", SKIPPED))[0], 1)

    def test_one_fails(self):
        status, out = run(PYVERBS + "".join(map(case, ROWS))
                          + case("hca/ucx_rc_mlx5", "fail"))
        self.assertEqual(status, 1)
        self.expect(out, "UCX", 2, 1, 0, 1)

    def test_there_is_no_run(self):
        done = subprocess.run([sys.executable, f"{HERE}/families.py", "/none"],
                              stdout=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("./check", done.stdout)


if __name__ == "__main__":
    unittest.main()
