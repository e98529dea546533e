"""Every C and CUDA file is as clang-format writes it."""
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
    status = 0
    for first in range(0, len(paths), AT_ONCE):
        done = subprocess.run(
            [args.clang_format, "--dry-run", "-Werror", "--style=file"]
            + paths[first:first + AT_ONCE], cwd=args.root,
            capture_output=True, text=True)
        print(done.stderr, end="")
        status = status or done.returncode
    if status:
        print("remedy: clang-format -i the files named above")
    return report.finish(f"{len(paths)} files") or (1 if status else 0)


if __name__ == "__main__":
    lintlib.main(check)
