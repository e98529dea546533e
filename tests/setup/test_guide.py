"""docs/guide/first-steps.md: its commands build and run the example on an
installation, as they stand there; its code is that of the example."""

import os
import pathlib
import re
import shutil
import tempfile
import unittest

import readme
import setup_case
from setup_case import BUILD, SOURCE, keep_manifest, run

CUDA = os.environ["MGDS_CUDA_INCLUDE"]
PAGE = "docs/guide/first-steps.md"
EXAMPLE = SOURCE / "examples/jacobi"
NO_CUDA = "no CUDA toolkit here, whose header the example includes"


class Guide(setup_case.SetupCase):

    @classmethod
    def setUpClass(cls):
        """A home with the source and build trees. No blank in the path:
        README demands it of installations."""
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="mgds-guide-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        (cls.home / "build").symlink_to(BUILD)
        (cls.home / "examples").symlink_to(SOURCE / "examples")
        keep_manifest(cls)

    def shell(self, lines, cwd):
        done = run("bash", "-e", "-c", "\n".join(lines), cwd=cwd, timeout=150,
                   env={"HOME": self.home, "LD_LIBRARY_PATH": None,
                        "CUDA_HOME": pathlib.Path(CUDA).parent})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def said(self, text, version, ranks=2):
        self.assertRegex(text, rf"(?m)^jacobi_{version}: {ranks} ranks, 100 "
                         "steps, 0 wrong points$")

    @unittest.skipUnless(CUDA, NO_CUDA)
    def test_commands_build_and_run_all_versions(self):
        lines = readme.commands("cmake --install build", PAGE)
        text = self.shell(lines, self.home)
        versions = sorted(path.stem.removeprefix("jacobi_") for path
                          in EXAMPLE.glob("jacobi_*.c") if "sim" not in path.stem)
        self.assertIn("enqueued", versions)
        for version in versions:
            self.said(text, version)
        if (pathlib.Path(CUDA).parent / "lib64/libcudart_static.a").exists():
            self.assertTrue((self.home / "jacobi/jacobi_runtime").exists())
        self.other_ranks(versions)
        self.by_hand()

    def other_ranks(self, versions):
        """One rank has no neighbour, the middle ones of four have two."""
        for version in versions:
            for ranks in (1, 4):
                words = [line.replace("-n 2", f"-n {ranks}") for line
                         in readme.commands("export MPIX_SIM_KERNELS", PAGE)
                         if "mpiexec" not in line
                         or line.endswith("jacobi_" + version)]
                self.said(self.shell(words, self.home), version, ranks)

    def by_hand(self):
        """By pkg-config, where the toolkit is complete."""
        toolkit = pathlib.Path(CUDA).parent
        for name in ("bin/nvcc", "lib64/stubs/libcuda.so"):
            if not (toolkit / name).exists():
                self.skipTest(f"the toolkit in {toolkit} has no {name}")
        folder = self.home / "by_hand"
        shutil.copytree(EXAMPLE, folder)
        self.said(self.shell(readme.commands("export PKG_CONFIG_PATH", PAGE),
                             folder), "enqueued")

    def test_code_is_that_of_the_example(self):
        example = "".join(path.read_text(encoding="utf-8")
                          for path in sorted(EXAMPLE.glob("*.c")))
        shown = [text for language, text in readme.blocks(PAGE)
                 if language == "c"]
        self.assertGreaterEqual(len(shown), 3)
        for text in shown:
            self.assertIn(text, example)

    def test_files_are_all_listed(self):
        page = (SOURCE / PAGE).read_text(encoding="utf-8")
        for path in EXAMPLE.iterdir():
            if path.suffix in (".c", ".h", ".cu"):
                self.assertIn(f"`{path.name}`", page)

    def test_links_lead_somewhere(self):
        page = (SOURCE / PAGE).read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#]+)", page)
        self.assertGreaterEqual(len(links), 4)
        for link in links:
            self.assertTrue((SOURCE / PAGE).parent.joinpath(link).exists(),
                            link)

    @unittest.skipUnless(CUDA, NO_CUDA)
    def test_a_kernel_that_does_not_exchange_is_told(self):
        """The comparison can fail: a version that leaves the exchange out."""
        source = (EXAMPLE / "jacobi_before.c").read_text(encoding="utf-8")
        broken = source.replace("        exchange(&band, band.newer);\n", "")
        self.assertNotEqual(source, broken)
        folder = self.home / "broken"
        shutil.copytree(EXAMPLE, folder)
        (folder / "jacobi_before.c").write_text(
            broken.replace("static void exchange",
                           "__attribute__((unused)) static void exchange"),
            encoding="utf-8")
        lines = [line.replace("examples/jacobi", "broken")
                 .replace("-B jacobi", "-B wrong")
                 .replace("--build jacobi", "--build wrong")
                 .replace("$PWD/jacobi/", "$PWD/wrong/")
                 .replace("jacobi/jacobi_before", "wrong/jacobi_before")
                 for line in readme.commands("cmake --install build", PAGE)
                 if "mpiexec" not in line or line.endswith("jacobi_before")]
        lines[-1] += " || echo told"
        text = self.shell(lines, self.home)
        self.assertRegex(text, r"jacobi_before: 2 ranks, 100 steps, [1-9]\d* "
                         "wrong points\ntold")


setup_case.main()
