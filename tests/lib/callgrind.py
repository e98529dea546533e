"""The command line of programs that count instructions with callgrind."""
import argparse
import os
import shutil
import sys

PATHS = ("mpiexec", "valgrind", "library", "sim", "program")


def options(description, timeout, paths=(), flags=()):
    """What the command line says: PATHS and those of paths, which must be
    given, --timeout in seconds and the flags. Ends the program, as skipped,
    where there is no valgrind."""
    parser = argparse.ArgumentParser(description=description)
    for name in (*PATHS, *paths):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--timeout", type=float, default=timeout)
    for name in flags:
        parser.add_argument("--" + name, action="store_true")
    found = parser.parse_args()
    if not shutil.which(found.valgrind):
        print("skipped: no valgrind here")
        sys.exit(77)
    found.library = os.path.realpath(found.library)
    return found
