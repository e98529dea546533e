"""lint/format fails on a file that clang-format would change."""
import os
import shutil
import unittest

from sample import ROOT, LintCase

GOOD = "int f(int a)\n{\n    return a;\n}\n"


class Format(LintCase):
    lint = "format"

    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.root)
        if not shutil.which("clang-format"):
            self.skipTest("clang-format is not installed")

    def test_house_style_passes(self):
        kernel = "__global__ void k(int *a)\n{\n    *a = 1;\n}\n"
        self.accept({"a.c": GOOD, "b.cu": kernel})

    def test_function_brace_on_the_same_line(self):
        status, output = self.run_lint(
            {"shim/a.c": "int f(int a) {\n    return a;\n}\n"})
        self.assertEqual(status, 1)
        self.assertIn("shim/a.c:1", output)

    def test_cuda_file_is_held_to_it_too(self):
        status, output = self.run_lint({"k.cuh": "void  f( void );\n"})
        self.assertEqual(status, 1)
        self.assertIn("k.cuh:1", output)


if __name__ == "__main__":
    unittest.main()
