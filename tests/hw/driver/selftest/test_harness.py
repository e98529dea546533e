"""The harness of driver-list, run over made-up cases on a stub driver:
every way in which a case can go wrong is seen, and none spoils another."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, STUB = sys.argv[1:3]

WANT = {
    "passes": ("ok", ""),
    "fails_an_expectation_and_goes_on": ("FAIL", "not so: 1 == 2"),
    "aborts": ("FAIL", "cannot go on"),
    "dies_of_a_signal": ("FAIL", "signal 11"),
    "leaves_by_exit": ("FAIL", "ended inside the case"),
    "waits_until_the_watchdog": ("FAIL", "watchdog released the gates"),
    "never_ends": ("FAIL", "watchdog released the gates"),
    "never_ends_and_hears_nothing": ("FAIL", "timeout: killed"),
    "leaves_a_gate_closed": ("FAIL", "left 1 gates closed"),
    "skips": ("skip", ""),
    "fails_in_a_thread": ("FAIL", "want 0x2, got 0x1"),
    "fails_in_a_peer": ("FAIL", "want 0x1, got 0x2"),
    "loses_its_peer": ("FAIL", "cannot go on|not so"),
    "calls_what_the_driver_lacks": ("FAIL", "no cuIpcGetEventHandle"),
    "fails_when_its_process_ends": ("FAIL", "status 66"),
    "expects_a_call_to_block_that_does_not": ("FAIL", "nothing returned"),
    "expects_a_call_to_block_that_does": ("ok", ""),
    "expects_a_call_to_return_that_does_not": ("FAIL", "did not return"),
    "sets_up_for_longer_than_it_may_run": ("ok", ""),
    "waits_for_a_peer_that_sets_up": ("ok", ""),
    "sets_up_and_never_ends": ("FAIL", "watchdog released the gates"),
    "never_ends_its_set_up": ("FAIL", "CUDA was not set up in time"),
    "needs_two_devices": ("skip", ""),
}


def run(*options, stub=True):
    env = dict(os.environ, LD_LIBRARY_PATH=STUB if stub else "/nonexistent")
    return subprocess.run([PROGRAM, *options], env=env, text=True,
                          capture_output=True, timeout=120)


class Harness(unittest.TestCase):
    def check_all(self, *options):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            done = run("--json", out.name, "--setup-s", "3", *options)
            got = json.load(out)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        cases = {c["name"]: c for c in got["cases"]}
        self.assertEqual(set(cases), set(WANT))
        for name, (result, text) in WANT.items():
            with self.subTest(name):
                case = cases[name]
                self.assertEqual(case["result"], result, case)
                words = " ".join(case["failures"])
                self.assertTrue(any(t in words for t in text.split("|")),
                                case)
        self.assertIn("4 passed, 17 failed, 2 skipped", done.stdout)
        self.assertEqual(cases["passes"]["notes"], ["a fact"])
        slow = cases["sets_up_for_longer_than_it_may_run"]
        self.assertGreater(slow["setup ms"], 2000)
        self.assertLess(slow["ms"], 1000)
        self.assertEqual(got["machine"]["device"], "stub")

    def test_every_end_is_told(self):
        self.check_all("-j", "8", "--batch", "1")

    def test_shared_processes_tell_the_same(self):
        self.check_all("-j", "4", "--batch", "10", "--seed", "7")

    def test_end_of_many_seeds_names_what_failed(self):
        done = run("--seed", "3", "--seeds", "2", "--run", "aborts")
        self.assertEqual(done.returncode, 1)
        last = done.stdout.split("failed:\n")[1].splitlines()
        self.assertEqual([line.split(": ")[:2] for line in last],
                         [["seed 3", "aborts"], ["seed 4", "aborts"]])

    def test_passing_run_is_zero(self):
        done = run("--run", "passes")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("1 passed, 0 failed, 0 skipped", done.stdout)

    def test_no_driver_is_a_skip_unless_required(self):
        self.assertEqual(run(stub=False).returncode, 77)
        self.assertEqual(run("--require", stub=False).returncode, 1)

    def test_bad_options_are_named(self):
        for options in (["-j", "0"], ["--run", "no_such"], ["--what"]):
            self.assertEqual(run(*options).returncode, 2, options)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
