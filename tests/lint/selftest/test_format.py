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
        self.refuse({"shim/a.c": "int f(int a) {\n    return a;\n}\n"},
                    ["shim/a.c:1 style"])

    def test_broken_settings_do_not_pass(self):
        status, output = self.run_lint({"a.c": GOOD, ".clang-format": "x"})
        self.assertEqual(status, 1, output)

    def test_cuda_file_is_held_to_it_too(self):
        self.refuse({"k.cuh": "void  f(void);\n"}, ["k.cuh:1 style"])


if __name__ == "__main__":
    unittest.main()
