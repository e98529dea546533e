"""Comments and white space: what clang-format does not look at.

Every source file opens with a comment that says what it is for; work left to
do names its issue; comments of C stand between slash and star; no banners,
tabs, trailing blanks or lines over 80.
"""
import re

import csource
import lintlib

COLUMNS = 80
OPENING_WORDS = 4
TEXT_SUFFIXES = lintlib.C_SUFFIXES + (".def", ".py", ".sh", ".cmake", ".map")
OPENED = lintlib.C_SUFFIXES + (".def", ".py", ".sh", ".map")
LEFT_TO_DO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d+)")
BANNER = re.compile(r"^\s*(/\*+|//+|\*+|#+)?\s*([-=*#~/_])\2{7,}")
# What is left of a line when all but comments is blanked.
LINE_COMMENT = re.compile(r"\s*//")
LEGAL = re.compile(r"(?i)copyright|spdx|licen[cs]e|all rights reserved")


def opening_comment(path, text):
    """The words of the comment a file begins with, legal lines left out."""
    if path.endswith(lintlib.C_SUFFIXES + (".def",)):
        block = re.match(r"\s*((/\*.*?\*/|//[^\n]*)\s*)+", text, re.S)
    elif path.endswith(".py"):
        text = re.sub(r"\A#![^\n]*\n", "", text)
        block = re.match(r'\s*("""(.*?)"""|(#[^\n]*\n)+)', text, re.S)
    else:
        text = re.sub(r"\A#![^\n]*\n", "", text)
        block = re.match(r"\s*(#[^\n]*\n|/\*.*?\*/)+", text, re.S)
    if not block:
        return []
    lines = [line for line in block.group().split("\n")
             if not LEGAL.search(line)]
    name = re.escape(path.rsplit("/", 1)[-1])
    return re.findall(r"[A-Za-z]{2,}",
                      re.sub(name, "", " ".join(lines)))


def check_opening(report, path, text):
    if len(opening_comment(path, text)) < OPENING_WORDS:
        report.add("opening", path, 1,
                   "open with a comment that says what this file is for")


def check_comments(report, path, text):
    is_c = path.endswith(lintlib.C_SUFFIXES + (".def",))
    if is_c:
        comment = csource.mask(text).comment
    else:
        hashes = re.compile(r"(?m)(^|(?<=\s))#.*$")
        comment = "\n".join(
            match.group() if match else ""
            for match in map(hashes.search, text.split("\n")))
    for number, line in enumerate(comment.split("\n"), 1):
        match = LEFT_TO_DO.search(line)
        if match:
            report.add("todo", path, number,
                       f"{match.group()} without an issue: write "
                       f"{match.group()}(#12)")
        if is_c and LINE_COMMENT.match(line):
            report.add("slashes", path, number, "write /* .. */")
        if BANNER.match(line):
            report.add("banner", path, number, "no banners")


def check_lines(report, path, text):
    limited = path.endswith(lintlib.C_SUFFIXES)
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            report.add("tab", path, number, "tab: indent with spaces")
        if line != line.rstrip():
            report.add("trailing", path, number, "blanks at end of line")
        if limited and len(line) > COLUMNS:
            report.add("columns", path, number,
                       f"{len(line)} columns, at most {COLUMNS}")
    if text and not text.endswith("\n"):
        report.add("trailing", path, 0, "no newline at end of file")


def wanted(path):
    return path.endswith(TEXT_SUFFIXES) or path.endswith("CMakeLists.txt")


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("comments", args.root)
    paths = [p for p in lintlib.list_files(args.root) if wanted(p)]
    for path in paths:
        text = lintlib.read(args.root, path)
        if text and path.endswith(OPENED):
            check_opening(report, path, text)
        check_comments(report, path, text)
        check_lines(report, path, text)
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
