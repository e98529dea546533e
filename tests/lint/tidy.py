"""clang-tidy, as .clang-tidy says, over what the build compiles.

Warnings are errors. --nodes bounds how far the analyzer follows a function: it
spends most of the time on few of them. LOCAL switches off checks where they do not apply; for
the whole story of a finding run clang-tidy -p BUILD on the file it names.
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
LOCAL = [
    # one thread, and arguments that a test row gives
    (r"(tools|osu-extensions|tests)/|shim/\w+/\w+_doc\w*\.c$",
     "-concurrency-mt-unsafe"),
    (r"tests/", "-cert-err34-c"),
    # they define MPI's and CUDA's functions with names of their own
    (r"(tests|sim)/", "-readability-inconsistent-declaration-parameter-name"),
]
DIAGNOSTIC = re.compile(r"^(\S.*?):(\d+):\d+: (?:error|warning): (.*) "
                        r"\[([\w.+-]+)[\w.,+-]*\]$", re.M)


def budget(args):
    words = ["-Xclang", "-analyzer-config", "-Xclang",
             f"max-nodes={args.nodes}"]
    return [f"--extra-arg={word}" for word in words] if args.nodes else []


def tidy(args, path):
    """(path, line, text, check) of each complaint about one source file."""
    off = [checks for pattern, checks in LOCAL if re.match(pattern, path)]
    done = subprocess.run(
        [args.clang_tidy, "--quiet", "-p", args.build,
         "--warnings-as-errors=*",
         f"--header-filter=^{re.escape(args.root)}/(?!build)",
         # flags of the compiler that builds, which may not be Clang
         "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument", *budget(args)]
        + ([f"--checks={','.join(off)}"] if off else [])
        + [os.path.join(args.root, path)],
        capture_output=True, text=True, cwd=args.root)
    found = [(inside(args.root, file), int(line), text, check)
             for file, line, text, check in DIAGNOSTIC.findall(done.stdout)]
    if done.returncode and not found:
        found = [(path, 0, done.stdout + done.stderr, "failed")]
    return found


def inside(root, path):
    path = os.path.realpath(os.path.join(root, path))
    return os.path.relpath(path, root) if path.startswith(root + "/") else path


def sources(args):
    """Built files of the tree, each once."""
    entries = compdb.load(os.path.join(args.build, "compile_commands.json"))
    built = [inside(args.root, file) for file, _ in entries]
    return sorted(set(lintlib.c_files(args.root)).intersection(built))


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--build", {"required": True}),
        ("--clang-tidy", {"default": "clang-tidy"}),
        ("--nodes", {"type": int, "default": 0}))
    args.root = os.path.realpath(args.root)
    report = lintlib.Report("tidy", args.root)
    if not shutil.which(args.clang_tidy):
        return lintlib.skip(f"{args.clang_tidy} is not installed "
                            "(apt-get install clang-tidy)")
    paths = sources(args)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for found in pool.map(lambda p: tidy(args, p), paths):
            for path, line, text, rule in found:
                report.add(rule, path, line, text)
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
