"""The interception tables and MPI's prototypes as Python values.

shim/pmpi/mpi_table.def    MGDS_CALL(Send, 6, ...)    MPI_Send, PMPI_Send
                           MGDS_CALL_C(Send, 6, ...)  and their _c twins
shim/pmpi/mpix_table.def   MGDS_MPIX(Gds_query, 2)    MPIX_ and PMPIX_Gds_query
"""
import re

import csource
import lintlib

MPI_TABLE = "shim/pmpi/mpi_table.def"
MPIX_TABLE = "shim/pmpi/mpix_table.def"
ROW = re.compile(r"^[ \t]*(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.M)
# A prototype begins in column 0; attributes follow the argument list.
PROTOTYPE = re.compile(r"^(?:int|double|MPI_\w+) (MPIX?_\w+)\(([^)]*"
                       r"(?:\([^)]*\)[^)]*)*?)\)\s*(?:MPICH_|;)", re.M)
KINDS = {MPI_TABLE: {"MGDS_CALL": ("MPI_", False),
                     "MGDS_CALL_C": ("MPI_", True)},
         MPIX_TABLE: {"MGDS_MPIX": ("MPIX_", False)}}


class TableError(Exception):
    """A table cannot be read; the text says which row."""


class Row:
    """One intercepted function: MPI_X or MPIX_X, and MPI_X_c if large."""

    def __init__(self, prefix, name, arity, large, where):
        self.name = prefix + name
        self.arity = arity
        self.large = large
        self.path, self.line = where

    def names(self):
        return [self.name] + ([self.name + "_c"] if self.large else [])


def read_table(root, path):
    """Rows of one table, in order."""
    try:
        text = lintlib.read(root, path)
    except OSError:
        raise TableError(f"{path}: not found, cannot check against it")
    code = csource.mask(text).code
    # Definitions of the row macros themselves are not rows.
    lines = code.split("\n")
    for first, last, _ in csource.directive_lines(lines):
        lines[first:last + 1] = [""] * (last + 1 - first)
    code = "\n".join(lines)
    return [parse_row(path, lintlib.line_of(code, m.start(1)), *m.groups())
            for m in ROW.finditer(code)]


def parse_row(path, line, kind, inside):
    cells = [c.strip() for c in inside.split(",")]
    known = KINDS[path]
    if kind not in known:
        raise TableError(f"{path}:{line}: row kind {kind} is not one of "
                         f"{', '.join(known)}")
    if len(cells) < 2 or not re.fullmatch(r"\w+", cells[0]) \
            or not cells[1].isdigit():
        raise TableError(f"{path}:{line}: want {kind}(Name, parameters, ...)")
    prefix, large = known[kind]
    return Row(prefix, cells[0], int(cells[1]), large, (path, line))


def read_tables(root):
    return read_table(root, MPI_TABLE) + read_table(root, MPIX_TABLE)


def read_prototypes(path):
    """Name -> number of parameters of each MPI_ function of mpi_proto.h."""
    with open(path, encoding="utf-8") as file:
        text = csource.mask(file.read()).code
    return {name: count(inside) for name, inside in PROTOTYPE.findall(text)}


def count(inside):
    inside = inside.strip()
    if inside in ("", "void"):
        return 0
    while "(" in inside:
        inside = re.sub(r"\([^()]*\)", "", inside)
    return inside.count(",") + 1
