"""Every header compiles alone, twice in one file, without a warning.

As C17 with the project's warnings; headers of include/ and device/ also as
C++17, since programs and kernels use them there. Include paths are those of
the sources beside the header (compile_commands.json).
"""
import concurrent.futures
import os
import shutil
import subprocess

import compdb
import lintlib

FOLDERS = ("shim/", "device/", "include/", "sim/", "osu-extensions/",
           "tools/")
CXX_FOLDERS = ("include/", "device/")
C_FLAGS = ["-x", "c", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra",
           "-Wshadow", "-Wconversion", "-Wmissing-prototypes"]
CXX_FLAGS = ["-x", "c++", "-std=c++17", "-Wall", "-Wextra"]
WORKERS = 2


def compile_alone(command, root, path):
    """Error output of the compiler, empty if the header is clean."""
    header = os.path.join(root, path)
    source = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(command + ["-Werror", "-fsyntax-only", "-"],
                          input=source, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return done.stderr.strip() or f"compiler exit {done.returncode}"


def jobs(args, entries, paths):
    """(path, language, command) for everything to compile."""
    for path in paths:
        flags = compdb.flags_near(entries, os.path.join(args.root, path))
        flags += [f"-I{args.root}", f"-I{args.root}/include"]
        flags += [w for i in args.isystem for w in ("-isystem", i)]
        yield path, "C17", [args.cc] + C_FLAGS + flags
        if path.startswith(CXX_FOLDERS):
            yield path, "C++17", [args.cxx] + CXX_FLAGS + flags


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--cc", {"default": "cc"}), ("--cxx", {"default": "c++"}),
        ("--compile-commands", {"default": ""}),
        ("--isystem", {"action": "append", "default": []}))
    args.root = os.path.realpath(args.root)
    report = lintlib.Report("headers", args.root)
    for tool in (args.cc, args.cxx):
        if not shutil.which(tool):
            return lintlib.skip(f"{tool} is not installed")
    entries = compdb.load(args.compile_commands) \
        if args.compile_commands else []
    paths = [p for p in lintlib.list_files(args.root)
             if p.startswith(FOLDERS) and p.endswith(".h")]
    work = list(jobs(args, entries, paths))
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        outputs = pool.map(lambda j: compile_alone(j[2], args.root, j[0]),
                           work)
    for (path, language, _), output in zip(work, outputs):
        if output:
            report.add("alone", path, 0,
                       f"does not compile alone as {language}:\n{output}")
    return report.finish(len(paths), "headers")


if __name__ == "__main__":
    lintlib.main(check)
