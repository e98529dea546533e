"""docs/tracing.md names every event, probe and counter.

test_tracing_doc.py SOURCE_FOLDER COMPILER
"""
import re
import subprocess
import sys


def rows(compiler, source, table, fields):
    """What the preprocessor makes of a table: tuples of its first fields."""
    names = ",".join(f"f{i}" for i in range(fields))
    out = subprocess.run(
        [compiler, "-E", "-P", "-x", "c", f"-DX({names},...)=@{names}@",
         f"{source}/{table}"],
        check=True, capture_output=True, text=True).stdout
    found = [tuple(part.strip(' "') for part in row.split(","))
             for row in re.findall("@([^@]*)@", out)]
    if not found:
        sys.exit(f"{table}: no rows seen")
    return found


def spelled(counter):
    """As the document has it: those by transport and size in one."""
    counter = re.sub(r"^(send|recv)_(self|p2p|host|ib_cpu)_\w+$",
                     r"\1_TRANSPORT_SIZE", counter)
    return re.sub(r"^(buffer_\w+)_(1k|64k|1m|large)$", r"\1_SIZE", counter)


def main():
    source, compiler = sys.argv[1:]
    with open(f"{source}/docs/tracing.md", encoding="utf-8") as file:
        named = set(re.findall(r"`([^`\n]+)`", file.read()))
    wanted = {spelled(name) for (name,) in
              rows(compiler, source, "shim/base/stats.def", 1)}
    for probe, event in rows(compiler, source, "shim/base/trace.def", 2):
        wanted |= {probe, event or probe}
    missing = sorted(wanted - named)
    if missing:
        sys.exit("docs/tracing.md does not name " + ", ".join(missing))


if __name__ == "__main__":
    main()
