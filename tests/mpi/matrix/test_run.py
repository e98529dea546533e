"""run_matrix.py names the case a job hangs or ends in, and runs the others."""
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Stands for mpiexec: the last word is the file of cases; the names of calls
# say what becomes of them.
JOB = f"""\
    #!{sys.executable}
    import os, sys, time
    for name in open(sys.argv[-1]).read().split():
        print("begin", name, flush=True)
        if name.startswith("hangs"):
            print("last words", flush=True)
            time.sleep(1000)
        if name.startswith("dies"):
            os._exit(5)
        if name.startswith("slow"):
            time.sleep(0.3)
        print("FAILED " + name + ": rank 0: wrong" if name.startswith("wrong")
              else "ok " + name, flush=True)
    sys.exit(0)
    """

# Stands for matrix: its factors.
PROGRAM = f"""\
    #!{sys.executable}
    print("call a\\ncall b\\nkind host\\nkind device\\ntype contiguous")
    """


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(text))
    os.chmod(path, 0o755)
    return path


def case(call):
    return call + "/host/host/contiguous/8/2"


class Run(unittest.TestCase):
    def matrix(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            job = script(folder, "mpiexec", JOB)
            program = script(folder, "matrix", PROGRAM)
            begin = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-B", os.path.join(HERE, "run_matrix.py"),
                 "--program", program, "--mpiexec", job, *words],
                stdout=subprocess.PIPE, text=True, timeout=100, check=False)
        self.seconds = time.monotonic() - begin
        return done.returncode, done.stdout

    def cases(self, *calls):
        return [word for call in calls for word in ("--case", case(call))]

    def test_all_hold(self):
        status, said = self.matrix(*self.cases("a", "b"))
        self.assertEqual(status, 0)
        self.assertIn("2 of 2 cases held, 0 failed, 0 not run", said)

    def test_a_case_that_hangs_is_named_and_the_others_run(self):
        status, said = self.matrix("--timeout", "2",
                                   *self.cases("a", "hangs", "b"))
        self.assertEqual(status, 1)
        self.assertIn(f"FAILED {case('hangs')}: no end within 2 s", said)
        self.assertIn("last words", said)
        self.assertIn("2 of 3 cases held, 1 failed, 0 not run", said)
        self.assertLess(self.seconds, 30)

    def test_the_timeout_is_that_of_a_case_not_of_the_job(self):
        slow = [f"slow{i}" for i in range(10)]
        status, said = self.matrix("--timeout", "2", *self.cases(*slow))
        self.assertEqual(status, 0, said)
        self.assertGreater(self.seconds, 2)

    def test_a_case_that_ends_its_job_or_is_wrong_is_named(self):
        status, said = self.matrix(*self.cases("a", "dies", "wrong", "b"))
        self.assertEqual(status, 1)
        self.assertIn(f"FAILED {case('dies')}: the job ended with status 5",
                      said)
        self.assertIn(f"FAILED {case('wrong')}: rank 0: wrong", said)
        self.assertIn("2 of 4 cases held, 2 failed, 0 not run", said)

    def test_the_limit_ends_it_and_says_what_was_not_run(self):
        status, said = self.matrix("--limit", "2",
                                   *self.cases("a", "hangs", "b", "c"))
        self.assertEqual(status, 1)
        self.assertIn(f"FAILED {case('hangs')}: at it when the time", said)
        self.assertIn("1 of 4 cases held, 1 failed, 2 not run", said)

    def names(self, *words):
        return self.matrix("--level", "product", "--print", *words)[1].split()

    def test_a_sample_is_drawn_by_the_seed_and_of_so_many(self):
        every = self.names()
        drawn = self.names("--sample", "10")
        self.assertEqual(len(set(drawn)), 10)
        self.assertLess(set(drawn), set(every))
        self.assertEqual(drawn, self.names("--sample", "10"))
        self.assertNotEqual(drawn, self.names("--sample", "10", "--seed", "9"))
        _, said = self.matrix("--level", "product", "--sample", "10")
        self.assertIn("10 of 10 cases held, 0 failed, 0 not run", said)


if __name__ == "__main__":
    unittest.main()
