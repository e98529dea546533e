"""The library's dynamic symbols equal the tables; it needs libc only.

Exported are MPI_X and PMPI_X of each row of mpi_table.def (with _c twins)
and MPIX_X and PMPIX_X of mpix_table.def, nothing else. DT_NEEDED names the C
library: MPI, CUDA, UCX and verbs are opened at run time (docs/design.md).
"""
import os
import re
import subprocess

import lintlib
import mpitables

NEEDED = r"libc\.so\.6|ld-linux[-\w]*\.so\.\d+"
SANITIZER_NEEDED = r"lib(asan|ubsan|tsan|clang_rt[-.\w]*)\.so[.\d]*"
SANITIZER_SYMBOL = re.compile(r"__(odr_)?(asan|ubsan|tsan|sanitizer)_")


def expected_symbols(root):
    names = [n for row in mpitables.read_tables(root) for n in row.names()]
    return set(names) | {"P" + name for name in names}


def tool_output(command):
    """A failing tool stops the lint: nothing seen is not nothing wrong."""
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def exported_symbols(library):
    """Defined dynamic symbols, without version and version nodes."""
    found = set()
    for line in tool_output(["nm", "-D", "--defined-only",
                             library]).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            found.add(name.split("@")[0])
    return found


def check_symbols(report, library, root, sanitized):
    expected = expected_symbols(root)
    exported = exported_symbols(library)
    if sanitized:
        exported = {n for n in exported if not SANITIZER_SYMBOL.match(n)}
    for name in exported - expected:
        report.add("extra", library, 0, f"exports {name}, which is in no "
                   "table: add a row or make it static")
    for name in expected - exported:
        report.add("missing", library, 0,
                   f"does not export {name}, which has a row")
    return len(expected)


def check_needed(report, library, sanitized):
    allowed = NEEDED + ("|" + SANITIZER_NEEDED if sanitized else "")
    dynamic = tool_output(["objdump", "-p", library])
    for name in re.findall(r"^\s*NEEDED\s+(\S+)", dynamic, re.M):
        if not re.fullmatch(allowed, name):
            report.add("needed", library, 0, f"DT_NEEDED {name}: only libc "
                       "is linked, the rest is opened through its door")


def check():
    args = lintlib.parse_arguments(
        __doc__, ("--library", {"required": True}),
        ("--sanitize", {"default": "", "help": "MGDS_SANITIZE of the build"}))
    report = lintlib.Report("exports", args.root)
    if not os.path.exists(args.library):
        print(f"{args.library}: not built: cmake --build it first")
        return 1
    try:
        count = check_symbols(report, args.library, args.root, args.sanitize)
    except mpitables.TableError as error:
        print(error)
        return 1
    check_needed(report, args.library, args.sanitize)
    return report.finish(count, "symbols")


if __name__ == "__main__":
    lintlib.main(check)
