#!/usr/bin/env python3
"""mpi_case.py leaves no process behind: when the row's time is over, when it is
told to end, when it is killed; also no process that a rank left.
usage: test_processes.py MPIEXEC
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from no_input import NO_INPUT

HERE = os.path.dirname(os.path.abspath(__file__))
MPIEXEC = sys.argv.pop(1) if len(sys.argv) > 1 else "mpiexec.mpich"
# Each rank says its number, and that of a process it leaves to itself.
RANK = 'setsid sleep 300 & echo $$ $! >> "$0"; exec sleep 300'
SOON = 20
# Is told to end by the very start of its job.
HASTY = """
import os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
import processes
start = subprocess.Popen
def start_and_be_told(*arguments, **options):
    process = start(*arguments, **options)
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return process
subprocess.Popen = start_and_be_told
processes.start(["sleep", "300"])
signal.pause()
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False  # gone before it was opened, or before it was read


def within(seconds, condition):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


class Processes(unittest.TestCase):
    def start(self, timeout):
        file = tempfile.NamedTemporaryFile("r", suffix=".pids")
        self.addCleanup(file.close)
        case = subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, "mpi_case.py"),
             "--mpiexec", MPIEXEC, "--ranks", "2", "--timeout", str(timeout),
             "--", "/bin/sh", "-c", RANK, file.name],
            stdin=NO_INPUT, stdout=subprocess.DEVNULL)
        self.addCleanup(case.wait)
        self.addCleanup(case.kill)
        pids = []

        def are_there():
            file.seek(0)
            pids[:] = map(int, file.read().split())
            return len(pids) == 4

        self.assertTrue(within(SOON, are_there))
        self.addCleanup(self.clean, pids)
        return case, pids

    def clean(self, pids):
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)

    def assert_gone(self, pids):
        self.assertTrue(within(SOON, lambda: not any(map(alive, pids))), pids)

    def test_a_row_whose_time_is_over(self):
        case, pids = self.start(1)
        self.assertEqual(case.wait(SOON), 1)
        self.assert_gone(pids)

    def test_a_row_that_is_told_to_end(self):
        case, pids = self.start(200)
        case.terminate()
        self.assertEqual(case.wait(SOON), 128 + signal.SIGTERM)
        self.assert_gone(pids)

    def test_a_job_whose_row_is_told_to_end_while_it_starts(self):
        row = subprocess.run([sys.executable, "-Bc", HASTY, HERE], text=True,
                             stdin=NO_INPUT, stdout=subprocess.PIPE,
                             timeout=SOON)
        pids = [int(row.stdout)]
        self.addCleanup(self.clean, pids)
        self.assertEqual(row.returncode, 128 + signal.SIGTERM)
        self.assert_gone(pids)

    def test_a_row_that_is_killed(self):
        case, pids = self.start(200)
        case.kill()
        case.wait(SOON)
        self.assert_gone(pids[::2])  # ranks: of the others nobody knows
        self.clean(pids)


if __name__ == "__main__":
    unittest.main()
