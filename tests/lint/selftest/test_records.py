"""lint/records: fields and booleans are counted as a reader does."""
import sys
import unittest

from sample import LINT, LintCase

sys.path.insert(0, LINT)
import csource  # noqa: E402
import records  # noqa: E402


def measured(text):
    masked = csource.mask(text)
    found = records.records(masked, records.enums(masked))
    return {name: size for name, (_, size) in found.items()}


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


    def test_an_enum_of_two_values_is_a_boolean(self):
        text = ("enum two { HERE, THERE };\nenum three { A, B, C };\n"
                + record("a", "enum two b; enum three c; int d;\n"))
        self.assertEqual(measured(text)["a"], (3, 1))

    def test_a_word_of_flags_counts_for_each(self):
        text = ("enum latch {\n    ONE = 1,\n    TWO = 1 << 1,\n    SIX = 4\n"
                "};\n" + record("a", "    unsigned b; /* of latch */\n"
                                "    unsigned c; /* of latches */\n"))
        self.assertEqual(measured(text)["a"], (2, 3))

    def test_numbers_are_no_flags(self):
        text = ("enum size { SMALL = 1, MIDDLE = 3, LARGE = 8 };\n"
                + record("a", "    unsigned b; /* of size */\n"))
        self.assertEqual(measured(text)["a"], (1, 0))


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

    def test_flags_of_another_file_count(self):
        self.refuse({"shim/b.h": "enum f { A = 1, B = 2, C = 4, D = 8 };\n",
                     "shim/a.h": record("a", "    unsigned f; /* of f */\n"
                                        "bool b, c, d;\n")},
                    ["shim/a.h:1 size"])

    def test_no_struct_is_let_off(self):
        self.refuse({"shim/a.h": record("mgds_op", ints(25))},
                    ["shim/a.h:1 size"])

    def test_other_folders_are_free(self):
        self.accept({"tests/a.h": record("a", ints(30)),
                     "shim/b.h": record("b", ints(3))})


if __name__ == "__main__":
    unittest.main()
