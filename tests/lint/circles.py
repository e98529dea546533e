"""No file of the engine calls, by way of others, a file that calls it.

The symbols of the objects of shim/gds tell who calls whom. Calls through
pointers are not seen: docs/design.md lists the tables of those.
"""
import collections
import glob
import os
import re
import subprocess

import lintlib

OBJECT = re.compile(r".*\.dir/(gds/.*)\.c\.o$")
DEFINED = set("TDBRGSVWC")


def symbols(objects):
    """Of each file: the symbols it defines, and those it needs."""
    defined, needed = {}, collections.defaultdict(set)
    for path in objects:
        name = OBJECT.match(path).group(1)
        out = subprocess.run(["nm", path], check=True, capture_output=True,
                             text=True).stdout
        for line in out.splitlines():
            kind, symbol = line.split()[-2:]
            if kind in DEFINED:
                defined[symbol] = name
            elif kind == "U":
                needed[name].add(symbol)
    return defined, needed


def calls(objects):
    """{file: {callee: symbols}}, without calls inside a file."""
    defined, needed = symbols(objects)
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for name, wanted in needed.items():
        for symbol in wanted:
            callee = defined.get(symbol, name)
            if callee != name:
                graph[name][callee].add(symbol)
    return graph


def reached(graph, start):
    found, todo = set(), [start]
    while todo:
        new = set(graph.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


def circles(graph):
    """Sets of two files or more that all reach each other."""
    reach = {name: reached(graph, name) for name in graph}
    found = {frozenset(other for other in reach[name]
                       if name in reach.get(other, ()))
             for name in graph if name in reach[name]}
    return sorted(found, key=sorted)


def explain(circle, graph):
    """The calls in the circle, by pairs of files."""
    return "; ".join(f"{name} calls {', '.join(sorted(symbols))} of {callee}"
                     for name in sorted(circle)
                     for callee, symbols in sorted(graph[name].items())
                     if callee in circle)


def check():
    args = lintlib.parse_arguments(__doc__, ("--build", {"required": True}))
    report = lintlib.Report("circles", args.root)
    objects = [path for path in
               glob.glob(os.path.join(args.build, "shim/**/*.c.o"),
                         recursive=True) if OBJECT.match(path)]
    if not objects:
        print(f"{args.build}: no objects of shim/gds: cmake --build it first")
        return 1
    graph = calls(objects)
    for circle in circles(graph):
        report.add("circle", "shim/" + min(circle) + ".c", 0,
                   f"{len(circle)} files call each other: "
                   + explain(circle, graph))
    return report.finish(len(objects), "files")


if __name__ == "__main__":
    lintlib.main(check)
