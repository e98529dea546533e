"""mpix-gds-run: what the program gets, and what a user who errs is told."""

import os
import shutil
import stat
import unittest

from tree import BUILD, LIBRARY, MPIEXEC, RUNTIME, SIM, STUB, TreeTest

SHOW = os.path.join(BUILD, "tests", "show_start")


class RunTest(TreeTest):
    def run_tool(self, *arguments, **options):
        return self.call(self.bin("mpix-gds-run"), *arguments, **options)

    def facts(self, *arguments, **options):
        """What show_start says when started with arguments, as lists."""
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        facts = {}
        for line in done.stdout.splitlines():
            name, _, value = line.partition(" ")
            facts.setdefault(name, []).append(value)
        return facts

    def preload(self, *arguments, **options):
        return self.facts(*arguments, **options)["LD_PRELOAD"][0].split(":")

    def ours(self, *more):
        runtime = [RUNTIME] if RUNTIME else []
        return runtime + [self.lib(LIBRARY), *more]

    def fake(self, *names):
        path = self.lib(*names)
        shutil.copy2(STUB, path)
        return path


class WhatTheProgramGets(RunTest):
    def test_library_is_preloaded_and_loaded(self):
        facts = self.facts(SHOW)
        self.assertEqual(facts["LD_PRELOAD"], [":".join(self.ours())])
        self.assertIn(self.lib(LIBRARY), facts["object"])

    def test_nothing_else_is_set(self):
        facts = self.facts(SHOW)
        for name in ("LD_LIBRARY_PATH", "MPIX_SIM_GPUS", "MPIX_GDS_REQUIRE"):
            self.assertNotIn(name, facts)

    def test_sanitized_build_calms_ucx_unless_the_user_chose(self):
        usual = ["no"] if RUNTIME else None
        self.assertEqual(self.facts(SHOW).get("UCX_MEM_EVENTS"), usual)
        facts = self.facts(SHOW, env={"UCX_MEM_EVENTS": "try"})
        self.assertEqual(facts["UCX_MEM_EVENTS"], ["try"])

    def test_gpu_gets_all_hardware_queues_unless_the_user_chose(self):
        name = "CUDA_DEVICE_MAX_CONNECTIONS"
        self.assertEqual(self.facts(SHOW)[name], ["32"])
        self.assertEqual(self.facts(SHOW, env={name: "4"})[name], ["4"])

    def test_arguments_survive_blanks_quotes_and_dashes(self):
        words = ["a b", "", "'x'", '"', "$HOME", "--sim=gpu", "--", "-n"]
        self.assertEqual(self.facts(SHOW, *words)["argument"], words)
        self.assertEqual(self.facts("--", SHOW, *words)["argument"], words)

    def test_users_preload_stays_behind_ours(self):
        tool = self.fake("libmpix_tool.so")
        for value in (tool, " " + tool, ":" + tool + ":"):
            self.assertEqual(self.preload(SHOW, env={"LD_PRELOAD": value}),
                             self.ours(tool))

    def test_blank_separated_preload_is_understood(self):
        one = self.fake("libmpix_one.so")
        two = self.fake("libmpix_two.so")
        self.assertEqual(
            self.preload(SHOW, env={"LD_PRELOAD": one + " " + two}),
            self.ours(one, two))

    def test_nested_runs_name_every_file_once(self):
        run = self.bin("mpix-gds-run")
        tool = self.fake("libmpix_tool.so")
        self.assertEqual(
            self.preload("--sim=mpi", run, "--sim=mpi", run, SHOW,
                         env={"LD_PRELOAD": tool}),
            self.ours(self.lib(SIM, "libmpix_sim_mpi.so"), tool))

    def test_same_file_by_another_name_is_named_once(self):
        alias = self.lib("libmpix_alias.so")
        os.symlink(self.lib(LIBRARY), alias)
        self.assertEqual(self.preload(SHOW, env={"LD_PRELOAD": alias}),
                         self.ours())

    def test_users_sanitizer_runtime_stays_first(self):
        runtime = self.fake("libasan.so.99")
        sanitizers = [RUNTIME] if RUNTIME else []
        self.assertEqual(
            self.preload(SHOW, env={"LD_PRELOAD": runtime}),
            sanitizers + [runtime, self.lib(LIBRARY)])

    def test_shell_inherits(self):
        facts = self.facts("bash", "-c", '"$0" "$@"', SHOW, "a b")
        self.assertEqual(facts["argument"], ["a b"])
        self.assertIn(self.lib(LIBRARY), facts["object"])

    def test_program_is_found_in_path(self):
        facts = self.facts("show_start", env={
            "PATH": os.path.dirname(SHOW) + ":" + os.environ["PATH"]})
        self.assertIn("LD_PRELOAD", facts)

    def test_program_keeps_its_exit_status(self):
        self.assertEqual(self.run_tool("bash", "-c", "exit 41").returncode, 41)

    def test_require_reaches_the_library(self):
        for path in ("self", "p2p", "ib-gpu", "ib-cpu", "ucx", "p2p,ucx"):
            facts = self.facts("--require=" + path, SHOW)
            self.assertEqual(facts["MPIX_GDS_REQUIRE"], [path])
        facts = self.facts("--require", "p2p", SHOW,
                           env={"MPIX_GDS_REQUIRE": "ucx"})
        self.assertEqual(facts["MPIX_GDS_REQUIRE"], ["p2p"])
        facts = self.facts(SHOW, env={"MPIX_GDS_REQUIRE": "ucx"})
        self.assertEqual(facts["MPIX_GDS_REQUIRE"], ["ucx"])

    def test_works_behind_mpiexec_and_behind_a_launcher_script(self):
        done = self.call(MPIEXEC, "-n", "2", self.bin("mpix-gds-run"), SHOW,
                         "x y")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("argument x y\n"), 2)
        launcher = os.path.join(self.scratch, "srun")
        with open(launcher, "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\nshift 2\n"$@" & "$@" & wait\n')
        os.chmod(launcher, 0o755)
        done = self.call(launcher, "-n", "2", self.bin("mpix-gds-run"), SHOW)
        self.assertEqual(done.stdout.count(
            "object " + self.lib(LIBRARY)), 2)


class Simulation(RunTest):
    def setUp(self):
        super().setUp()
        self.helper = self.lib(SIM, "libmpix_sim_mpi.so")

    def test_helper_of_mpi_is_behind_the_library(self):
        self.assertEqual(self.preload("--sim=mpi", SHOW),
                         self.ours(self.helper))

    def test_software_gpu_leads_the_library_path(self):
        self.fake(SIM, "libcuda.so.1")
        for option in ("--sim", "--sim=gpu"):
            facts = self.facts(option, SHOW)
            self.assertEqual(facts["LD_LIBRARY_PATH"], [self.lib(SIM)])
            self.assertNotIn("MPIX_SIM_GPUS", facts)
            self.assertEqual(facts["LD_PRELOAD"],
                             [":".join(self.ours(self.helper))])
        facts = self.facts("--sim=gpu:3", self.bin("mpix-gds-run"),
                           "--sim=gpu", SHOW, env={"LD_LIBRARY_PATH": "/opt"})
        self.assertEqual(facts["LD_LIBRARY_PATH"], [self.lib(SIM) + ":/opt"])
        self.assertEqual(facts["MPIX_SIM_GPUS"], ["3"])

    def test_software_hca_is_preloaded(self):
        self.fake(SIM, "libcuda.so.1")
        hca = self.fake(SIM, "libmpix_sim_hca.so")
        facts = self.facts("--sim=gpu:2,hca:4", SHOW)
        self.assertEqual(facts["LD_PRELOAD"],
                         [":".join(self.ours(self.helper, hca))])
        self.assertEqual(facts["MPIX_SIM_HCA_COUNT"], ["4"])

    def test_ucx_is_kept_off_devx_unless_the_user_chose(self):
        self.fake(SIM, "libmpix_sim_hca.so")
        name = "UCX_IB_MLX5_DEVX"
        self.assertEqual(self.facts("--sim=hca", SHOW)[name], ["n"])
        facts = self.facts("--sim=hca", SHOW, env={name: "try"})
        self.assertEqual(facts[name], ["try"])
        self.assertNotIn(name, self.facts(SHOW))

    def program(self, name, data, mode=0o755):
        path = os.path.join(self.root, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, mode)
        return path

    def test_programs_that_take_no_preload_are_named(self):
        self.fake(SIM, "libmpix_sim_hca.so")
        # An ELF file of 64 bits without a segment that names a loader.
        fixed = self.program("fixed", b"\x7fELF\2\1\1" + bytes(57))
        self.assert_one_line(self.run_tool("--sim=hca", fixed), 2, fixed,
                             "is linked statically", "leave hca out")
        done = self.run_tool("--sim=hca", "fixed", env={"PATH": self.root})
        self.assert_one_line(done, 2, fixed, "is linked statically")
        if os.getuid() == 0:
            other = self.program("other", b"#!/bin/sh\n")
            os.chown(other, 65534, 65534)
            os.chmod(other, 0o4755)
            self.assert_one_line(self.run_tool("--sim=hca", other), 2, other,
                                 "as another user", "leave hca out")

    def test_missing_libmlx5_is_named(self):
        self.fake(SIM, "libmpix_sim_hca.so")
        self.program("libmlx5.so.1", b"")
        done = self.run_tool("--sim=hca", SHOW,
                             env={"LD_LIBRARY_PATH": self.root})
        self.assert_one_line(done, 2, "libmlx5.so.1", "ibverbs-providers")

    def test_missing_simulator_is_named(self):
        self.assert_one_line(self.run_tool("--sim", SHOW), 2,
                             "this build has no software GPU")
        self.assert_one_line(self.run_tool("--sim=hca", SHOW), 2,
                             "this build has no software HCA")
        os.unlink(self.helper)
        self.assert_one_line(self.run_tool("--sim=mpi", SHOW), 2,
                             "this build has no MPI helper")

    def test_bad_lists_are_refused(self):
        for value in ("", "gpu,", "gpu:0", "gpu:65", "gpu:-1", "gpu: 1",
                      "gpu:1x", "gpu:", "hca:17", "mpi:2", "nic", "gpu:99999999999999"):
            self.assert_one_line(self.run_tool("--sim=" + value, SHOW), 2,
                                 "--sim=" + value, "use gpu, gpu:N")


class WhatAUserIsTold(RunTest):
    def test_help_and_version(self):
        done = self.run_tool("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("--sim", "--require", "--version", "usage: mpiexec"):
            self.assertIn(word, done.stdout)
        done = self.run_tool("--version")
        self.assertRegex(done.stdout, r"^mpix-gds-run \d+\.\d+\.\d+\n$")

    def test_no_program(self):
        for words in ((), ("--",), ("--sim=mpi",)):
            self.assert_one_line(self.run_tool(*words), 2, "no program given")

    def test_unknown_option(self):
        self.assert_one_line(self.run_tool("--simm", SHOW), 2, "--simm",
                             "--help")
        self.assert_one_line(self.run_tool("-qv", SHOW), 2, "-q")

    def test_option_without_its_value(self):
        self.assert_one_line(self.run_tool("--require"), 2, "--require",
                             "needs a value")

    def test_unknown_path(self):
        self.assert_one_line(self.run_tool("--require=nvlink", SHOW), 2,
                             "--require=nvlink", "ib-gpu")
        for value in ("", "p2p,", "p2p,nvlink", " p2p"):
            self.assert_one_line(self.run_tool("--require=" + value, SHOW), 2,
                                 "names no transport")

    def test_missing_program(self):
        self.assert_one_line(self.run_tool("./no-such"), 127, "./no-such")
        self.assert_one_line(self.run_tool("no-such-program"), 127, "PATH")

    def test_program_that_cannot_be_executed(self):
        path = os.path.join(self.scratch, "plain")
        with open(path, "w", encoding="utf-8") as file:
            file.write("text\n")
        os.chmod(path, stat.S_IRUSR)
        self.assert_one_line(self.run_tool(path), 126, path, "chmod")
        self.assert_one_line(self.run_tool(self.scratch), 126)

    def test_missing_interpreter(self):
        path = os.path.join(self.scratch, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(path, 0o755)
        self.assert_one_line(self.run_tool(path), 127, "interpreter")

    def test_missing_library(self):
        os.unlink(self.lib(LIBRARY))
        self.assert_one_line(self.run_tool(SHOW), 2,
                             self.lib(LIBRARY), "build it")

    def test_installation_that_cannot_be_preloaded(self):
        self.root = os.path.join(self.scratch, "with blank")
        self.install(self.root)
        self.assert_one_line(self.run_tool(SHOW), 2, "blank", "somewhere else")


if __name__ == "__main__":
    unittest.main()
