"""mpix-gds-doctor: what it finds, and what it makes of what it finds."""

import copy
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import time
import unittest

from doctor_case import BEGIN, CHECKS, END, STUB_CUDA, DoctorTest
from tree import BUILD, LIBRARY, MPIEXEC, SIM, STUB


class Healthy(DoctorTest):
    def test_host_without_gpu_works_with_a_named_fallback(self):
        report = self.report()
        self.assertEqual(report["status"], 1)
        self.assert_check(report, "library", "ok", self.lib(LIBRARY))
        self.assert_check(report, "mpi", "ok", "MPICH", "libmpich.so.12")
        self.assert_check(report, "launch", "ok", "2 ranks on 1 host",
                          self.bin("mpix-gds-run"))
        self.assert_check(report, "driver", "fallback", "libcuda.so.1")
        self.assert_check(report, "gpus", "unknown", "no GPU")

    def test_environment_may_hold_what_is_no_variable(self):
        """An entry without "=", which no shell makes; it kept the doctor."""
        tool = self.bin("mpix-gds-doctor").encode()
        words = (ctypes.c_char_p * 3)(tool, b"--no-gpu")
        entries = (ctypes.c_char_p * 2)(b"MPIX_GDS_NOTHING")
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            signal.alarm(30)
            ctypes.CDLL(None).execve(tool, words, entries)
            os._exit(99)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertIn(status, (0, 1, 2))

    def test_number_of_ranks_is_the_users(self):
        report = self.report("-n", "3")
        self.assertEqual([r["rank"] for r in report["ranks"]], [0, 1, 2])
        self.assertEqual(len(report["pairs"]), 18)
        self.assert_check(report, "launch", "ok", "3 ranks")

    def test_launcher_is_the_users(self):
        report = self.report("--launcher", MPIEXEC + "  -n 1")
        self.assert_check(report, "launch", "ok", MPIEXEC + " -n 1 /")
        self.assertEqual(len(report["ranks"]), 1)

    def test_text_is_readable(self):
        done = self.doctor()
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[-1],
                         "works with a named fallback: driver")
        starts = [line.split()[:2] for line in lines if line[0] != " "][:-1]
        # What the driver's line explains has none of its own.
        self.assertEqual([word[1] for word in starts],
                         [check for check in CHECKS if check not in
                          ("gpus", "peers", "memops", "pairs")])
        for line in lines:
            if "/" not in line:  # names of files may be long
                self.assertLessEqual(len(line), 80, line)

    def test_limit_shown_is_the_one_inside_the_rank(self):
        report = self.report(
            "--launcher", "prlimit --memlock=65536:131072 " + MPIEXEC + " -n 2")
        self.assertEqual(report["ranks"][1]["memlock"],
                         {"soft": 65536, "hard": 131072})
        self.assert_check(report, "memlock", "ok", "64 KiB",
                          "hard limit 128 KiB")

    def test_hosts_are_told_apart(self):
        report = self.report("--launcher", " ".join(
            [MPIEXEC, "-n 1 -env MPIX_SIM_HOST one", self.bin("mpix-gds-run"),
             self.bin("mpix-gds-probe"), ":",
             "-n 2 -env MPIX_SIM_HOST two"]))
        self.assert_check(report, "launch", "ok", "3 ranks on 2 hosts")
        self.assertEqual([r["host"] for r in report["ranks"]],
                         ["one", "two", "two"])
        pairs = {(p["from"], p["to"]): p for p in report["pairs"]}
        self.assertFalse(pairs[0, 1]["same_host"])
        self.assertTrue(pairs[1, 2]["same_host"])
        self.assert_check(report, "hca", "ok", "no HCA", "another network")

    def test_report_of_a_job_is_read(self):
        probe = self.call(MPIEXEC, "-n", "2", self.bin("mpix-gds-run"),
                          self.bin("mpix-gds-probe"))
        saved = os.path.join(self.scratch, "job.out")
        with open(saved, "w", encoding="utf-8") as out:
            out.write("prologue of the job\n" + probe.stdout + "epilogue\n")
        report = self.report("--read", saved)
        self.assert_check(report, "launch", "ok", "2 ranks", saved)
        self.assertEqual(report["status"], 1)

    def test_settings_are_shown(self):
        done = self.doctor("--env", env={"MPIX_GDS_REQUIRE": "p2p"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("MPIX_GDS_LOG_LEVEL", done.stdout)
        self.assertRegex(done.stdout, r"MPIX_GDS_REQUIRE +p2p +\(changed\)")

    def test_bad_settings_are_a_fallback(self):
        env = {"MPIX_GDS_LOG_LEVEL": "shout", "MPIX_GDS_REQUIER": "p2p"}
        done = self.doctor("--env", env=env)
        self.assertEqual(done.returncode, 1)


class RealLibrary(DoctorTest):
    """The library and the software GPU of this build in the stub's place."""

    def install(self, root):
        super().install(root)
        for name in (LIBRARY, os.path.join(SIM, "libcuda.so.1")):
            shutil.copy2(os.path.join(BUILD, "lib", name),
                         os.path.join(root, "lib", name))

    def test_it_is_active(self):
        self.assert_check(self.report(), "library", "ok",
                          self.lib(LIBRARY))

    def test_it_carries_messages_on_the_software_gpu(self):
        report = self.report("--sim=gpu")
        self.assertEqual(report["status"], 0)
        self.assertIn("enqueued p2p between every two ranks",
                      report["checks"]["pairs"]["rows"])

    def test_it_is_inert_when_switched_off(self):
        report = self.report("--launcher",
                             MPIEXEC + " -n 2 -env MPIX_GDS_ENABLE no")
        self.assert_check(report, "library", "broken", "inert")

    def test_ranks_end_over_tcp_with_the_helper_behind_it(self):
        for _ in range(4):
            report = self.report("-n", "4", "--sim=mpi",
                                 env={"UCX_TLS": "tcp,self"})
            self.assert_check(report, "library", "ok")


class Devices(DoctorTest):
    def setUp(self):
        super().setUp()
        shutil.copy2(STUB_CUDA, self.lib(SIM, "libcuda.so.1"))

    def simulated(self, env=None, *words):
        return self.report("--sim=gpu", *words, env=env)

    def test_devices_are_named(self):
        report = self.simulated({"STUB_CUDA_COUNT": "2"})
        self.assert_check(report, "driver", "ok", "CUDA 13.2",
                          self.lib(SIM, "libcuda.so.1"))
        self.assert_check(report, "gpus", "ok", "2: 0 Stub A, 1 Stub B")
        self.assert_check(report, "peers", "ok", "every GPU")
        self.assert_check(report, "memops", "ok", " dma_buf")

    def test_driver_without_devices(self):
        report = self.simulated({"STUB_CUDA_COUNT": "0"})
        self.assert_check(report, "gpus", "fallback", "no device")

    def test_driver_that_does_not_start(self):
        report = self.simulated({"STUB_CUDA_INIT": "100"})
        self.assert_check(report, "driver", "fallback",
                          "cuInit: CUDA_ERROR_NO_DEVICE (100)")
        report = self.simulated({"STUB_CUDA_GET": "999",
                                 "STUB_CUDA_COUNT": "2"})
        self.assert_check(report, "driver", "fallback", "cuDeviceGet:")

    def test_driver_that_lacks_a_call(self):
        shutil.copy2(STUB, self.lib(SIM, "libcuda.so.1"))
        report = self.simulated()
        self.assert_check(report, "driver", "fallback", "it has no cuInit")

    def test_gpu_that_reaches_no_other(self):
        report = self.simulated({"STUB_CUDA_COUNT": "3",
                                 "STUB_CUDA_ISLAND": "1"})
        self.assert_check(report, "peers", "fallback", " 0-1 1-0 1-2 2-1")

    def test_few_hardware_queues_are_told(self):
        report = self.simulated({"CUDA_DEVICE_MAX_CONNECTIONS": "8"})
        self.assert_check(report, "memops", "fallback", "no more than 6")
        report = self.simulated({"CUDA_DEVICE_MAX_CONNECTIONS": "32"})
        self.assert_check(report, "memops", "ok", " dma_buf")

    def test_missing_memory_operation_is_named(self):
        report = self.simulated({"STUB_CUDA_LACK": "122"})
        self.assert_check(report, "memops", "fallback", "no memops_64")
        report = self.simulated({"STUB_CUDA_LACK": "116"})
        self.assert_check(report, "memops", "ok", "no gpu_direct_rdma")

    def adapters(self, state):
        port = os.path.join(self.scratch, "sys", "class", "infiniband",
                            "mlx5_0", "ports", "1")
        os.makedirs(port)
        for name, text in (("state", state), ("link_layer", "InfiniBand"),
                           ("rate", "400 Gb/sec (4X NDR)")):
            with open(os.path.join(port, name), "w",
                      encoding="utf-8") as out:
                out.write(text + "\n")
        return {"SYSFS_PATH": os.path.join(self.scratch, "sys")}

    def test_active_adapter_makes_the_limit_matter(self):
        env = self.adapters("4: ACTIVE")
        limited = "prlimit --memlock=65536 " + MPIEXEC
        report = self.simulated(env, "--launcher", limited + " -n 2")
        self.assert_check(report, "hca", "ok", "mlx5_0 InfiniBand 400 Gb/sec")
        self.assert_check(report, "memlock", "ok", "64 KiB")
        report = self.simulated(env, "--launcher",
                                limited + self.on_two_hosts())
        self.assert_check(report, "memlock", "fallback", "64 KiB")

    def on_two_hosts(self):
        return " ".join([" -n 1 -env MPIX_SIM_HOST one",
                         self.bin("mpix-gds-run"), "--sim=gpu",
                         self.bin("mpix-gds-probe"), ": -n 1 -env MPIX_SIM_HOST two"])

    def test_adapter_that_is_down(self):
        env = self.adapters("1: DOWN")
        report = self.simulated(env)
        self.assert_check(report, "hca", "ok", "no HCA with an active port")
        report = self.simulated(env, "--launcher",
                                MPIEXEC + self.on_two_hosts())
        self.assert_check(report, "hca", "fallback", "another network")


class Broken(DoctorTest):
    def assert_broken(self, report, name, *words):
        self.assertEqual(report["status"], 2)
        self.assert_check(report, name, "broken", *words)

    def test_no_launcher_in_path(self):
        empty = os.path.join(self.scratch, "empty")
        os.mkdir(empty)
        report = self.report(env={"PATH": empty})
        self.assert_broken(report, "launch", "no mpiexec.mpich")
        self.assertIn("apt-get install mpich",
                      report["checks"]["launch"]["remedy"])
        self.assert_check(report, "library", "unknown")
        report = self.report(drop=("PATH",), env={"PATH": ""})
        self.assert_broken(report, "launch", "no mpiexec.mpich")

    def test_launcher_that_does_not_exist(self):
        report = self.report("--launcher", "no-such-launcher -n 2")
        self.assert_broken(report, "launch", "no-such-launcher",
                           "No such file")
        self.assert_broken(self.report("--launcher", "  "), "launch",
                           "no words")
        self.assert_broken(self.report("--launcher", "a " * 70), "launch",
                           "too many words")

    def test_missing_library(self):
        self.assert_missing(self.lib(LIBRARY))

    def test_missing_probe(self):
        self.assert_missing(self.bin("mpix-gds-probe"))

    def assert_missing(self, path):
        os.unlink(path)
        report = self.report()
        self.assert_broken(report, "installation", path + " is missing")
        self.assert_check(report, "launch", "unknown", "not tried")
        self.assertTrue(self.doctor().stdout.endswith(
            "\nbroken: installation\n"))

    def test_library_that_is_not_in_the_ranks(self):
        bare = self.script("bare", "export UCX_MEM_EVENTS=no\nshift\n"
                           'exec "$@"\n')
        shutil.copy2(bare, self.root)
        report = self.report("--launcher", f"{MPIEXEC} -n 2 {self.root}/bare")
        self.assert_broken(report, "library", "not in the process of rank 0")
        self.assert_check(report, "mpi", "ok")
        self.assert_check(report, "pairs", "unknown")

    def test_library_without_effect(self):
        report = self.report(env={"STUB_GDS_STATE": "0"})
        self.assert_broken(report, "library", "inert")
        report = self.report(env={"STUB_GDS_STATE": "7"})
        self.assert_broken(report, "library", "no sound answer")

    def test_library_of_another_version(self):
        report = self.report(env={"STUB_GDS_VERSION": "20304"})
        self.assert_check(report, "library", "fallback", "20304")

    def test_probe_that_crashes_shows_what_it_said(self):
        os.unlink(self.bin("mpix-gds-probe"))
        path = self.script("probe", "echo stub says why >&2\nexit 9\n")
        shutil.copy2(path, self.bin("mpix-gds-probe"))
        report = self.report()
        self.assert_broken(report, "launch", "exit status")
        self.assertIn("stub says why", report["checks"]["launch"]["detail"])
        done = self.doctor()
        self.assertIn("| stub says why\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\nbroken: launch\n"))

    def test_launcher_that_dies_of_a_signal(self):
        self.script("mpiexec.mpich", "kill -SEGV $$\n")
        self.assert_broken(self.report(), "launch", "signal 11")

    def assert_gone(self, pid_file):
        """No process in pid_file runs any more, or will in a moment; whether
        it was buried is its parent's business."""
        with open(pid_file, encoding="utf-8") as pids:
            for pid in pids.read().split():
                try:
                    process = os.pidfd_open(int(pid))
                except ProcessLookupError:
                    continue
                ended, _, _ = select.select([process], [], [], 10)
                os.close(process)
                self.assertTrue(ended, pid)

    def test_ranks_that_hang_are_stopped(self):
        pids = os.path.join(self.scratch, "pids")
        self.script("mpiexec.mpich",
                    f"trap '' TERM\necho $$ >>'{pids}'\n"
                    f"sleep 600 & echo $! >>'{pids}'\n"
                    "echo waiting for godot >&2\nwait\nwait\n")
        start = time.monotonic()
        report = self.report("--timeout", "1")
        self.assertLess(time.monotonic() - start, 30)
        self.assert_broken(report, "launch", "not ended after 1 s")
        self.assertIn("waiting for godot",
                      report["checks"]["launch"]["detail"])
        self.assert_gone(pids)

    def test_real_ranks_that_hang_are_stopped(self):
        os.unlink(self.bin("mpix-gds-probe"))
        pids = os.path.join(self.scratch, "pids")
        path = self.script("probe", f"echo $$ >>'{pids}'\nexec sleep 600\n")
        shutil.copy2(path, self.bin("mpix-gds-probe"))
        self.assert_broken(self.report("--timeout", "2"), "launch",
                           "not ended after 2 s")
        self.assert_gone(pids)

    def test_interrupted_doctor_stops_the_ranks(self):
        for number in (signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                self.interrupt(number)

    def interrupt(self, number):
        pids = os.path.join(self.scratch, f"pids{number}")
        os.mkfifo(pids + ".ready")
        self.script("mpiexec.mpich", f"echo $$ >'{pids}'\n"
                    f"echo >'{pids}.ready'\nexec sleep 600\n")
        env = dict(os.environ, PATH=self.path + ":" + os.environ["PATH"])
        with subprocess.Popen([self.bin("mpix-gds-doctor")], env=env,
                              stdout=subprocess.PIPE) as process:
            with open(pids + ".ready", encoding="utf-8") as ready:
                ready.read()
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=30), 128 + number)
        self.assert_gone(pids)

    def test_endless_output_is_survived(self):
        self.script("mpiexec.mpich", "exec cat /dev/zero\n")
        start = time.monotonic()
        self.assert_broken(self.report("--timeout", "1"), "launch",
                           "not ended after 1 s")
        self.assertLess(time.monotonic() - start, 30)

    def test_too_much_output_is_told(self):
        self.script("mpiexec.mpich", '"$4" >/dev/null\nyes | head -c 9000000\n')
        self.assert_broken(self.report(), "launch", "hide the report")

    def test_ranks_that_know_nothing_of_each_other(self):
        self.script("mpiexec.mpich",
                    'shift 2\n"$@" && "$@"\n')
        self.assert_broken(self.report(), "launch", "another MPI")

    def test_wrong_number_of_ranks(self):
        report = self.report("--launcher", MPIEXEC + " -n 3", "-n", "2")
        self.assert_broken(report, "launch", "3 ranks reported, 2")


class Parser(DoctorTest):
    """Every way to get a report wrong is noticed."""

    def setUp(self):
        super().setUp()
        shutil.copy2(STUB_CUDA, self.lib(SIM, "libcuda.so.1"))
        done = self.call(MPIEXEC, "-n", "2", self.bin("mpix-gds-run"),
                         "--sim=gpu:1", self.bin("mpix-gds-probe"))
        self.good = json.loads(done.stdout.splitlines()[1])
        self.good[0]["messages"].update(error="", ways=[
            {"peer": 1, "sent": True, "enqueued": True, "bytes": 8,
             "transport": "p2p", "reason": "", "remedy": ""}])
        self.good[0]["hca"] = [{"name": "a", "active": True, "state": "b",
                                "layer": "c", "rate": "d"}]

    def read(self, text):
        saved = os.path.join(self.scratch, "saved")
        with open(saved, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return self.report("--read", saved)

    def read_facts(self, facts):
        return self.read(f"{BEGIN}\n{json.dumps(facts)}\n{END}\n")

    def assert_rejected(self, report, what):
        check = report["checks"]["launch"]
        self.assertEqual(check["state"], "broken", what)
        self.assertIn("no report of use came: ", check["text"])

    def objects(self, node, path=()):
        """Paths of all objects in node."""
        if isinstance(node, dict):
            yield path
        pairs = node.items() if isinstance(node, dict) else \
            enumerate(node) if isinstance(node, list) else ()
        for key, part in pairs:
            yield from self.objects(part, path + (key,))

    def changed(self, path, change):
        facts = copy.deepcopy(self.good)
        node = facts
        for step in path:
            node = node[step]
        change(node)
        return facts

    def test_good_report_is_taken(self):
        self.assertEqual(
            self.read_facts(self.good)["checks"]["launch"]["state"], "ok")

    def test_every_missing_extra_or_mistyped_member_is_rejected(self):
        for path in list(self.objects(self.good)):
            node = self.good
            for step in path:
                node = node[step]
            for key in node:
                wrong = self.changed(path, lambda n, k=key: n.pop(k))
                self.assert_rejected(self.read_facts(wrong), (path, key))
                wrong = self.changed(
                    path, lambda n, k=key: n.__setitem__(k, 1.5))
                self.assert_rejected(self.read_facts(wrong), (path, key))
            wrong = self.changed(path, lambda n: n.__setitem__("more", 1))
            self.assert_rejected(self.read_facts(wrong), path)

    def test_messages_must_be_of_ranks(self):
        for change in ({"peer": 2}, {"peer": -1}, {"bytes": 0}):
            wrong = self.changed((0, "messages", "ways", 0),
                                 lambda n, c=change: n.update(c))
            self.assert_rejected(self.read_facts(wrong), change)
        wrong = self.changed((0,), lambda n: n.update(messages=None))
        self.assert_rejected(self.read_facts(wrong), "of one rank")

    def test_matrix_must_be_square(self):
        for peers in ([], [[]], [[True, True]], [[True], [True]], [[1]], [1]):
            wrong = self.changed((0, "gpu"),
                                 lambda n, p=peers: n.update(peers=p))
            self.assert_rejected(self.read_facts(wrong), peers)

    def test_ranks_must_be_in_order_and_hosts_complete(self):
        self.assert_rejected(self.read_facts(self.good[::-1]), "order")
        self.assert_rejected(self.read_facts([]), "none")
        self.assert_rejected(self.read_facts({}), "no list")
        wrong = self.changed((0,), lambda n: n.update(gpu=None))
        self.assert_rejected(self.read_facts(wrong), "no devices")

    def test_frame_must_be_whole_and_single(self):
        line = json.dumps(self.good)
        whole = f"{BEGIN}\n{line}\n{END}\n"
        for text in ("", "\n", line, f"{BEGIN}\n{line}\n", f"{line}\n{END}\n",
                     f" {BEGIN}\n{line}\n{END}\n", whole + whole,
                     f"{BEGIN}\n{line}{line}\n{END}\n",
                     f"{BEGIN}\n{line[:-1]}\n{END}\n", f"{BEGIN}\n\n{END}\n",
                     whole.replace("begin 2", "begin 1"),
                     whole.encode().replace(b"Stub", b"\xff\xfe"),
                     b"\0" + whole.encode()):
            self.assert_rejected(self.read(text), text)


class WhatAUserIsTold(DoctorTest):
    def test_help_and_version(self):
        done = self.doctor("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Exit status: 0 all well", done.stdout)
        done = self.doctor("--version")
        self.assertRegex(done.stdout, r"^mpix-gds-doctor \d+\.\d+\.\d+\n$")

    def test_bad_words(self):
        for words, said in (
                (("--what",), "--what"), (("-q",), "-q"), (("-n",), "-n"),
                (("-n", "0"), "-n 0"), (("-n", "two"), "-n two"),
                (("-n", "2x"), "2x"), (("--timeout=0",), "--timeout 0"),
                (("--timeout", "-3"), "-3"), (("--launcher=",), "--launcher="),
                (("app",), "takes no program"),
                (("--read=x", "--sim"), "--read starts nothing"),
                (("--read=x", "--no-gpu"), "--read starts nothing"),
                (("--read=x", "--launcher=y"), "--read starts nothing")):
            self.assert_one_line(self.doctor(*words), 2, said)

    def test_file_that_cannot_be_read(self):
        report = self.report("--read", "/no/such/file")
        self.assert_check(report, "launch", "broken", "/no/such/file",
                          "No such file")
        report = self.report("--read", self.scratch)
        self.assert_check(report, "launch", "broken", "directory")

    def test_closed_output_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            for words in ((), ("--json",), ("--env",)):
                done = subprocess.run(
                    [self.bin("mpix-gds-doctor"), *words], stdout=full,
                    stderr=subprocess.PIPE, check=False, timeout=60)
                self.assertEqual(done.returncode, 2)
                self.assertIn(b"mpix-gds-doctor: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
