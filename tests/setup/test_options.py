"""What a builder may leave out: tests and benchmarks, and what they need."""

import re

import setup_case
from setup_case import SOURCE, run


class Options(setup_case.SetupCase):

    def configure(self, *choices):
        return run("cmake", "-S", SOURCE, "-B", self.folder / "build",
                   "-G", "Ninja", "-DMGDS_CUDA_HOME=none", *choices)

    def test_without_tests_and_benchmarks_nothing_of_theirs_is_needed(self):
        done = self.configure("-DMGDS_TESTS=OFF", "-DMGDS_BENCHMARKS=OFF")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        cache = (self.folder / "build/CMakeCache.txt").read_text()
        self.assertNotRegex(cache, r"(?m)^MGDS_(CMOCKA|PYTHON|MPIEXEC)")
        # What would be done; a file that nothing makes ends this.
        steps = self.ok("ninja", "-C", self.folder / "build", "-n")
        linked = set(re.findall(r"Linking C executable (\S+)", steps))
        self.assertLessEqual({"bin/mpix-gds-run", "bin/mpix-gds-doctor"},
                             linked)
        self.assertFalse([name for name in linked if not name.startswith(
            ("bin/m", "lib/mpix-gds/sim/"))])
        self.assertNotIn("bin/mpix-gds-bench", linked)
        self.assertNotIn("osu", steps)

        done = self.configure("-DMGDS_TESTS=ON", "-DMGDS_CMOCKA_LIBRARY=")
        self.assertNotEqual(done.returncode, 0)
        said = " ".join(done.stderr.split())
        self.assertIn("no cmocka, which the unit tests are written with: "
                      "install libcmocka-dev, or leave the tests out "
                      "(-DMGDS_TESTS=OFF)", said)


setup_case.main()
