"""libmpix_sim_mpi.so: ranks that wait give their core away, and MPI_Finalize
ends over UCX tcp. Every run is bounded; a hang is a failure."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import processes  # noqa: E402 (the path comes first)
from no_input import NO_INPUT  # noqa: E402

HELPER = os.environ["MGDS_SIM_MPI"]
PROGRAMS = os.environ["MGDS_PROGRAMS"]
MPIEXEC = os.environ["MGDS_MPIEXEC"]
RUNTIME = os.environ.get("MGDS_SANITIZER_RUNTIME", "")
OPENMPI_RING = os.environ.get("MGDS_OPENMPI_RING", "")
OPENMPI_EXEC = os.environ.get("MGDS_OPENMPI_EXEC", "")
TCP = {"UCX_TLS": "tcp,self"}


def preload(helper):
    return ":".join(part for part in (RUNTIME, helper) if part)


def run(*command, helper=HELPER, env=None, limit=60):
    """Output of command with helper in LD_PRELOAD, as (status, text); kills
    the whole of it, and says None, when it takes longer than limit."""
    full = dict(os.environ, UCX_MEM_EVENTS="no", **(env or {}))
    full["LD_PRELOAD"] = preload(helper)
    with processes.start(command, env=full, stdin=NO_INPUT,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         universal_newlines=True) as process:
        try:
            text, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            processes.end(process)
            process.communicate()
            return None, "no end within %d s" % limit
    return process.returncode, text


def ranks(count, program, *arguments, **options):
    path = os.path.join(PROGRAMS, program)
    return run(MPIEXEC, "-n", str(count), path, *arguments, **options)


class SimMpi(unittest.TestCase):
    def assert_clean(self, result):
        self.assertEqual(result, (0, ""))

    def test_rank_that_waits_holds_no_core(self):
        def idle(helper, sleeps, ms):
            status, text = ranks(2, "sim_mpi_idle", str(sleeps), str(ms),
                                 helper=helper)
            self.assertEqual(status, 0, text)
            return map(int, text.split())

        # Not shares of a core: a busy machine gives as little to a rank that
        # would take all. Between two sleeps it looks once.
        sleeps, cpu_us = idle(HELPER, 300, 50000)
        self.assertGreaterEqual(sleeps, 300)
        self.assertLess(cpu_us / sleeps, 1000)
        sleeps, _ = idle("", 300, 500)
        self.assertLess(sleeps, 300)

    def test_more_ranks_than_cores_make_progress(self):
        # Without the yield every lap costs a time slice of each rank.
        core = str(min(os.sched_getaffinity(0)))
        path = os.path.join(PROGRAMS, "sim_mpi_ring")
        self.assert_clean(run("taskset", "-c", core, MPIEXEC, "-n", "8", path,
                              "2000"))

    def test_finalize_ends_over_tcp(self):
        # Without the cure about every third of these hangs.
        for turn in range(12):
            with self.subTest(turn=turn):
                self.assert_clean(ranks(3 + turn % 2, "sim_mpi_ring", "1",
                                        env=TCP, limit=30))

    def test_finalize_by_its_other_name_ends_too(self):
        for _ in range(4):
            self.assert_clean(ranks(4, "sim_mpi_ring", "1", "PMPI", env=TCP,
                                    limit=30))

    def test_session_without_world_is_left_alone(self):
        self.assert_clean(ranks(2, "sim_mpi_ring", "10", "SESSION"))

    def test_mpi_loaded_by_dlopen_is_found(self):
        self.assert_clean(ranks(4, "sim_mpi_hidden", env=TCP, limit=30))

    def test_process_without_mpi_is_left_alone(self):
        self.assert_clean(run("/bin/true"))
        self.assertEqual(run("bash", "-c", "echo $0", "word"), (0, "word\n"))

    @unittest.skipUnless(OPENMPI_RING, "no Open MPI here")
    def test_open_mpi_is_left_alone(self):
        # Races of Open MPI's own are none of our business.
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "TSAN_OPTIONS": "report_bugs=0"}
        self.assert_clean(run(OPENMPI_EXEC, "--oversubscribe", "-n", "2",
                              OPENMPI_RING, "100", env=env))


if __name__ == "__main__":
    unittest.main()
