"""lint/headers: missing includes, warnings and C++ trouble are found."""
import json
import os
import unittest

from sample import LintCase

CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
GOOD = ("#ifndef A_H\n#define A_H\n#include <stddef.h>\n"
        "static inline size_t f(size_t a)\n{\n    return a;\n}\n#endif\n")


class Headers(LintCase):
    lint = "headers"

    def failing(self, tree, *args):
        status, output = self.run_lint(tree, "--cc", CC, "--cxx", CXX, *args)
        self.assertEqual(status, 1, output)
        return output

    def test_complete_headers_pass(self):
        self.accept({"include/a.h": GOOD, "shim/base/b.h": GOOD,
                     "tests/c.h": "broken\n"}, "--cc", CC, "--cxx", CXX)

    def test_header_that_needs_another_first(self):
        output = self.failing({"shim/a.h": "size_t mgds_length(void);\n"})
        self.assertIn("shim/a.h: does not compile alone as C17", output)

    def test_header_without_guard(self):
        self.failing({"shim/a.h": "struct mgds_a { int x; };\n"})

    def test_warning_is_an_error(self):
        text = GOOD.replace("size_t f(size_t a)", "char f(size_t a)")
        self.assertIn("onversion", self.failing({"sim/a.h": text}))

    def test_public_header_that_is_no_cxx(self):
        text = GOOD.replace("return a;", "int class = 1; return a + "
                            "(size_t)class;")
        output = self.failing({"include/a.h": text, "shim/a.h": text})
        self.assertIn("include/a.h: does not compile alone as C++17", output)
        self.assertNotIn("shim/a.h", output)

    def test_include_paths_come_from_the_build(self):
        tree = {"sim/a.h": "#include <far.h>\n", "far/far.h": GOOD,
                "sim/a.c": "int x;\n"}
        self.failing(tree)
        self.write({"build/compile_commands.json": json.dumps([{
            "directory": self.root, "file": "sim/a.c",
            "command": "cc -Ifar -c sim/a.c"}])})
        self.accept(tree, "--cc", CC, "--cxx", CXX, "--compile-commands",
                    os.path.join(self.root, "build/compile_commands.json"))


if __name__ == "__main__":
    unittest.main()
