"""Which CUDA toolkit is taken, and what happens when none will do."""

import setup_case
from setup_case import SOURCE, run, write_program

FIND = SOURCE / "cmake/cuda.cmake"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(probe NONE)
include("{find}")
message("nvcc=[${{MGDS_NVCC}}] include=[${{MGDS_CUDA_INCLUDE}}]")
message("state=[${{MGDS_CUDA_STATE}}]")
"""


class Cuda(setup_case.SetupCase):

    def toolkit(self, name, version, nvcc="#!/bin/sh\nexit 0\n"):
        root = self.folder / name
        write_program(root / "bin/nvcc", nvcc)
        (root / "include").mkdir()
        (root / "include/cuda.h").write_text(
            f"/* */\n#define CUDA_VERSION {version}\n")
        return root

    def find(self, home=None, path="/usr/bin:/bin"):
        return self.ok("cmake", "-P", FIND, env={
            "MGDS_CUDA_HOME": home, "PATH": path,
            "CUDA_HOME": None, "CUDA_PATH": None}).strip()

    def configure(self, home):
        (self.folder / "CMakeLists.txt").write_text(
            PROJECT.format(find=FIND))
        done = run("cmake", "-G", "Ninja",
                   "-S", self.folder, "-B", self.folder / "b",
                   env={"MGDS_CUDA_HOME": home})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def test_none_hides_every_toolkit(self):
        self.assertEqual(self.find("none"), "")

    def test_named_toolkit_is_taken(self):
        root = self.toolkit("cuda", 13000)
        self.assertEqual(self.find(root), str(root))

    def test_toolkit_of_the_nvcc_in_path_is_taken(self):
        root = self.toolkit("cuda", 13010)
        self.assertEqual(self.find(path=f"{root}/bin:/usr/bin:/bin"),
                         str(root))

    def test_old_toolkit_is_passed_over_with_the_reason(self):
        root = self.toolkit("cuda", 12040)
        self.assertEqual(self.find(root), "")
        self.assertIn(f"state=[none: {root} is 12.4, 13.0 is needed]",
                      self.configure(root))

    def test_toolkit_without_headers_is_no_toolkit(self):
        root = self.toolkit("cuda", 13000)
        (root / "include/cuda.h").unlink()
        self.assertEqual(self.find(root), "")

    def test_nvcc_that_cannot_compile_leaves_the_headers(self):
        root = self.toolkit("cuda", 13000,
                            "#!/bin/sh\necho cc1plus missing >&2\nexit 1\n")
        said = self.configure(root)
        self.assertIn(f"nvcc=[] include=[{root}/include]", said)
        self.assertIn("cc1plus missing", said)

    def test_nvcc_that_compiles_is_offered(self):
        root = self.toolkit("cuda", 13000)
        self.assertIn(f"nvcc=[{root}/bin/nvcc] include=[{root}/include]",
                      self.configure(root))


setup_case.main()
