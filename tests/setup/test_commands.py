"""./demo and ./check with bad options, without packages, without root."""

import pathlib
import shutil
import tempfile

import setup_case
from setup_case import SOURCE, run, write_program

NO_SETUP = 2
NOTHING_INSTALLED = "#!/bin/sh\nexit 1\n"


class Commands(setup_case.SetupCase):

    def setUp(self):
        super().setUp()
        self.bin = self.folder / "bin"
        # Whatever happens, nothing is installed by a test.
        write_program(self.bin / "apt-get",
                      f"#!/bin/sh\necho called >'{self.folder}/apt'\nexit 1\n")

    def command(self, name, *words, **how):
        env = {"PATH": f"{self.bin}:/usr/bin:/bin"}
        return run(SOURCE / name, *words, env=env, **how)

    def both(self):
        for name in ("demo", "check"):
            with self.subTest(command=name):
                yield name

    def assert_apt_untouched(self):
        self.assertFalse((self.folder / "apt").exists())

    def test_unknown_option_prints_usage_and_exits_2(self):
        for name in self.both():
            done = self.command(name, "--frobnicate")
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn("unknown: --frobnicate", done.stderr)
            self.assertIn(f"usage: ./{name}", done.stderr)

    def test_demo_does_not_take_the_levels_of_check(self):
        self.assertEqual(self.command("demo", "--all").returncode, NO_SETUP)

    def test_jobs_must_be_a_positive_number(self):
        for name in self.both():
            for words in (["--jobs"], ["--jobs", "0"], ["--jobs", "many"]):
                done = self.command(name, *words)
                self.assertEqual(done.returncode, NO_SETUP)
                self.assertIn("--jobs needs a number", done.stderr)

    def test_minutes_must_be_a_positive_number_and_are_of_check(self):
        for words in (["--minutes"], ["--minutes", "0"], ["--minutes", "1h"]):
            done = self.command("check", *words)
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn("--minutes needs a number", done.stderr)
        done = self.command("demo", "--minutes", "5")
        self.assertEqual(done.returncode, NO_SETUP)
        self.assertIn("unknown: --minutes", done.stderr)

    def test_help_is_no_error(self):
        for name in self.both():
            done = self.command(name, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith(f"usage: ./{name}"))

    def test_no_install_names_the_missing_packages(self):
        write_program(self.bin / "dpkg-query", NOTHING_INSTALLED)
        for name in self.both():
            done = self.command(name, "--no-install", cwd="/")
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn(" libmpich-dev ", done.stderr)
        self.assert_apt_untouched()

    def test_without_root_the_missing_packages_are_named(self):
        write_program(self.bin / "dpkg-query", NOTHING_INSTALLED)
        write_program(self.bin / "id", "#!/bin/sh\necho 1000\n")
        for name in self.both():
            done = self.command(name)
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn("not root", done.stderr)
            self.assertIn(" libmpich-dev ", done.stderr)
        self.assert_apt_untouched()

    def test_only_what_is_missing_is_named(self):
        listed = "install ok installed\\tcmake\\ndeinstall ok x\\tgcc\\n"
        write_program(self.bin / "dpkg-query",
                      f"#!/bin/sh\nprintf '{listed}'\n")
        done = self.command("demo", "--no-install")
        self.assertEqual(done.returncode, NO_SETUP)
        self.assertNotIn(" cmake", done.stderr)
        self.assertIn(" gcc ", done.stderr)

    def test_failed_install_exits_2(self):
        write_program(self.bin / "dpkg-query", NOTHING_INSTALLED)
        write_program(self.bin / "id", "#!/bin/sh\necho 0\n")
        for name in self.both():
            done = self.command(name)
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn("could not install", done.stderr)

    def test_path_that_cannot_be_preloaded_is_refused(self):
        top = self.folder / "source tree"
        shutil.copytree(SOURCE / "tools/setup", top / "tools/setup")
        for name in self.both():
            shutil.copy(SOURCE / name, top)
            done = self.command(top / name)
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn(f"in the path {top}, and LD_PRELOAD", done.stderr)
        self.assert_apt_untouched()

    def test_build_must_be_a_build(self):
        for name in self.both():
            for place in (self.folder, self.folder / "absent"):
                done = self.command(name, "--no-install", "--build", place)
                self.assertEqual(done.returncode, NO_SETUP)
                self.assertIn("--build", done.stderr)

    def test_talkative_mpiexec_is_recognised(self):
        write_program(self.bin / "mpiexec.mpich",
                      "#!/bin/sh\necho HYDRA build details:\n"
                      "exec seq 100000\n")
        script = (f'set -o pipefail; . "{SOURCE}/tools/setup/common.sh"; '
                  'find_mpiexec')
        said = self.ok("bash", "-c", script,
                       env={"PATH": f"{self.bin}:/usr/bin:/bin"})
        self.assertEqual(said.strip(), str(self.bin / "mpiexec.mpich"))

    def test_carried_build_needs_mpich_s_mpiexec(self):
        build = pathlib.Path(tempfile.mkdtemp(prefix="mgds-build"))
        self.addCleanup(shutil.rmtree, build)
        (build / "CMakeCache.txt").touch()
        for name in ("mpiexec.mpich", "mpiexec.hydra", "mpiexec"):
            write_program(self.bin / name, "#!/bin/sh\necho 'Open MPI'\n")
        for name in self.both():
            done = self.command(name, "--no-install", "--build", build)
            self.assertEqual(done.returncode, NO_SETUP)
            self.assertIn("no mpiexec of MPICH", done.stderr)


setup_case.main()
