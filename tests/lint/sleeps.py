"""No sleep in tests where an event is meant.

A test that sleeps is slow when it passes and wrong when the machine is busy.
What must really take time is excused in exceptions.txt, with the reason.
"""
import re

import csource
import lintlib

C_SLEEP = re.compile(
    r"\b(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep)\s*\("
    r"|\bp?poll\s*\(\s*(NULL|0)\s*,\s*0\s*,"
    r"|\bp?select\s*\(\s*0\s*,\s*(NULL|0)\s*,\s*(NULL|0)\s*,")
PY_SLEEP = re.compile(r"\b(time|asyncio)\.sleep\s*\(|\bimport sleep\b")
SH_SLEEP = re.compile(r"(^|[;&|(`]|\bdo\b|\bthen\b|\belse\b)\s*sleep\s+\S")
REMEDY = "wait for the event itself, or say why in exceptions.txt"


def sleeping_lines(path, text):
    """(line, what) of each sleep in one test file."""
    if path.endswith(lintlib.C_SUFFIXES):
        pattern, text = C_SLEEP, csource.mask(text).code
    elif path.endswith(".py") or re.match(r"#!.*python", text):
        pattern, text = PY_SLEEP, strip_hash_comments(text)
    elif path.endswith(".sh") or re.match(r"#!.*sh\b", text):
        pattern, text = SH_SLEEP, strip_hash_comments(text)
    else:
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = pattern.search(line)
        if match:
            yield number, match.group().strip(" ;&|(`")


def strip_hash_comments(text):
    return re.sub(r"(?m)(^|\s)#.*$", "", text)


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("sleeps", args.root)
    paths = [p for p in lintlib.list_files(args.root)
             if p.startswith("tests/")]
    for path in paths:
        for line, what in sleeping_lines(path, lintlib.read(args.root, path)):
            report.add("sleep", path, line, f"'{what}': {REMEDY}")
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
