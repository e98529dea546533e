"""lint/wheretolook finds what the table of docs/design.md promises."""
import unittest

from sample import LintCase

HEAD = """# Design

| `not.c` | of another | `table` |

## Where to look

| behaviour | file | function |
| --- | --- | --- |
"""
SOURCE = """/* int mgds_spoken(void) { } */
int mgds_declared(void);
static int lose(int rank)
{
    return rank;
}
MGDS_FN void mgds_take(const struct a *a)
{
    lose(mgds_declared());
}
"""


class WhereToLook(LintCase):
    lint = "wheretolook"

    def tree(self, *rows, good=10, source=SOURCE):
        table = "| it does | `shim/a.c` | `lose` |\n" * good
        return {"shim/a.c": source, "shim/not.c": "", "shim/no.c": "",
                "docs/design.md": HEAD + table
                + "".join(row + "\n" for row in rows)
                + "\n## Layers\n\n| `no.c` | of the next | `table` |\n"}

    def test_functions_that_are_defined_pass(self):
        self.accept(self.tree("| it takes | `shim/a.c` | `mgds_take`, `lose` |",
                              good=9))

    def test_a_function_that_was_renamed(self):
        output = self.refuse(
            self.tree(source=SOURCE.replace("lose", "give_up")),
            [f"docs/design.md:{9 + i} function" for i in range(10)])
        self.assertIn("shim/a.c defines no lose", output)

    def test_one_that_is_declared_spoken_of_or_called_only(self):
        self.refuse(self.tree("| a | `shim/a.c` | `mgds_declared` |",
                              "| b | `shim/a.c` | `mgds_spoken` |",
                              "| c | `shim/a.c` | `lose`, `mgds_none` |"),
                    [f"docs/design.md:{19 + i} function" for i in range(3)])

    def test_a_file_that_was_moved(self):
        output = self.refuse(self.tree("| a | `shim/b.c` | `lose` |"),
                             ["docs/design.md:19 file",
                              "docs/design.md:19 named"])
        self.assertIn("there is no shim/b.c", output)

    def test_rows_of_another_form(self):
        self.refuse(self.tree("| a | `shim/a.c` |",
                              "| a | shim/a.c | `lose` |",
                              "| a | `shim/a.c` | lose |",
                              "| a | `shim/a.c` `b.c` | `lose` |",
                              "|  | `shim/a.c` | `lose` |"),
                    [f"docs/design.md:{19 + i} row" for i in range(5)]
                    + ["docs/design.md:22 named"])

    def page(self, text):
        tree = self.tree()
        tree["docs/design.md"] += text
        return tree

    def test_files_that_are_named_elsewhere(self):
        tree = self.page("`a.c`, `shim/a.c`, `n*.c`,\n`msg/kinds.def`,"
                         " `mgds_a`, `<mpi.h>`, b.c, `tests/lint`\n")
        tree["shim/gds/msg/kinds.def"] = ""
        self.accept(tree)

    def test_a_file_that_is_named_and_gone(self):
        output = self.refuse(
            self.page("`x.h`, `.c`\n`a.h`\n`msg/a.c` `him/a.c`\n`x*.def`\n"),
            [f"docs/design.md:{23 + i} named" for i in (0, 1, 2, 2, 3)])
        self.assertIn("there is no msg/a.c", output)

    def test_a_file_of_that_name_where_the_page_does_not_look(self):
        tree = self.page("`gate.h`\n")
        tree["tests/hw/gate.h"] = ""
        self.refuse(tree, ["docs/design.md:23 named"])

    def test_too_few_rows(self):
        output = self.refuse(self.tree(good=9), ["docs/design.md rows"])
        self.assertIn("has 9 rows, must have 10", output)

    def test_no_table_and_no_page(self):
        for tree in ({"docs/design.md": "# Design\n"}, {"a.c": ""}):
            status, output = self.run_lint(tree)
            self.assertEqual(status, 1, output)
            self.assertIn("no rows found", output)


if __name__ == "__main__":
    unittest.main()
