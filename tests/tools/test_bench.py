"""mpix-gds-bench: which benchmark a name starts, and under what."""

import os
import shutil
import unittest

from tree import BUILD, LIBRARY, MPIEXEC, RUNTIME, SIM, TreeTest

HERE = os.path.join(BUILD, "bin", "mpix-gds-bench")
BUILT = os.path.join(BUILD, "libexec", "mpix-gds")
SHOW = os.path.join(BUILD, "tests", "show_start")
FEW = ("-m", "8:8", "-i", "5", "-x", "1", "H", "H")


class BenchTest(TreeTest):
    """An installation whose benchmark shows what it was started with."""

    programs = ("mpix-gds-bench",)

    def install(self, root):
        super().install(root)
        folder = os.path.join(root, "libexec", "mpix-gds")
        os.makedirs(folder)
        self.bench = os.path.join(folder, "osu_latency")
        shutil.copy2(SHOW, self.bench)

    def tool(self, *arguments, **options):
        return self.call(self.bin("mpix-gds-bench"), *arguments, **options)

    def ours(self, *more):
        return ":".join([RUNTIME] * bool(RUNTIME) +
                        [self.lib(LIBRARY), *more])

    def test_name_with_and_without_osu_starts_it_with_its_options(self):
        for name in ("latency", "osu_latency"):
            done = self.tool("--", name, "-m", "8", "--sim")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("argument -m\nargument 8\nargument --sim\n",
                          done.stdout)
            self.assertIn("LD_PRELOAD " + self.ours() + "\n", done.stdout)

    def test_simulators_and_transports_are_those_of_the_launcher(self):
        gpu = self.lib(SIM, "libcuda.so.1")
        helper = self.lib(SIM, "libmpix_sim_mpi.so")
        shutil.copy2(helper, gpu)
        done = self.tool("--sim=gpu:2", "--require", "p2p", "latency")
        for line in ("LD_PRELOAD " + self.ours(helper), "MPIX_SIM_GPUS 2",
                     "LD_LIBRARY_PATH " + os.path.dirname(gpu),
                     "MPIX_GDS_REQUIRE p2p"):
            self.assertIn(line + "\n", done.stdout)
        self.assert_one_line(self.tool("--sim=nic", "latency"), 2,
                             "--sim=nic", "use gpu")
        self.assert_one_line(self.tool("--require=nic", "latency"), 2,
                             "--require=nic", "names no transport")

    def test_plain_leaves_the_library_out(self):
        done = self.tool("--plain", "latency")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("mpix_gds", done.stdout)
        for option in ("--sim=mpi", "--require=p2p"):
            self.assert_one_line(self.tool("--plain", option, "latency"), 2,
                                 "--plain")
        for name in ("latency_enqueue", "enqueue_cost"):
            self.assert_one_line(self.tool("--plain", name), 2, "--plain",
                                 "leave out --plain")

    def test_wrong_names_are_told_the_right_ones(self):
        for name in ("lat", "", "../osu_latency", "y", self.bench):
            self.assert_one_line(self.tool(name), 2, f"called {name}:",
                                 "osu_latency, ", "osu_enqueue_cost")

    def test_the_list_is_what_was_built(self):
        done = self.call(HERE, "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({line.split()[0]
                          for line in done.stdout.splitlines()},
                         set(os.listdir(BUILT)))

    def test_benchmark_that_is_not_there(self):
        os.unlink(self.bench)
        self.assert_one_line(self.tool("latency"), 127, self.bench,
                             "No such file")

    def test_help_version_and_bad_options(self):
        done = self.tool("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("--list", "--plain", "--sim", "usage: mpiexec"):
            self.assertIn(word, done.stdout)
        self.assertRegex(self.tool("--version").stdout,
                         r"^mpix-gds-bench \d+\.\d+\.\d+\n$")
        self.assert_one_line(self.tool(), 2, "no benchmark given", "--list")
        self.assert_one_line(self.tool("--lits", "latency"), 2, "--lits")

    def test_ranks_of_the_build_tree_run_it(self):
        done = self.call(MPIEXEC, "-n", "2", HERE, "--sim=mpi", "latency",
                         *FEW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^8\s")


if __name__ == "__main__":
    unittest.main()
