"""docs/design.md names files that are there, and its table "Where to look"
functions that are in them.

A row is a behaviour, the file that has it, and one or more functions of that
file at which reading begins:

    | a peer's death ends its operations | `shim/gds/comm/lost.c` | `lose` |

Who moves or renames a function moves it here, too. In all of the page `a.h`, or
`msg/a.h`, is a file of the tree whose path ends so; `a*.c` is one at least.
Files of folders that the page is not about do not count, though they have the
name.
"""
import fnmatch
import os
import re

import csource
import lintlib

PAGE = "docs/design.md"
HEADING = "## Where to look"
FEWEST = 10
QUOTED = re.compile(r"`([^`]+)`")
FILE = re.compile(r"`([\w*./-]+\.(?:c|h|def))`")
ABOUT = ("shim/", "device/", "include/", "sim/", "tests/engine/", "tests/unit/",
         "tests/enq/")
RULE = re.compile(r"\|[\s|:-]+\|?$")


def rows_of(text):
    """(line, cells) of each row of the section's table, its head left out."""
    inside, head = False, True
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("## "):
            inside = line.strip() == HEADING
        elif inside and line.startswith("|"):
            if RULE.match(line):
                head = False
            elif not head:
                yield number, [cell.strip()
                               for cell in line.strip().strip("|").split("|")]


def check_row(report, root, number, cells):
    if len(cells) != 3 or not all(cells):
        report.add("row", PAGE, number,
                   "want '| behaviour | `file` | `function` |'")
        return
    files, names = QUOTED.findall(cells[1]), QUOTED.findall(cells[2])
    if len(files) != 1 or not names:
        report.add("row", PAGE, number,
                   "want one `file`, then at least one `function`")
    elif not os.path.isfile(os.path.join(root, files[0])):
        report.add("file", PAGE, number, f"there is no {files[0]}")
    else:
        masked = csource.mask(lintlib.read(root, files[0]))
        there = {found.name for found in csource.functions(masked)}
        for name in names:
            if name not in there:
                report.add("function", PAGE, number,
                           f"{files[0]} defines no {name}")


def check_named(report, text, paths):
    """Every file that the page names is there, whatever the section."""
    paths = [path for path in paths if path.startswith(ABOUT)]
    for number, line in enumerate(text.split("\n"), 1):
        for name in FILE.findall(line):
            if not any(fnmatch.fnmatchcase("/" + path, "*/" + name)
                       for path in paths):
                report.add("named", PAGE, number, f"there is no {name}")


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("wheretolook", args.root)
    there = os.path.isfile(os.path.join(args.root, PAGE))
    text = lintlib.read(args.root, PAGE) if there else ""
    check_named(report, text, lintlib.list_files(args.root))
    rows = list(rows_of(text))
    for number, cells in rows:
        check_row(report, args.root, number, cells)
    if len(rows) < FEWEST:
        report.add("rows", PAGE, 0, f"'{HEADING}' has {len(rows)} rows, must "
                   f"have {FEWEST}")
    return report.finish(len(rows), "rows")


if __name__ == "__main__":
    lintlib.main(check)
