"""What the runner of MPI rows complains of."""
import argparse
import os
import subprocess
import sys
import time
import unittest

import deadline
import mpi_case


def complaints(output, status=0, **row):
    given = {"timeout": 1, "exit": "0", "expect": [], "refuse": [],
             "lines": ""}
    given.update(row)
    return list(mpi_case.complaints(argparse.Namespace(**given), status,
                                    output))


class Complaints(unittest.TestCase):
    def test_all_is_well(self):
        self.assertEqual(complaints("one\ntwo\n", expect=["^two$"],
                                    refuse=["three"], lines="1:o.e"), [])

    def test_end(self):
        self.assertIn("did not end", complaints("", None)[0])
        self.assertIn("exit status 3", complaints("", 3)[0])
        self.assertEqual(complaints("", 3, exit="any"), [])

    def test_lines(self):
        self.assertIn("no line", complaints("one", expect=["two"])[0])
        self.assertIn("a line", complaints("one", refuse=["o"])[0])
        self.assertIn("2 lines", complaints("a\na", lines="1:a")[0])

    def test_a_bug_of_ours_is_never_expected(self):
        line = ("mpix-gds[rank 0]: error: event 3 is nothing for a send of "
                "which it was made: " + mpi_case.NEVER)
        self.assertIn(mpi_case.NEVER, complaints(line, exit="any")[0])


class Deadline(unittest.TestCase):
    """A row that begins behind ./check's deadline runs nothing."""

    def row(self, seconds, *options):
        done = subprocess.run(
            [sys.executable, mpi_case.__file__, "--mpiexec", "/bin/false",
             *options, "--", "program"], text=True, capture_output=True,
            env={**os.environ, "MGDS_DEADLINE": str(time.time() + seconds)})
        return done.returncode, done.stdout.splitlines()[-1]

    def test_before(self):
        status, line = self.row(60, "--in-time")
        self.assertEqual(status, 1)
        self.assertIn("exit status 1", line)

    def test_behind(self):
        self.assertEqual(self.row(-1, "--in-time"),
                         (mpi_case.SKIPPED, deadline.REASON))

    def test_behind_without_being_a_row(self):
        self.assertEqual(self.row(-1)[0], 1)


if __name__ == "__main__":
    unittest.main()
