"""lint/tidy fails on a bug that clang-tidy knows."""
import json
import os
import shutil
import unittest

from sample import ROOT, LintCase

GOOD = "int f(int a);\nint f(int a)\n{\n    return a;\n}\n"
BAD = ("#include <stdlib.h>\nint f(int a);\nint f(int a)\n{\n"
       "    int *p = malloc(sizeof(*p));\n    if (!p || a)\n"
       "        return 1;\n    free(p);\n    return 0;\n}\n")


class Tidy(LintCase):
    lint = "tidy"

    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(ROOT, ".clang-tidy"), self.root)
        if not shutil.which("clang-tidy"):
            self.skipTest("clang-tidy is not installed")

    def build(self, *files):
        self.write({"build/compile_commands.json": json.dumps([
            {"directory": self.root, "file": file,
             "command": f"cc -std=c17 -c {file}"} for file in files])})
        return ["--build", os.path.join(self.root, "build")]

    def test_clean_file_passes(self):
        self.accept({"shim/a.c": GOOD}, *self.build("shim/a.c"))

    def test_suspicious_call(self):
        status, output = self.run_lint({"shim/a.c": GOOD, "sim/b.c": BAD},
                                       *self.build("shim/a.c", "sim/b.c"))
        self.assertEqual(status, 1, output)
        self.assertIn("Potential leak of memory", output)
        self.assertRegex(output, r"sim/b.c:7: .*tidy/clang-analyzer-unix")
        self.assertNotIn("shim/a.c:", output)

    def test_file_that_does_not_compile(self):
        status, output = self.run_lint({"shim/a.c": "int f(\n"},
                                       *self.build("shim/a.c"))
        self.assertEqual(status, 1, output)


if __name__ == "__main__":
    unittest.main()
