"""What all lint scripts share: the file list, exceptions, findings, exit code.

A lint makes a Report, adds findings (rule, path, line, text) and ends with
finish(), which prints them and says how many. tests/lint/exceptions.txt is
the one place where a finding can be excused, with its reason; a row there
that excuses nothing is itself a finding.
"""
import argparse
import fnmatch
import os
import subprocess
import sys
import time

C_SUFFIXES = (".c", ".h", ".cu", ".cuh")
SKIPPED_DIRS = {".git", ".venv", ".device", "__pycache__"}
SKIP = 77
# Limits are met, not excused.
NO_EXCEPTIONS = ("size", "format", "exports", "generated")


def list_files(root):
    """Paths relative to root: what git tracks or would offer to track.

    Outside a repository (a source archive, a sample tree) every file that is
    not below a build or hidden work folder.
    """
    top = run_text(["git", "-C", root, "rev-parse", "--show-toplevel"])
    if top and os.path.realpath(top.strip()) == os.path.realpath(root):
        names = run_text(["git", "-C", root, "ls-files", "-z", "--cached",
                          "--others", "--exclude-standard"]).split("\0")
    else:
        names = walk(root)
    return sorted({n for n in names
                   if n and os.path.isfile(os.path.join(root, n))})


def walk(root):
    for folder, dirs, files in os.walk(root):
        dirs[:] = [d for d in dirs if d not in SKIPPED_DIRS
                   and d != "build" and not d.startswith("build-")]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def run_text(command):
    """Standard output of a command, or an empty string if it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8",
              errors="replace") as file:
        return file.read()


def c_files(root):
    return [p for p in list_files(root) if p.endswith(C_SUFFIXES)]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class ExceptionsError(Exception):
    """exceptions.txt itself is wrong; the text names the row."""


def load_exceptions(root):
    """Rows (lint/rule, path pattern, reason) of exceptions.txt."""
    path = os.path.join(root, "tests/lint/exceptions.txt")
    if not os.path.exists(path):
        return []
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if line and not line.startswith("#"):
                rows.append(parse_exception(number, line))
    return rows


def parse_exception(number, line):
    cells = [c.strip() for c in line.split("|")]
    where = f"tests/lint/exceptions.txt:{number}: "
    if len(cells) != 3 or not all(cells):
        raise ExceptionsError(where + "want 'lint/rule | path | reason'")
    if cells[0].split("/")[0] in NO_EXCEPTIONS:
        raise ExceptionsError(where + f"{cells[0]} takes no exceptions")
    return tuple(cells)


class Report:
    """Findings of one lint over one tree."""

    def __init__(self, lint, root):
        self.lint = lint
        self.started = time.monotonic()
        self.findings = []
        self.rows = [r for r in load_exceptions(root)
                     if r[0].split("/")[0] == lint]
        self.used = set()

    def add(self, rule, path, line, text):
        for row in self.rows:
            if row[0] == f"{self.lint}/{rule}" and fnmatch.fnmatch(path,
                                                                   row[1]):
                self.used.add(row)
                return
        self.findings.append((path, line, f"{text} [{self.lint}/{rule}]"))

    def finish(self, count, unit):
        """Print findings and one summary line; the exit status.

        Having looked at nothing is a finding: a wrong folder must not pass.
        """
        if not count:
            self.findings.append((".", 0, f"no {unit} found: wrong --root?"))
        for row in self.rows:
            if row not in self.used:
                self.findings.append((
                    "tests/lint/exceptions.txt", 0,
                    f"'{row[0]} | {row[1]}' excuses nothing: remove it"))
        for path, line, text in sorted(set(self.findings)):
            print(f"{path}:{line}: {text}" if line else f"{path}: {text}")
        spent = time.monotonic() - self.started
        print(f"{self.lint}: {count} {unit} checked, "
              f"{len(set(self.findings))} findings, {spent:.1f} s")
        return 1 if self.findings else 0


def parse_arguments(doc, *extra):
    """--root, and the options a lint adds as (name, keyword arguments)."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--root", default=os.getcwd(),
                        help="tree to check (default: this folder)")
    for name, keywords in extra:
        parser.add_argument(name, **keywords)
    return parser.parse_args()


def main(check):
    """Run check() -> exit status; one clear line for what stops a lint."""
    try:
        sys.exit(check())
    except ExceptionsError as error:
        print(error)
        sys.exit(1)


def skip(reason):
    print(f"skipped: {reason}")
    return SKIP
