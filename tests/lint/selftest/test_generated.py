"""lint/generated: stale pages and missing or failing generators are found."""
import unittest

from sample import LintCase

PAGES = {"docs/env.md": "A page\n", "docs/env-sim.md": "C page\n",
         "docs/mpi-coverage.md": "B page\n"}


def generator(text, status=0):
    return f"#!/bin/sh\nprintf '%s\\n' '{text}'\nexit {status}\n"


class Generated(LintCase):
    lint = "generated"

    def build(self, first=generator("A page"), second=generator("B page")):
        self.write({"build/bin/mgds-config-doc": first,
                    "build/bin/mgds-sim-doc": generator("C page"),
                    "build/bin/mgds-coverage-doc": second}, executable=True)
        return ["--build", self.root + "/build"]

    def test_fresh_pages_pass(self):
        self.accept(PAGES, *self.build())

    def failing(self, tree, *args):
        status, output = self.run_lint(tree, *args)
        self.assertEqual(status, 1, output)
        return output

    def test_stale_page_says_how_to_refresh(self):
        output = self.failing(PAGES, *self.build(generator("A new page")))
        self.assertIn("mgds-config-doc > docs/env.md", output)
        self.assertIn("+A new page", output)
        self.assertNotIn("B page", output)

    def test_page_not_there(self):
        self.assertIn("docs/env.md: stale",
                      self.failing({"docs/env-sim.md": "C page\n",
                                    "docs/mpi-coverage.md": "B page\n"},
                                   *self.build()))

    def test_generator_not_built(self):
        output = self.failing(PAGES, "--build", self.root)
        self.assertIn("build it first", output)

    def test_generator_that_fails_or_says_nothing(self):
        self.failing(PAGES, *self.build(generator("A page", 3)))
        self.failing(PAGES, *self.build("#!/bin/sh\n"))


if __name__ == "__main__":
    unittest.main()
