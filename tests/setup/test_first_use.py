"""What a new user does on a clean machine: install, build README's sample on
the installation, run it and a benchmark on the software GPU, make mistakes, ask
the doctor, uninstall. The environment is empty, and neither the source tree nor
the build tree is to be seen while programs run."""

import os
import pathlib
import shutil
import tempfile
import unittest

import readme
import setup_case
from setup_case import BUILD, SOURCE, install, keep_manifest, run

MPICC = os.environ["MGDS_MPICC"]
MPIEXEC = os.environ["MGDS_MPIEXEC"]
VERSION = os.environ["MGDS_VERSION"]
CUDA = os.environ["MGDS_CUDA_INCLUDE"]
# Empty folders in the places of both trees, for one command.
HIDE = ("unshare", "--map-root-user", "--mount", "sh", "-c",
        'mount -t tmpfs none "$0" && { [ ! -d "$1" ] || '
        'mount -t tmpfs none "$1"; } && shift && exec "$@"', SOURCE, BUILD)


class FirstUse(setup_case.SetupCase):

    @classmethod
    def setUpClass(cls):
        """Installed once. No blank in the path: LD_PRELOAD takes none."""
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="mgds-first-use-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.prefix = cls.root / "mpix-gds"
        cls.clean = ("env", "-i", f"PATH={cls.prefix}/bin:/usr/bin:/bin",
                     f"HOME={cls.root}")
        # Where a container forbids it the trees stay in sight.
        cls.hide = HIDE if run(*HIDE, "true").returncode == 0 else ()
        keep_manifest(cls)
        install(cls.prefix)

    def call(self, *command, status=(0,)):
        """A command of the user's; all that it said."""
        done = run(*self.hide, *self.clean, *command, cwd=self.root)
        said = done.stdout + done.stderr
        self.assertIn(done.returncode, status, f"{command}\n{said}")
        return said

    def ranks(self, *command, **how):
        return self.call(MPIEXEC, "-n", "2", *command, **how)

    @unittest.skipUnless(CUDA, "no CUDA toolkit here, whose header README's "
                               "sample includes")
    def test_sample_of_the_readme_is_built_and_runs(self):
        source = self.folder / "sample.c"
        program = self.folder / "sample"
        source.write_text(readme.sample(), encoding="utf-8")
        flags = self.ok(*self.clean, "env",
                        f"PKG_CONFIG_PATH={self.prefix}/lib/pkgconfig",
                        "pkg-config", "--cflags", "--libs", "mpix-gds")
        self.ok(*self.clean, MPICC, f"-I{CUDA}", "-o", program, source,
                SOURCE / "tests/setup/sample_main.c", *flags.split())
        said = self.ranks("mpix-gds-run", "--sim=gpu", program)
        self.assertEqual(said, "sample: 5 steps, 0 wrong\n")

    def test_benchmark_runs(self):
        self.assertRegex(self.ranks("mpix-gds-bench", "--sim=gpu",
                                    "latency_enqueue", "-c", "-m", "8:8",
                                    "-i", "20", "-x", "2"),
                         r"(?m)^8 +[\d.]+ +Pass$")

    def test_errors_say_what_is_wrong(self):
        """The table of tests/enq/text.c, through the installed library."""
        program = self.folder / "enq_text"
        shutil.copy2(BUILD / "tests/enq_text", program)
        started = ("mpix-gds-run", "--sim=gpu:2", program, "--limit", "50")
        said = self.ranks(*started, "arguments", "operations")
        self.assertIn("all well, 2 cases", said)
        said = self.ranks(*started, "fatal", status=range(1, 256))
        self.assertIn("fatal: MPIX_Send_enqueue: rank is 17, must be 0 to 1 ",
                      said)
        self.assertNotIn("not reached", said)

    def test_mistakes_on_the_command_line_are_named(self):
        for command, status, words in (
                (("mpix-gds-run", "./no-such"), 127, "check its path"),
                (("mpix-gds-run", "--require=nvlink", "true"), 2,
                 "--require=nvlink names no transport"),
                (("mpix-gds-run", "--sim=hca:17", "true"), 2,
                 "hca:N (N from 1 to 16)"),
                (("mpix-gds-bench", "latancy"), 2,
                 "no benchmark is called latancy: there are osu_latency, "),
                (("mpix-gds-bench", "latency"), 2, "needs exactly 2 ranks")):
            self.assertIn(words, self.call(*command, status=(status,)))

    def test_doctor_says_that_all_is_well(self):
        said = self.call("mpix-gds-doctor", "--launcher", f"{MPIEXEC} -n 2",
                         "--sim=gpu:2")
        self.assertRegex(said, rf"(?m)^ok +installation +version {VERSION}, "
                               rf"library in\s+{self.prefix}/lib$")
        for check in ("settings", "launch", "library", "mpi", "driver", "gpus",
                      "peers", "memops"):
            self.assertRegex(said, rf"(?m)^ok +{check} ")

    def test_uninstalling_leaves_nothing(self):
        """Of another installation, as the others' must last, and of use."""
        self.assertEqual(list(self.root.iterdir()), [self.prefix])
        home = self.folder / "home"
        home.mkdir()
        install(home / "mpix-gds")
        self.assertTrue((home / "mpix-gds/bin/mpix-gds-run").exists())
        self.ok("cmake", "--build", BUILD, "--target", "uninstall")
        self.assertEqual(list(home.iterdir()), [])


setup_case.main()
