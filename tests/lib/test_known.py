"""A known defect is told from other failures, and from its end."""
import subprocess
import sys
import unittest
from pathlib import Path

KNOWN = Path(__file__).parent / "known.py"


def run(code, timeout="20"):
    done = subprocess.run(
        [sys.executable, KNOWN, "--fails", "D0: [0-9]+ are wrong",
         "--timeout", timeout, "--", sys.executable, "-c", code],
        capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class KnownTest(unittest.TestCase):
    def refused(self, code, why, timeout="20"):
        status, said = run(code, timeout)
        self.assertEqual(status, 1)
        self.assertIn(why, said)

    def test_the_defect_passes(self):
        status, said = run("import sys; print('D0: 7 are wrong'); sys.exit(1)")
        self.assertEqual(status, 0, said)

    def test_its_end_is_told(self):
        self.refused("print('D0: 7 are wrong')", "XPASS")

    def test_another_failure_is_one(self):
        self.refused("import sys; sys.exit('no such thing')", "no line matches")

    def test_so_is_a_crash_behind_it(self):
        self.refused("import sys; print('D0: 7 are wrong');"
                     "sys.exit('AddressSanitizer: bad')", "in another way")

    def test_and_what_does_not_end(self):
        self.refused("import threading; print('D0: 7 are wrong', flush=True);"
                     "threading.Event().wait()", "did not end", "1")


if __name__ == "__main__":
    unittest.main()
