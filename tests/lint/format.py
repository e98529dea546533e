"""Every C and CUDA file is as clang-format writes it."""
import re
import shutil
import subprocess

import lintlib

AT_ONCE = 50


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--clang-format", {"default": "clang-format"}))
    report = lintlib.Report("format", args.root)
    if not shutil.which(args.clang_format):
        return lintlib.skip(f"{args.clang_format} is not installed "
                            "(apt-get install clang-format)")
    paths = lintlib.c_files(args.root)
    for first in range(0, len(paths), AT_ONCE):
        done = subprocess.run(
            [args.clang_format, "--dry-run", "-Werror", "--style=file"]
            + paths[first:first + AT_ONCE], cwd=args.root,
            capture_output=True, text=True)
        complaints = re.findall(r"(?m)^(\S.*?):(\d+):\d+: error", done.stderr)
        for path, line in complaints:
            report.add("style", path, int(line),
                       f"not as clang-format writes it: clang-format -i {path}")
        if done.returncode and not complaints:
            report.add("failed", ".clang-format", 0, done.stderr)
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
