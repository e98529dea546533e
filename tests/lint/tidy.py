"""clang-tidy, as .clang-tidy says, over what the build compiles.

Warnings are errors. Files of one process and one thread may call what is not
safe in threads: the check for that holds for the library alone.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess

import compdb
import lintlib

WORKERS = 2
# (paths, checks switched off there)
LOCAL = [(r"(tools|osu-extensions|tests)/|shim/\w+/\w+_doc\.c$",
          "-concurrency-mt-unsafe")]
NOISE = re.compile(r"^\d+ warnings? |^Suppressed |^Use -header-filter"
                   r"|^Error while processing|^\[\d+/\d+\]")


def tidy(args, path):
    """What clang-tidy has against one source file; empty if nothing."""
    command = [args.clang_tidy, "--quiet", "-p", args.build,
               "--warnings-as-errors=*",
               f"--header-filter=^{re.escape(args.root)}/(?!build)",
               "--extra-arg=-Wno-unknown-warning-option"]
    for pattern, checks in LOCAL:
        if re.match(pattern, path):
            command.append(f"--checks={checks}")
    done = subprocess.run(command + [os.path.join(args.root, path)],
                          capture_output=True, text=True, cwd=args.root)
    output = done.stdout if done.stdout.strip() else done.stderr
    lines = [line for line in output.splitlines() if not NOISE.match(line)]
    return "\n".join(lines) if done.returncode else ""


def sources(args):
    """Built files of the tree, each once."""
    entries = compdb.load(os.path.join(args.build, "compile_commands.json"))
    inside = [os.path.relpath(file, args.root) for file, _ in entries]
    tracked = set(lintlib.c_files(args.root))
    return sorted(tracked.intersection(inside))


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--build", {"required": True}),
        ("--clang-tidy", {"default": "clang-tidy"}))
    args.root = os.path.abspath(args.root)
    report = lintlib.Report("tidy", args.root)
    if not shutil.which(args.clang_tidy):
        return lintlib.skip(f"{args.clang_tidy} is not installed "
                            "(apt-get install clang-tidy)")
    paths = sources(args)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for path, output in zip(paths, pool.map(lambda p: tidy(args, p),
                                                paths)):
            if output:
                report.add("clang-tidy", path, 0, "\n" + output)
    return report.finish(f"{len(paths)} files")


if __name__ == "__main__":
    lintlib.main(check)
