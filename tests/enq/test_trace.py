"""Traces of two ranks with enqueued messages on the software GPU, merged; and
those of two ranks of which one is killed.

test_trace.py MPIEXEC BUILD_FOLDER
"""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

MPIEXEC, BUILD = sys.argv[1:3]
LIMIT = 200  # seconds, of a job
SIM = "--sim=gpu:2"
# One that comes late on a slow machine is staged.
WAYS = ("p2p", "host")


class TraceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mpix-trace.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, case, **settings):
        env = dict(os.environ, MPIX_GDS_TRACE="yes",
                   MPIX_GDS_TRACE_FILE=os.path.join(self.folder, "%r.json"),
                   **settings)
        for name in ("LD_PRELOAD", "MPIX_GDS_REQUIRE"):
            env.pop(name, None)
        job = subprocess.Popen(
            [MPIEXEC, "-n", "2", os.path.join(BUILD, "bin", "mpix-gds-run"),
             SIM, os.path.join(BUILD, "tests", "enq_trace"), "--limit",
             str(LIMIT), case], env=env, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.addCleanup(job.stdout.close)
        return job

    def file(self, rank):
        return os.path.join(self.folder, f"{rank}.json")

    def merge(self):
        out = os.path.join(self.folder, "out")
        subprocess.run([os.path.join(BUILD, "bin", "mpix-gds-trace"), "merge",
                        out, *glob.glob(os.path.join(self.folder, "*.json"))],
                       check=True, timeout=60)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def operations(self, events, rank):
        """By tag: the events of each operation of a rank, in order."""
        found = {}
        for event in events:
            if event["pid"] == rank and event["ph"] in "bne":
                found.setdefault(event["id2"]["local"], []).append(event)
        operations = {}
        for steps in found.values():
            self.assertEqual(steps[0]["ph"], "b")
            operations[steps[0]["args"]["tag"]] = steps
        return operations

    def check_exchange(self, events):
        """What both ranks did; begin before end, arrows from 0 to 1."""
        sends, receives = (self.operations(events, rank) for rank in (0, 1))
        for tag, size, source in ((7, 512, "any"), (8, 100000, 0)):
            send, receive = sends[tag], receives[tag]
            for steps, name in ((send, "send"), (receive, "recv")):
                self.assertEqual([steps[0]["name"], steps[-1]["name"]],
                                 [name, name])
                self.assertEqual(steps[-1]["ph"], "e")
                self.assertLessEqual(steps[0]["ts"], steps[-1]["ts"])
                self.assertEqual(steps[0]["args"]["bytes"], size)
                self.assertEqual(steps[-1]["args"]["bytes"], size)
                self.assertNotIn("error", steps[-1]["args"])
                self.assertIn(steps[-1]["args"]["transport"], WAYS)
            self.assertEqual(send[0]["args"]["peer"], 1)
            self.assertEqual(receive[0]["args"]["peer"], source)
            self.assertEqual(send[0]["args"]["comm"],
                             receive[0]["args"]["comm"])
            matched = next(e for e in receive if e["name"] == "matched")
            self.assertEqual(matched["args"],
                             {"peer": 0, "tag": tag, "bytes": size})
            self.assertTrue(send[0]["flow_out"] and matched["flow_in"])
            self.assertEqual(send[0]["bind_id"], matched["bind_id"])
            self.assertLessEqual(send[0]["ts"], matched["ts"])

    def calls(self, events, rank):
        """Calls that ended, by name; and those that are open. They nest."""
        ended, still = [], []
        for event in events:
            if event["pid"] != rank or event.get("cat") != "mpi":
                continue
            if event["ph"] == "B":
                still.append(event)
            else:
                begin = still.pop()
                self.assertEqual(begin["name"], event["name"])
                self.assertLessEqual(begin["ts"], event["ts"])
                ended.append(event["name"])
        return ended, [event["name"] for event in still]

    def test_calls_and_operations_of_both_ranks(self):
        job = self.start("exchange", MPIX_GDS_SUMMARY="all")
        said, _ = job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0, said)
        for rank in (0, 1):
            with open(self.file(rank), encoding="utf-8") as file:
                json.load(file)
        events = self.merge()
        self.assertNotIn("events lost", [event["name"] for event in events])
        self.check_exchange(events)
        for rank, names in ((0, ("Send", "Isend")), (1, ("Recv", "Irecv"))):
            ended, still = self.calls(events, rank)
            for name in ("MPI_Init_thread", "MPI_Finalize",
                         *(f"MPIX_{name}_enqueue" for name in names)):
                self.assertEqual(ended.count(name), 1, name)
            self.assertEqual(still, [])
        named = [e["args"]["name"] for e in events
                 if e["name"] == "process_name"]
        self.assertEqual([name[:7] for name in named], ["rank 0,", "rank 1,"])
        for rank, way in ((0, "send"), (1, "recv")):
            for tag, size in ((7, "1k"), (8, "1m")):
                end = self.operations(events, rank)[tag][-1]
                self.assertRegex(said, rf"rank {rank}\].* {way}_"
                                 rf"{end['args']['transport']}_{size} 1;")

    def test_rank_that_aborts_writes_all(self):
        for case, last in (("give_up", "MPI_Abort"),
                           ("fatal", "MPIX_Send_enqueue")):
            job = self.start(case)
            said, _ = job.communicate(timeout=LIMIT)
            self.assertNotEqual(job.returncode, 0, said)
            with open(self.file(1), encoding="utf-8") as file:
                events = json.load(file)
            ended, still = self.calls(events, 1)
            self.assertEqual((ended[-1], still), (last, []))

    def await_open_receive(self, rank, job):
        """The file, as soon as it says that the rank is in MPI_Recv, and how
        both operations ended (which another thread may have recorded)."""
        while True:
            try:
                job.wait(timeout=0.05)
                self.fail("the job has ended: " + job.stdout.read())
            except subprocess.TimeoutExpired:
                pass
            if not os.path.exists(self.file(rank)):
                continue
            with open(self.file(rank), encoding="utf-8") as file:
                text = file.read()
            if '"name":"MPI_Recv","ph":"B"' in text and \
                    text.count('"ph":"e"') == 2:
                return text

    def test_rank_that_is_killed_leaves_what_it_did(self):
        job = self.start("stay")
        for rank in (0, 1):
            text = self.await_open_receive(rank, job)
        facts = json.loads(text.split("\n")[1].rstrip(","))["args"]
        os.kill(facts["os_pid"], signal.SIGKILL)
        job.communicate(timeout=LIMIT)
        self.assertNotEqual(job.returncode, 0)
        with self.assertRaises(ValueError):
            json.loads(text)
        json.loads(text + "]")
        events = self.merge()
        self.check_exchange(events)
        for rank in (0, 1):
            self.assertEqual(self.calls(events, rank)[1], ["MPI_Recv"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
