"""Prose of the documents in docs/ has lines of at most 120 columns.

Free are rows of tables, code blocks (fenced, or indented by four columns behind
an empty line, outside of lists), comments that nobody sees who reads the page
rendered, and a line that is one word or one link, since it cannot be broken.
So are pages that are printed from tables (generated.py).

Marks of fenced code begin a line: ``` inside one, which a paragraph that is
filled anew together with a block leaves behind, is a finding, and so is a block
that does not end.
"""
import re

import generated
import lintlib

COLUMNS = 120
COMMENT = re.compile(r"<!--.*?-->", re.S)
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = r"\s*(?:(?:[-*+>]|\d+\.)\s+)?"
BEGINS_ITEM = re.compile(r"\s*([-*+]|\d+\.)\s")
CODE = " " * 4
MARK = "```"
UNBROKEN = re.compile(ITEM + r"(?:\S+|!?\[[^\]]*\]\([^)\s]*\)\S?)")


def without_comments(text):
    """The text with comments blanked; lines keep their numbers."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", "", found.group()), text)


def lines_with_fences(text):
    """(number, line, mark, opened) of all lines: whether the line begins or
    ends fenced code, and where the code that goes on behind it began, or 0."""
    fence, opened = None, 0
    for number, line in enumerate(without_comments(text).split("\n"), 1):
        found = FENCE.match(line)
        mark = bool(found) and fence in (None, found.group(1))
        if mark:
            fence, opened = (None, 0) if fence else (found.group(1), number)
        yield number, line, mark, opened


def lines_outside_fences(text):
    """(number, line) of all lines but those of fenced code, where an empty
    line stands instead."""
    for number, line, mark, opened in lines_with_fences(text):
        yield number, "" if mark or opened else line


def torn_fences(text):
    """(number, what is wrong) of marks of code blocks that are none."""
    opened = 0
    for number, line, _, opened in lines_with_fences(text):
        found = FENCE.match(line)
        if MARK in (line[found.end():] if found else line):
            yield number, f"{MARK} inside a line begins or ends no code block"
    if opened:
        yield opened, "this code block does not end"


def prose_of(text):
    """(number, line) of each line that the limit holds for."""
    in_list, in_code, behind_empty = False, False, True
    for number, line in lines_outside_fences(text):
        if not line.strip():
            behind_empty = True
            continue
        if BEGINS_ITEM.match(line):
            in_list = True
        elif behind_empty and not line.startswith(" "):
            in_list = False
        in_code = line.startswith(CODE) and not in_list \
            and (behind_empty or in_code)
        behind_empty = False
        if not (in_code or line.lstrip().startswith("|")
                or UNBROKEN.fullmatch(line)):
            yield number, line


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("columns", args.root)
    printed = {page for _, _, page in generated.PAGES}
    paths = [p for p in lintlib.list_files(args.root)
             if p.startswith("docs/") and p.endswith(".md")
             and p not in printed]
    for path in paths:
        text = lintlib.read(args.root, path)
        for number, line in prose_of(text):
            if len(line) > COLUMNS:
                report.add("columns", path, number,
                           f"{len(line)} columns, at most {COLUMNS}")
        for number, wrong in torn_fences(text):
            report.add("fence", path, number, wrong)
    return report.finish(len(paths), "documents")


if __name__ == "__main__":
    lintlib.main(check)
