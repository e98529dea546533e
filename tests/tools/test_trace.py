"""mpix-gds-trace: one file of several, and what it refuses."""

import json
import os
import subprocess
import tempfile
import unittest

TOOL = os.path.join(os.environ["MGDS_BUILD_DIR"], "bin", "mpix-gds-trace")


def head(rank, boot, monotonic, realtime, form=1):
    return {"name": "mpix_gds_trace", "ph": "M", "pid": rank,
            "args": {"format": form, "rank": rank, "boot_id": boot,
                     "monotonic_ns": monotonic, "realtime_ns": realtime}}


def instant(rank, name, ns):
    """As the library writes it, nanoseconds and all."""
    return (f'{{"name":"{name}","ph":"i","pid":{rank},"tid":1,'
            f'"ts":{ns // 1000}.{ns % 1000:03}}}')


class TraceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mpix-trace.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, first, *lines, end="\n]\n"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join([json.dumps(first), *lines]) + end)
        return self.path(name)

    def call(self, *arguments, status=0):
        done = subprocess.run([TOOL, *arguments], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def merge(self, *paths):
        """Times in ns by (pid, name), and what was said."""
        said = self.call("merge", self.path("out"), *paths).stderr
        with open(self.path("out"), encoding="utf-8") as file:
            events = json.load(file)
        return {(e["pid"], e["name"]): round(e["ts"] * 1000)
                for e in events if "ts" in e}, said

    def refused(self, text, *paths):
        done = self.call("merge", self.path("out"), *paths, status=1)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_ranks_of_a_host_stand_to_each_other_exactly(self):
        """Whatever real time was when each of them looked."""
        one = self.write("0", head(0, "b", 5, 10**18),
                         instant(0, "x", 8640000000001003))
        two = self.write("1", head(1, "b", 5, 10**18 + 700),
                         instant(1, "y", 8640000000001000))
        self.assertEqual(self.merge(two, one)[0],
                         {(0, "x"): 3, (1, "y"): 0})

    def test_hosts_are_placed_by_real_time(self):
        one = self.write("0", head(0, "b", 1000, 10**18),
                         instant(0, "x", 1500))
        two = self.write("1", head(1, "c", 70000, 10**18 + 50),
                         instant(1, "y", 70100))
        self.assertEqual(self.merge(one, two)[0],
                         {(0, "x"): 350, (1, "y"): 0})

    def test_ranks_of_the_same_number_are_kept_apart(self):
        one = self.write("a", head(0, "b", 0, 0), instant(0, "x", 1))
        two = self.write("b", head(0, "b", 0, 0), instant(0, "x", 2))
        times, said = self.merge(one, two)
        self.assertEqual(times, {(0, "x"): 0, (1, "x"): 1})
        self.assertIn("another file is of process 0", said)

    def test_file_that_was_cut_off_will_do(self):
        for end in ("", "\n", ",", ',\n{"name":"z","ph"', ',\n{"ts":1'):
            one = self.write("0", head(0, "b", 0, 0), instant(0, "x", 1),
                             end=end)
            times, said = self.merge(one)
            self.assertEqual(times, {(0, "x"): 0}, end)
            self.assertEqual("cut off" in said, "{" in end, end)

    def test_out_is_the_owners_alone(self):
        self.merge(self.write("0", head(0, "b", 0, 0)))
        mode = os.stat(self.path("out")).st_mode & 0o777
        self.assertEqual(mode, 0o600)

    def test_what_is_no_trace_of_ours_is_refused(self):
        other = self.path("other")
        for text in ("", "[\n]\n", "hello\n", '{"a": 1}\n', "[1]\n",
                     '[\n{"name":"a","ph":"i"}\n]\n', "\x7fELF\xff\n"):
            with open(other, "w", encoding="latin-1") as file:
                file.write(text)
            self.refused("other: ", other)

    def test_line_in_the_middle_must_be_an_event(self):
        path = self.write("0", head(0, "b", 0, 0), "{nonsense",
                          instant(0, "x", 1))
        self.refused("line 3 is no event", path)

    def test_file_that_is_not_there_is_refused(self):
        self.refused("No such file", self.path("none"))

    def test_newer_format_is_refused(self):
        self.refused("newer version", self.write("0", head(0, "b", 0, 0, 2)))

    def test_merged_file_is_refused(self):
        self.merge(self.write("0", head(0, "b", 0, 0)))
        os.rename(self.path("out"), self.path("before"))
        self.refused("merged already", self.path("before"))

    def test_out_is_not_one_of_the_files(self):
        path = self.write("0", head(0, "b", 0, 0), instant(0, "x", 1))
        done = self.call("merge", path, path, status=1)
        self.assertIn("OUT comes first", done.stderr)
        self.merge(path)

    def test_trace_is_not_taken_for_out(self):
        """The first of the files, where OUT was forgotten."""
        paths = [self.write(str(rank), head(rank, "b", 0, 0),
                            instant(rank, "x", 1)) for rank in (0, 1)]
        with open(paths[0], encoding="utf-8") as file:
            before = file.read()
        done = self.call("merge", *paths, status=1)
        self.assertIn("would be overwritten", done.stderr)
        with open(paths[0], encoding="utf-8") as file:
            self.assertEqual(file.read(), before)
        self.merge(*paths)
        self.merge(*paths)  # what was merged may be written again

    def test_empty_file_of_a_killed_rank_is_left_out(self):
        path = self.write("0", head(0, "b", 0, 0), instant(0, "x", 1))
        with open(self.path("1"), "w", encoding="utf-8"):
            pass
        times, said = self.merge(path, self.path("1"))
        self.assertEqual(times, {(0, "x"): 0})
        self.assertIn("1: empty, and left out", said)

    def test_what_traces_must_have_is_named(self):
        bare = head(0, "b", 0, 0)
        del bare["args"]["realtime_ns"]
        self.refused("realtime_ns", self.write("0", bare))
        del bare["args"]
        self.refused("its first event lacks", self.write("0", bare))
        self.refused("no phase", self.write(
            "0", head(0, "b", 0, 0), '{"name":"x","pid":0}'))

    def test_summary_counts_what_has_ended(self):
        def call(phase, name, ns):
            return (f'{{"name":"{name}","ph":"{phase}","pid":0,"tid":1,'
                    f'"ts":{ns / 1000},"args":{{}}}}')

        def step(phase, name, ns, args):
            return (f'{{"name":"{name}","ph":"{phase}","pid":0,"tid":1,'
                    f'"ts":{ns / 1000},"id2":{{"local":"0x1"}},"args":{args}}}')

        first = self.write(
            "0", head(0, "b", 0, 0), call("B", "MPI_Recv", 1000),
            call("B", "MPI_Test", 1500), call("E", "MPI_Test", 2500),
            call("E", "MPI_Recv", 5000), call("B", "MPI_Recv", 6000),
            '{"name":"events lost","ph":"i","ts":1,"args":{"count":3}}',
            # the thread's end of it stands in the file first
            step("e", "send", 9000, '{"bytes":64,"transport":"p2p"}'),
            step("b", "send", 7000, '{"bytes":64}'))
        second = self.write(
            "1", head(1, "b", 0, 0), call("B", "MPI_Recv", 1000),
            call("E", "MPI_Recv", 3000),
            step("b", "recv", 0, '{"bytes":64}'),
            step("e", "recv", 4000, '{"bytes":0,"transport":"host",'
                                    '"error":"EMSGSIZE"}'))
        rows = [line.split() for line in
                self.call("summary", first, second).stdout.splitlines()]
        self.assertEqual(rows[1:], [
            ["MPI_Recv", "2", "3.0", "4.0"], ["MPI_Test", "1", "1.0", "1.0"],
            ["recv,", "EMSGSIZE", "1", "4.0", "4.0"],
            ["send,", "p2p", "1", "64", "2.0", "2.0"],
            "3 events lost: the numbers are too small".split()])

    def test_summary_refuses_as_merge_does(self):
        done = self.call("summary", self.path("none"), status=1)
        self.assertIn("No such file", done.stderr)

    def test_version_help_and_bad_usage(self):
        self.assertRegex(self.call("--version").stdout,
                         r"^mpix-gds-trace \d+\.\d+\.\d+\n$")
        self.assertIn("merge", self.call("--help").stdout)
        self.assertIn("OUT", self.call("merge", "--help").stdout)
        for words in ([], ["merge"], ["merge", "out"], ["other"],
                      ["summary"]):
            self.assertIn("usage:", self.call(*words, status=2).stderr)


if __name__ == "__main__":
    unittest.main()
