"""Names and includes: prefixes, objects, no struct typedefs, include order.

Functions that other files can see are mgds_*, MPI's own names in shim/pmpi,
or mpix_gds_* in device/; the engine's other functions have names of two words
at least, since a verb alone does not say of what. Includes come in three groups: own header, what is
installed (<...>), the project's ("...").
"""
import os
import posixpath
import re

import csource
import lintlib

# (paths, names that a function with external linkage may have)
PREFIXES = [
    (r"shim/pmpi/", r"mgds_|P?MPIX?_|main$"),
    (r"shim/", r"mgds_|main$"),
    (r"device/", r"mgds_|mpix_gds_|main$"),
]
# Where a name says what the function is about.
OBJECTS = re.compile(
    r"shim/gds/(comm|cuda|match|mem|msg|proto|stream|transport|wire)/")
RECORD_TYPEDEF = re.compile(r"\btypedef\s+(const\s+)?(struct|union)\b")
# Types that a foreign interface names, where we restate it.
FOREIGN_TYPE = re.compile(r"CU|MPI")
OWN, INSTALLED, PROJECT = range(3)
GROUP_NAMES = ["own header", "<installed>", "project"]


def check_prefixes(report, path, masked):
    for pattern, names in PREFIXES:
        if not re.match(pattern, path):
            continue
        for function in csource.functions(masked):
            if not function.is_static and not re.match(names, function.name) \
                    and re.search(r"[a-z]", function.name):
                report.add("prefix", path, function.line,
                           f"{function.name}: visible names are "
                           f"{names.replace('|main$', '')} (or make it "
                           "static)")
        return


def check_objects(report, path, masked):
    if not OBJECTS.match(path):
        return
    for function in csource.functions(masked):
        if function.is_static and "_" not in function.name:
            report.add("object", path, function.line,
                       f"{function.name}: verb and object, or adjective and "
                       "noun: two words at least")


def check_typedefs(report, path, masked):
    """Handles (pointers) and callbacks may be typedefs, records may not."""
    code = masked.code
    for match in RECORD_TYPEDEF.finditer(code):
        declared = re.sub(r"\s", " ", code[match.start():])
        while "{" in declared.split(";")[0]:
            declared = re.sub(r"\{[^{}]*\}", "", declared, count=1)
        declared = declared.split(";")[0]
        name = re.findall(r"\w+", declared.split("[")[0])[-1]
        if "*" not in declared and not FOREIGN_TYPE.match(name):
            report.add("typedef", path, lintlib.line_of(code, match.start()),
                       f"{name}: no typedef for structs")


def include_group(path, name, quoted, is_first):
    own = re.sub(r"\.(c|cu)$", "", posixpath.basename(path))
    if quoted:
        base = re.sub(r"\.(h|cuh)$", "", posixpath.basename(name))
        # Several files of one folder may share the header they open with,
        # and another folder may have a header of the same name.
        folder = posixpath.dirname(name) or posixpath.dirname(path)
        near = folder == posixpath.dirname(path)
        hits = (near, base == own, is_first)
        return OWN if sum(hits) >= 2 else PROJECT
    return INSTALLED


def conditional_lines(masked):
    """Lines between #if and #endif, header guards left out."""
    level, inside = 0, set()
    lines = masked.code.split("\n")
    guard = re.search(r"^\s*#\s*ifndef\s+(\w+)\s*\n\s*#\s*define\s+\1\b",
                      masked.code, re.M)
    base = 1 if guard else 0
    for first, _, name in csource.directive_lines(lines):
        if name in ("if", "ifdef", "ifndef"):
            level += 1
        elif name == "endif":
            level -= 1
        elif level > base:
            inside.add(first + 1)
    return inside


def check_order(report, path, masked):
    """Groups never go back; conditional includes may stand anywhere."""
    skipped = conditional_lines(masked)
    latest = OWN
    for line, name, quoted in csource.includes(masked):
        if line in skipped or name.endswith(".def"):
            continue
        group = include_group(path, name, quoted, latest == OWN)
        if group < latest:
            report.add("order", path, line,
                       f"{name} ({GROUP_NAMES[group]}) after "
                       f"{GROUP_NAMES[latest]}: own header, <installed>, "
                       "project")
        latest = max(latest, group)


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("names", args.root)
    paths = [p for p in lintlib.c_files(args.root)
             if os.path.getsize(os.path.join(args.root, p))]
    for path in paths:
        masked = csource.mask(lintlib.read(args.root, path))
        check_prefixes(report, path, masked)
        check_objects(report, path, masked)
        check_order(report, path, masked)
        if not path.startswith("include/"):
            check_typedefs(report, path, masked)
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
