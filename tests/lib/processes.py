"""Jobs of mpiexec under test, which leave nothing behind, however they end.

Hydra makes a session of every process, so no group holds a job: mpiexec is
asked to end it (SIGTERM), which it does, proxies and ranks; it is asked by the
kernel if the test itself is killed. What outlives mpiexec becomes a child of
the test, which kills it. One job at a time, started by the main thread.
"""
import ctypes
import glob
import os
import signal
import subprocess
import sys

from no_input import NO_INPUT

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_SECONDS = 5
TOLD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LIBC = ctypes.CDLL(None, use_errno=True)


def start(command, **options):
    """As subprocess.Popen, for a command that ends with this process: SIGTERM,
    SIGINT and SIGHUP end the job first, from before it is there."""
    parent = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TOLD)

    def follow_parent():
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        process = subprocess.Popen(command, start_new_session=True,
                                   preexec_fn=follow_parent, **options)
        end_when_told(process)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def children():
    found = []
    for path in glob.glob("/proc/self/task/*/children"):
        with open(path) as file:
            found += map(int, file.read().split())
    return found


def end_orphans():
    """Kills what the job left, and what that leaves in turn."""
    while (left := children()):
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def end(process):
    """Ends the job and whatever is left of it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    end_orphans()


def end_when_told(process):
    def on_signal(number, _frame):
        end(process)
        sys.exit(128 + number)

    for number in TOLD:
        signal.signal(number, on_signal)


def run(command, timeout):
    """Exit status and output, both streams in one; nothing is left of it."""
    process = start(command, stdin=NO_INPUT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              errors="replace")
    try:
        output, _ = process.communicate(timeout=timeout)
        end(process)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        end(process)
        output, _ = process.communicate()
        return None, output
