"""Made-up source trees, and what a lint says about them.

A self-test states a tree as {path: text}, runs the real script on it and
looks at the rules that were broken, so that a lint that cannot fail fails.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

LINT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(LINT))


class LintCase(unittest.TestCase):
    """Base of all self-tests; a subclass names its lint."""

    lint = ""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.addCleanup(self.folder.cleanup)

    def write(self, tree, executable=False):
        for path, text in tree.items():
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
            if executable:
                os.chmod(full, 0o755)

    def run_lint(self, tree, *args):
        """(exit status, output) of the lint over a tree."""
        self.write(tree)
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(LINT, self.lint + ".py"),
             "--root", self.root] + list(args),
            capture_output=True, text=True)
        self.assertEqual(done.stderr, "", "a lint must not crash")
        return done.returncode, done.stdout

    def accept(self, tree, *args):
        status, output = self.run_lint(tree, *args)
        self.assertEqual(status, 0, output)

    def refuse(self, tree, expected, *args):
        """The lint fails with exactly these findings, 'path:line rule'."""
        status, output = self.run_lint(tree, *args)
        found = []
        for line in output.splitlines():
            match = re.match(r"(\S+?:\d+|\S+?):.*\[\w+/([\w-]+)\]$", line)
            if match:
                found.append(f"{match.group(1)} {match.group(2)}")
        self.assertEqual(sorted(found), sorted(expected), output)
        self.assertEqual(status, 1, output)
        return output
