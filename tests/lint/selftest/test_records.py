"""lint/records: fields and booleans are counted as a reader does."""
import sys
import unittest

from sample import LINT, LintCase

sys.path.insert(0, LINT)
import csource  # noqa: E402
import records  # noqa: E402


def measured(text):
    return {name: size
            for name, (_, size) in records.records(csource.mask(text)).items()}


def ints(count):
    return "".join(f"    int a{i};\n" for i in range(count))


def record(name, body):
    return f"struct {name} {{\n{body}}};\n"


class Counting(unittest.TestCase):
    def test_names_not_declarations(self):
        self.assertEqual(
            measured(record("a", "int a, b, *c; bool d, e; char f[2], g;\n")),
            {"a": (7, 2)})

    def test_pointers_to_functions_and_lists(self):
        self.assertEqual(
            measured(record("a", "void (*f)(int, bool); LIST_ENTRY(b) link;\n"
                            "TAILQ_HEAD(, c) all; struct d *d;\n")),
            {"a": (4, 0)})

    def test_comments_do_not_count(self):
        self.assertEqual(measured(record("a", "int a; /* bool b; */ // c;\n")),
                         {"a": (1, 0)})

    def test_records_of_the_same_file_count_with_their_owner(self):
        text = (record("part", "bool x; int y, z;\n")
                + record("a", "struct part part; struct part *other;\n"
                         "struct foreign foreign;\n"))
        self.assertEqual(measured(text)["a"], (5, 1))

    def test_inner_records(self):
        self.assertEqual(
            measured(record("a", "struct { bool b; int c; } in; struct e { int"
                            " f; } *e;\n"))["a"], (3, 1))

    def test_union_is_its_largest_member(self):
        self.assertEqual(
            measured(record("a", "union { struct { int a, b; } x; bool y;"
                            " } of;\n")), {"a": (2, 1)})


class Limits(LintCase):
    lint = "records"

    def test_at_the_limit(self):
        self.accept({"shim/a.h": record("a", ints(18) + "bool b, c, d, e, f, "
                                        "g;\n")})

    def test_a_field_too_many(self):
        self.refuse({"shim/a.h": record("a", ints(25))}, ["shim/a.h:1 size"])

    def test_a_boolean_too_many(self):
        self.refuse({"shim/a.h": record("a", "bool b, c, d, e, f, g, h;\n")},
                    ["shim/a.h:1 size"])

    def test_no_struct_is_let_off(self):
        self.refuse({"shim/a.h": record("mgds_op", ints(25))},
                    ["shim/a.h:1 size"])

    def test_other_folders_are_free(self):
        self.accept({"tests/a.h": record("a", ints(30)),
                     "shim/b.h": record("b", ints(3))})


if __name__ == "__main__":
    unittest.main()
