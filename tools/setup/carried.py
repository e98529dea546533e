#!/usr/bin/env python3
"""Makes the test list of a carried build usable where it was carried to.

    carried.py BUILD SOURCE MPIEXEC OUT

ctest's lists name programs by absolute path. Copies of them go to OUT, with
the build's and the source tree's old place replaced by where they are now and
mpiexec by MPIEXEC. Any other program found while configuring that is not here
is replaced by the one of that name in PATH, else by what CMake says of a
program it does not find. A test whose own program cannot be loaded here, for
want of a shared library, is skipped and says so."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

CACHE_LINE = re.compile(r"^([A-Za-z_][\w-]*):([A-Z]+)=(/.*)$")
ADD_TEST = re.compile(r"^(add_test\(\[(=*)\[.*?\]\2\]) (.*)\)$", re.MULTILINE)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


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
    for name, (kind, path) in cache.items():
        if kind == "FILEPATH" and not os.path.exists(path):
            here = shutil.which(os.path.basename(path))
            moved[path] = here or f"{name}-NOTFOUND"
    moved[cache["CMAKE_HOME_DIRECTORY"][1]] = str(source)
    moved[cache["CMAKE_CACHEFILE_DIR"][1]] = str(build)
    if "MGDS_MPIEXEC" in cache:
        moved[cache["MGDS_MPIEXEC"][1]] = mpiexec
    return moved


def rewrite(text, moved):
    """One pass, longest path first: a replaced path is not replaced again."""
    paths = sorted(moved, key=len, reverse=True)
    pattern = re.compile("(?:%s)(?![\\w.-])" % "|".join(map(re.escape, paths)))
    return pattern.sub(lambda match: moved[match[0]], text)


class Loader:
    """Which shared libraries of the build's own programs are not here."""

    def __init__(self, build):
        self.build = str(build) + "/"
        self.known = {}

    def missing(self, path):
        if not path.startswith(self.build) or not os.path.isfile(path):
            return []
        if path not in self.known:
            said = subprocess.run(["ldd", path], capture_output=True,
                                  text=True, check=False).stdout
            self.known[path] = re.findall(r"^\s*(\S+) => not found", said,
                                          re.MULTILINE)
        return self.known[path]

    def skip_unloadable(self, match):
        """One add_test line, or its replacement."""
        words = QUOTED.findall(match[3])
        lacking = sorted({name for word in words
                          for name in self.missing(word)})
        if not lacking:
            return match[0]
        reason = f"needs {', '.join(lacking)}: not on this machine"
        return f'{match[1]} "sh" "-c" "echo \'{reason}\'; exit 77")'


def main(build, source, mpiexec, out):
    build, out = pathlib.Path(build), pathlib.Path(out)
    moved = replacements(read_cache(build), build, source, mpiexec)
    loader = Loader(build)
    for listed in build.rglob("CTestTestfile.cmake"):
        if out in listed.parents:
            continue
        text = rewrite(listed.read_text(encoding="utf-8"), moved)
        copy = out / listed.relative_to(build)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(ADD_TEST.sub(loader.skip_unloadable, text),
                        encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
