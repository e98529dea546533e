#!/usr/bin/env python3
"""Prints the result of ./check: a table of stages, what failed and the end of
its output, what was skipped and why, the slowest tests, and as the last line
"N passed, N failed, N skipped".

    report.py SCORE      (lines written by tools/setup/tests.sh)

Exit status 0: nothing failed, 1: something did."""

import sys
import xml.etree.ElementTree as ElementTree

UNKNOWN_REASON = "no reason given"
OUTPUT_LINES = 15  # of a failed test; the log of its stage has all
OUTPUT_TESTS = 20  # whose output is shown, of a stage
SLOWEST = 10  # tests, of all stages


class Stage:
    """One line of the score, with the tests of its JUnit file."""

    def __init__(self, line):
        name, status, seconds, junit = line.rstrip("\n").split("\t")
        self.name = name
        self.seconds = int(seconds)
        self.passed = 0
        self.failed = []
        self.skipped = []
        self.took = []  # (seconds, test)
        if junit:
            self.read_tests(junit)
        if status == "late":
            self.skipped.append((name, "--minutes were over before it"))
        elif status == "0":
            self.passed += 0 if junit else 1
        elif not self.failed:
            self.failed.append(
                (name, f"exit status {status}; logs/ of the build say more"))

    def read_tests(self, path):
        try:
            cases = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError) as error:
            self.failed.append((self.name, f"no test results: {error}"))
            return
        for case in cases:
            self.add_case(case)

    def add_case(self, case):
        name = case.get("name")
        self.took.append((float(case.get("time") or 0), name))
        skip = case.find("skipped")
        if case.get("status") == "run":
            self.passed += 1
        elif skip is not None and case.get("status") != "fail" and is_skip(
                case, skip):
            self.skipped.append((name, last_line(case)))
        else:
            self.failed.append((name, failure(case) + self.output(case)))

    def output(self, case):
        """The end of what a failed test printed, indented."""
        if len(self.failed) >= OUTPUT_TESTS:
            return ""
        lines = lines_of(case)
        before = len(lines) - OUTPUT_LINES
        cut = [f"({before} lines before are in logs/test.log of the build)"]
        return "".join("\n      " + line for line in
                       (cut if before > 0 else []) + lines[-OUTPUT_LINES:])


def is_skip(case, skip):
    """A test that said so (77), or that is switched off; not one whose
    program is missing, which ctest reports in the same element."""
    return (case.get("status") == "disabled"
            or skip.get("message", "").startswith("SKIP_"))


def lines_of(case):
    """What a test printed, less empty lines."""
    text = case.findtext("system-out") or ""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def last_line(case):
    lines = lines_of(case)
    return lines[-1].strip() if lines else UNKNOWN_REASON


def failure(case):
    for tag in ("failure", "skipped"):
        element = case.find(tag)
        if element is not None and element.get("message"):
            return element.get("message")
    return "failed"


def minutes(seconds):
    return f"{seconds // 60}:{seconds % 60:02d}"


def print_table(stages):
    width = max([len(stage.name) for stage in stages] + [len("stage")])
    print(f"{'stage':{width}}  passed  failed  skipped   time")
    for stage in stages:
        print(f"{stage.name:{width}}  {stage.passed:6}  "
              f"{len(stage.failed):6}  {len(stage.skipped):7}  "
              f"{minutes(stage.seconds):>5}")


def print_list(title, stages, attribute):
    entries = [(stage.name, name, why) for stage in stages
               for name, why in getattr(stage, attribute)]
    if entries:
        print(f"\n{title}:")
    for stage, name, why in entries:
        print(f"  {stage}: {name}: {why}")


def print_slowest(stages):
    """A test may be there once a stage."""
    tests = sorted(((seconds, stage.name, name) for stage in stages
                    for seconds, name in stage.took), reverse=True)[:SLOWEST]
    if tests:
        print("\nslowest:")
    for seconds, stage, name in tests:
        print(f"  {minutes(round(seconds)):>5}  {stage}: {name}")


def main(path):
    with open(path, encoding="utf-8") as score:
        stages = [Stage(line) for line in score]
    print_table(stages)
    print_list("failed", stages, "failed")
    print_list("skipped", stages, "skipped")
    print_slowest(stages)
    passed = sum(stage.passed for stage in stages)
    failed = sum(len(stage.failed) for stage in stages)
    skipped = sum(len(stage.skipped) for stage in stages)
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
