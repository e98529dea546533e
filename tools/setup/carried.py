#!/usr/bin/env python3
"""Makes the test list of a carried build usable where it was carried to.

    carried.py BUILD SOURCE MPIEXEC OUT

ctest's lists name programs by absolute path. Copies of them go to OUT, with
the build's and the source tree's old place replaced by where they are now,
mpiexec by MPIEXEC, and any other program found while configuring that is not
here by the one of that name in PATH."""

import os
import pathlib
import re
import shutil
import sys

CACHE_LINE = re.compile(r"^([A-Za-z_][\w-]*):([A-Z]+)=(/.*)$")


def read_cache(build):
    """Absolute paths of CMakeCache.txt by name, with their type."""
    found = {}
    with open(build / "CMakeCache.txt", encoding="utf-8") as cache:
        for line in cache:
            match = CACHE_LINE.match(line.rstrip("\n"))
            if match:
                found[match[1]] = (match[2], match[3])
    return found


def replacements(cache, build, source, mpiexec):
    """Old path to new path."""
    moved = {}
    for kind, path in cache.values():
        here = shutil.which(os.path.basename(path))
        if kind == "FILEPATH" and here and not os.path.exists(path):
            moved[path] = here
    moved[cache["CMAKE_HOME_DIRECTORY"][1]] = str(source)
    moved[cache["CMAKE_CACHEFILE_DIR"][1]] = str(build)
    if "MGDS_MPIEXEC" in cache:
        moved[cache["MGDS_MPIEXEC"][1]] = mpiexec
    return moved


def rewrite(text, moved):
    """One pass, longest path first: a replaced path is not replaced again."""
    if not moved:
        return text
    paths = sorted(moved, key=len, reverse=True)
    pattern = re.compile("(?:%s)(?![\\w.-])" % "|".join(map(re.escape, paths)))
    return pattern.sub(lambda match: moved[match[0]], text)


def main(build, source, mpiexec, out):
    build, out = pathlib.Path(build), pathlib.Path(out)
    moved = replacements(read_cache(build), build, source, mpiexec)
    for listed in build.rglob("CTestTestfile.cmake"):
        if out in listed.parents:
            continue
        copy = out / listed.relative_to(build)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(rewrite(listed.read_text(encoding="utf-8"), moved),
                        encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
