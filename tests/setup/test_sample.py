"""The code sample of README compiles as it stands and does what it says: on the
software GPU, with sample_main.c around it."""

import os
import re
import unittest

import setup_case
from setup_case import BUILD, SOURCE

MPICC = os.environ["MGDS_MPICC"]
MPIEXEC = os.environ["MGDS_MPIEXEC"]
CUDA = os.environ["MGDS_CUDA_INCLUDE"]


class Sample(setup_case.SetupCase):

    @unittest.skipUnless(CUDA, "no CUDA toolkit here")
    def test_sample_of_the_readme_runs(self):
        readme = (SOURCE / "README.md").read_text(encoding="utf-8")
        text = re.search(r"^```c\n(.*?)^```", readme, re.S | re.M)[1]
        sample = self.folder / "sample.c"
        program = self.folder / "sample"
        sample.write_text(text, encoding="utf-8")
        self.ok(MPICC, "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}/include",
                f"-I{CUDA}", "-o", program, sample,
                SOURCE / "tests/setup/sample_main.c", "-Wl,--no-as-needed",
                f"-L{BUILD}/lib", "-lmpix_gds", f"-Wl,-rpath,{BUILD}/lib")
        for ranks in ("1", "3"):
            said = self.ok(MPIEXEC, "-n", ranks, BUILD / "bin/mpix-gds-run",
                           "--sim=gpu", program)
            self.assertEqual(said, "sample: 5 steps, 0 wrong\n")


setup_case.main()
