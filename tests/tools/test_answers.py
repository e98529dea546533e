"""Every program that users call answers --help and --version: on standard
output, with exit status 0, and with the version of the project."""

import glob
import os
import shutil
import subprocess
import unittest

BUILD = os.environ["MGDS_BUILD_DIR"]
SOURCE = os.environ["MGDS_SOURCE_DIR"]
VERSION = os.environ["MGDS_VERSION"]
SCRIPTS = ["check", "demo", "osu-extensions/compare/preload_latency.py",
           "osu-extensions/compare/staged_goals.py"]


def is_script(path):
    with open(path, "rb") as program:
        return program.read(2) == b"#!"


def programs():
    built = os.environ["MGDS_PROGRAMS"].split(":")[1:]
    scripts = [path for path in glob.glob(BUILD + "/bin/mpix-gds-*")
               if is_script(path)]
    return built + scripts + [os.path.join(SOURCE, name) for name in SCRIPTS]


def answer(path, option):
    return subprocess.run([path, option], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


class Answers(unittest.TestCase):

    def each(self, option):
        for path in programs():
            with self.subTest(program=os.path.basename(path)):
                done = answer(path, option)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr, "")
                yield os.path.basename(path), done.stdout

    def test_the_table_has_the_programs(self):
        names = [os.path.basename(path) for path in programs()]
        for name in ("mpix-gds-run", "mpix-gds-doctor", "mpix-gds-probe",
                     "mpix-gds-cc", "mpix-gds-plot", "osu_latency",
                     "osu_bw_enqueue"):
            self.assertEqual(names.count(name), 1, names)

    def test_help_shows_the_usage(self):
        for name, said in self.each("--help"):
            first = said.splitlines()[0]
            self.assertRegex(first, f"^[uU]sage: .*{name}")
            self.assertIn("--version", said)

    def test_version_is_the_projects(self):
        for name, said in self.each("--version"):
            first = said.splitlines()[0]
            if name.startswith("osu_"):
                self.assertRegex(first, "^# OSU MPI .* v7")
                self.assertIn(f" mpix-gds {VERSION} ", first)
            else:
                self.assertRegex(first, rf"^{name}( \(mpix-gds\))? "
                                 + VERSION.replace(".", r"\.") + "$")

    @unittest.skipUnless(shutil.which("mpicc.mpich"), "no mpicc.mpich here")
    def test_the_compiler_says_its_own_version_too(self):
        said = answer(os.path.join(BUILD, "bin/mpix-gds-cc"), "--version")
        self.assertGreater(len(said.stdout.splitlines()), 1, said.stdout)

    def test_the_probe_refuses_words(self):
        done = answer(os.path.join(BUILD, "bin/mpix-gds-probe"), "--versoin")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertIn("--versoin", done.stderr)


if __name__ == "__main__":
    unittest.main()
