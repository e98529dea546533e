"""Programs that count instructions of two ranks with callgrind: their command
line, the run, and what callgrind's files say."""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys

from no_input import NO_INPUT

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


def run(options, output, arguments, flags=(), variables=()):
    """Runs the program with the library; output may have valgrind's %p and %q.
    flags are callgrind's, variables the program's, as (name, value)."""
    preload = ("LD_PRELOAD", f"{options.library}:{options.sim}")
    command = [options.mpiexec]
    for name, value in (preload, *variables):
        command += ["-genv", name, str(value)]
    command += ["-n", "2", options.valgrind, "--tool=callgrind", "--quiet",
                *flags, f"--callgrind-out-file={output}", options.program,
                *(str(argument) for argument in arguments)]
    subprocess.run(command, check=True, stdin=NO_INPUT,
                   stdout=subprocess.DEVNULL, timeout=options.timeout)


def self_costs(path, library):
    """Instructions by function of one object, from a callgrind file with
    compressed names: (id) name at first mention, (id) alone later."""
    names, costs = {}, collections.Counter()
    current_object = current_function = None
    skip = False

    def name_of(kind, text):
        number, _, name = text.partition(" ")
        if name:
            names[kind, number] = name
        return names[kind, number]

    with open(path) as lines:
        for line in lines:
            line = line.rstrip("\n")
            field, equals, value = line.partition("=")
            if equals and field == "ob":
                current_object = name_of("ob", value)
            elif equals and field == "cob":
                name_of("ob", value)
            elif equals and field == "fn":
                current_function = name_of("fn", value)
            elif equals and field == "cfn":
                name_of("fn", value)
            elif equals and field == "calls":
                skip = True  # the next line is the cost of the callee
            elif re.match(r"[+*\-0-9]", line):
                if not skip and os.path.basename(current_object) == library:
                    costs[current_function] += int(line.split()[1])
                skip = False
    return costs
