"""lint/size measures functions as a reader does, and every limit can fail."""
import sys
import unittest

from sample import LINT, LintCase

sys.path.insert(0, LINT)
import csource  # noqa: E402


def measured(text):
    """name -> (lines, nesting, parameters) of the functions of a text."""
    found = csource.functions(csource.mask(text))
    return {f.name: (f.length, f.depth, f.params) for f in found}


def lines(count, inside="    x++;\n"):
    return "void f(void)\n{\n" + inside * count + "}\n"


class Measuring(unittest.TestCase):
    def test_lengths_from_name_to_last_brace(self):
        self.assertEqual(measured("static int\nf(int a,\n  int b)\n{\n}\n"),
                         {"f": (4, 0, 2)})

    def test_braces_in_strings_and_comments_do_not_count(self):
        text = 'int f(void)\n{\n    /* { */ g("{", \'{\'); // {\n}\n'
        self.assertEqual(measured(text + "int h(void) { return 0; }\n"),
                         {"f": (4, 0, 0), "h": (1, 0, 0)})

    def test_nesting_with_and_without_braces(self):
        body = "for (;;)\nif (a)\nwhile (b) { if (c) d(); }\n"
        self.assertEqual(measured("void f(void)\n{\n" + body + "}\n")["f"][1],
                         4)

    def test_else_if_and_labels_add_no_level(self):
        body = ("if (a) x(); else if (b) y(); else if (c) z(); else w();\n"
                "switch (a) {\ncase 1:\n    x();\ndefault:\n    y();\n}\n"
                "again:\n    do x(); while (a);\n    goto again;\n")
        self.assertEqual(measured("void f(void)\n{\n" + body + "}\n")["f"][1],
                         1)

    def test_initialisers_and_literals_add_no_level(self):
        body = "struct s x = {.a = {1, 2}};\nreturn (struct s){.a = {1}};\n"
        self.assertEqual(measured("struct s f(void)\n{\n" + body + "}\n"),
                         {"f": (5, 0, 0)})

    def test_looping_macro_is_a_level(self):
        body = "json_array_foreach(a, i, v) {\n    if (v)\n    x();\n}\n"
        self.assertEqual(measured("void f(void)\n{\n" + body + "}\n")["f"][1],
                         2)

    def test_annotations_are_not_the_name(self):
        text = ("__attribute__((format(printf, 1, 2))) MGDS_API(1)\n"
                "void f(const char *a, ...) MGDS_REQUIRES(lock)\n{\n}\n"
                "__global__ void __launch_bounds__(256) k(int a, int b)\n"
                "{\n}\nTEST(behaves)\n{\n}\n")
        self.assertEqual(measured(text),
                         {"f": (3, 0, 2), "k": (3, 0, 2), "TEST": (3, 0, 1)})

    def test_function_pointers_tables_and_structs_are_not_functions(self):
        text = ("struct ops { int (*f)(int a, int b); };\n"
                "struct __attribute__((packed)) p { int a; };\n"
                "static const struct ops table[] = {{g}, {MACRO(1)}};\n"
                "enum e { A = SIZE(1), B };\n"
                "int (*pick(int a))(int);\n"
                'extern "C" {\nint inside(int a)\n{\n    return a;\n}\n}\n')
        self.assertEqual(measured(text), {"inside": (4, 0, 1)})

    def test_both_branches_are_measured_when_they_are_whole(self):
        text = ("#if A\nint f(void)\n{\n    return 1;\n}\n#else\n"
                "int g(void)\n{\n    return 2;\n}\n#endif\n")
        self.assertEqual(sorted(measured(text)), ["f", "g"])

    def test_branches_that_share_a_brace_do_not_confuse(self):
        text = ("int f(int a)\n{\n#ifdef A\n    if (a) {\n#else\n"
                "    if (!a) {\n#endif\n        g();\n    }\n}\n"
                "int h(void)\n{\n}\n")
        self.assertEqual(measured(text), {"f": (10, 1, 1), "h": (3, 0, 0)})


class Size(LintCase):
    lint = "size"

    def test_everything_at_its_limit_passes(self):
        deep = "void f(void)\n{\n" + "if (a) {\n" * 3 + "}\n" * 3 + "}\n"
        self.accept({"a.c": lines(77), "b.c": "\n" * 600, "c.c": deep,
                     "d.c": "void f(int a, int b, int c, int d, int e,"
                            "int g)\n{\n}\n"})

    def test_long_function(self):
        self.refuse({"shim/a.c": lines(78)}, ["shim/a.c:1 function"])

    def test_long_macro(self):
        text = "#define M(x) \\\n" + "    x; \\\n" * 80 + "    x\n"
        self.refuse({"a.h": text}, ["a.h:1 function"])

    def test_long_file(self):
        self.refuse({"a.cu": "\n" * 601, "b.sh": "\n" * 601},
                    ["a.cu file", "b.sh file"])

    def test_long_python_function(self):
        self.refuse({"tools/run": "#!/usr/bin/env python3\ndef f():\n"
                                  + "    x()\n" * 80},
                    ["tools/run:2 function"])

    def test_deep_nesting_is_reported_where_it_is(self):
        text = "void f(void)\n{\n" + "if (a)\n" * 4 + "b();\n}\n"
        self.refuse({"a.c": text}, ["a.c:7 nesting"])

    def test_many_parameters_but_not_in_foreign_signatures(self):
        many = "(int a, int b, int c, int d, int e, int f, int g)\n{\n}\n"
        names = ["MPI_Send", "PMPI_Send", "MPIX_Go", "cuLaunchKernel",
                 "mpix_put"]
        self.accept({"a.c": "".join("int " + n + many for n in names)})
        self.refuse({"a.c": "int mgds_put" + many}, ["a.c:1 parameters"])

    def test_tables_and_generated_files_are_exempt(self):
        self.accept({"a.def": "\n" * 700, "docs/a.py": "\n" * 700, "b.c": "",
                     "a.h": "/* Generated by x from y */\n" + "\n" * 700})

    def test_limits_take_no_exceptions(self):
        status, output = self.run_lint({
            "tests/lint/exceptions.txt": "size/file | a.c | too dear\n"})
        self.assertEqual(status, 1)
        self.assertIn("takes no exceptions", output)

    def test_table_counts_what_is_there(self):
        tree = {"shim/a.c": "/* why */\nint f(void)\n{\n    return 0;\n}\n",
                "tests/unit/a.c": "int t;\n" * 10}
        output = self.run_lint(tree)[1]
        self.assertRegex(output, r"(?m)^shim +1 +4 +5/5/5 +4/4/4 +20$")
        self.assertIn("per source line: 2.00", output)


if __name__ == "__main__":
    unittest.main()
