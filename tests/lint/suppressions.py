"""What compute-sanitizer is told to leave out exists, and has a reason.

A record of tools/compute-sanitizer.xml names one driver call of ours, and a
comment of its own stands ahead of it. Kernels are not named: the
tool does not suppress what it reports of them.
"""
import os
import re
import xml.dom.minidom as minidom

import lintlib

FILE = "tools/compute-sanitizer.xml"
CALLS = "shim/gds/cuda/driver.def", re.compile(r"X\((cu\w+),")


def names_in(root, source):
    path, pattern = source
    return set(pattern.findall(lintlib.read(root, path)))


def records(document):
    """Each with whether a comment was ahead of it."""
    explained = False
    for node in document.documentElement.childNodes:
        if node.nodeType == node.COMMENT_NODE:
            explained = True
        elif node.nodeType == node.ELEMENT_NODE:
            yield node, explained
            explained = False


def names_of(record):
    return [found.firstChild.data for tag in ("func", "api")
            for found in record.getElementsByTagName(tag)]


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("suppressions", args.root)
    known = names_in(args.root, CALLS)
    found = list(records(minidom.parse(os.path.join(args.root, FILE))))
    for record, explained in found:
        names = names_of(record)
        if not explained:
            report.add("reason", FILE, 0, f"{names}: no comment ahead of it")
        if len(names) != 1 or re.sub(r"_v\d$", "", names[0]) not in known:
            report.add("name", FILE, 0,
                       f"{names}: not one driver call of ours")
    return report.finish(len(found), "records")


if __name__ == "__main__":
    lintlib.main(check)
