"""lint/columns finds long lines of prose, and nothing else."""
import unittest

from sample import LintCase

FITS = "word " * 23 + "words"  # 120 columns
LONG = FITS + "s"


class Columns(LintCase):
    lint = "columns"

    def page(self, text):
        return {"docs/a.md": text}

    def test_lines_of_120_columns_pass(self):
        self.accept(self.page(f"# A\n\n{FITS}\n- {FITS[2:]}\n"))

    def test_columns_are_characters(self):
        self.accept(self.page(FITS.replace("word", "w\u00f6rd") + "\n"))

    def test_long_lines_of_text_lists_and_quotes(self):
        output = self.refuse(
            self.page(f"{LONG}\n\n- {LONG}\n\n  {LONG}\n\n> {LONG}\n"
                      f"1. {LONG}\n# {LONG}\n"),
            [f"docs/a.md:{i} columns" for i in (1, 3, 5, 7, 8, 9)])
        self.assertIn("121 columns, at most 120", output)

    def test_tables_code_and_comments_are_free(self):
        self.accept(self.page(
            f"| {LONG} |\n```\n{LONG}\n~~~\n{LONG}\n```\n~~~\n{LONG}\n~~~\n"
            f"<!-- {LONG}\n{LONG} -->\n"))

    def test_code_that_is_indented(self):
        self.accept(self.page(f"so:\n\n    {LONG}\n    {LONG}\n\n"
                              f"    {LONG}\n"))
        self.refuse(self.page(f"so:\n    {LONG}\n- a\n\n    {LONG}\n"
                              f"\nb\n\n    {LONG}\n"),
                    ["docs/a.md:2 columns", "docs/a.md:5 columns"])

    def test_prose_behind_code_and_comments(self):
        self.refuse(self.page(f"```\n```\n{LONG}\n<!-- a\n-->\n{LONG}\n"),
                    ["docs/a.md:3 columns", "docs/a.md:6 columns"])

    def test_what_cannot_be_broken(self):
        word = "https://" + "x" * 120
        self.accept(self.page(f"{word}\n- {word}\n  [{FITS}]({word}),\n"
                              f"![{FITS}]({word})\n"))
        self.refuse(self.page(f"see {word}\n[{FITS}]({word}) and more\n"),
                    ["docs/a.md:1 columns", "docs/a.md:2 columns"])

    def test_marks_of_code_blocks_inside_lines(self):
        self.refuse(self.page("```\na --> b\n``` \n\n```\na\n+--> b ```\n```\n"
                              "a ``` b\n- ```\n"),
                    ["docs/a.md:7 fence", "docs/a.md:9 fence",
                     "docs/a.md:10 fence"])

    def test_a_code_block_that_does_not_end(self):
        output = self.refuse(
            self.page("```\n```\n\n```\na --> b\n\nText.\n"),
            ["docs/a.md:4 fence"])
        self.assertIn("does not end", output)
        self.refuse(self.page("~~~\na ```\n"),
                    ["docs/a.md:1 fence", "docs/a.md:2 fence"])

    def test_marks_in_comments_and_named_blocks(self):
        self.accept(self.page("<!-- ``` -->\n```sh\n~~~\n```\n  ```\n  a\n"
                              "  ```\n"))

    def test_other_files_and_printed_pages_are_free(self):
        self.accept({"docs/a.md": "A\n", "README.md": LONG,
                     "docs/env.md": LONG, "docs/a.txt": LONG})

    def test_no_documents(self):
        status, output = self.run_lint({"README.md": "A\n"})
        self.assertEqual(status, 1, output)


if __name__ == "__main__":
    unittest.main()
