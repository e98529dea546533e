"""No struct of the library has more than 24 fields or 6 booleans.

A struct that stands by value in another one, defined in the same file, counts
with its owner; a union counts as its largest member. An enum of two values is a
boolean. A word of flags counts for each of them: its comment begins with "of"
and the name of their enum, whose values are all powers of two.
"""
import re

import csource
import lintlib

FIELDS = 24
BOOLEANS = 6
HEAD = re.compile(r"\bstruct\s+(\w+)\s*\{")
INNER = re.compile(r"(struct|union)\b[^{;]*\{")
BY_VALUE = re.compile(r"struct (\w+) \w+$")
BOOLEAN = re.compile(r"(?:const )?(?:bool|atomic_bool)\b")
ENUM = re.compile(r"\benum\s+(\w+)\s*\{([^{}]*)\}")
VALUE = re.compile(r"\w+\s*=\s*(?:1u?\s*<<\s*\w+|[1248]|16|32|64|128)u?$")
OF_ENUM = re.compile(r"(?:const )?enum (\w+) \w+$")
WORD = re.compile(r"\b(?:unsigned|u?int\w*_t) (\w+);\s*/\* of (\w+)")
LINK = re.compile(r"(LIST|STAILQ|TAILQ|SLIST)_(ENTRY|HEAD)\([^()]*\)")
FOREIGN = "shim/gds/cuda/driver_abi.h"  # CUDA's own


def closing(code, opening):
    """Where the brace ends that opens there."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "{") - (code[at] == "}")
        if depth == 0:
            return at
    return len(code)


def members(body):
    """The declarations of a body, each on one line."""
    depth, last = 0, 0
    for at, letter in enumerate(body):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == ";" and depth == 0:
            yield " ".join(body[last:at].split())
            last = at + 1


def declared(member):
    """How many names a declaration has."""
    depth, count = 0, 1
    for letter in LINK.sub("", member):
        depth += (letter in "({[") - (letter in ")}]")
        count += letter == "," and depth == 0
    return count


def enums(masked):
    """name -> how many booleans a word of it is worth, where that is not 0."""
    found = {}
    for name, body in ENUM.findall(masked.code):
        values = [value.strip() for value in body.split(",") if value.strip()]
        if len(values) > 1 and all(map(VALUE.match, values)):
            found[name] = len(values)
        elif len(values) == 2:
            found[name] = 1
    return found


def flags(masked, known_enums):
    """name -> booleans, of words of flags."""
    return {name: known_enums[enum] for name, enum in WORD.findall(masked.text)
            if known_enums.get(enum, 0) > 1}


def size_of_inner(kind, body, known):
    if kind == "struct":
        return size_of(body, known)
    sizes = [size_of_member(m, known) for m in members(body) if m]
    return tuple(max(column) for column in zip(*sizes)) if sizes else (0, 0)


def size_of_member(member, known):
    inner = INNER.match(member)
    if inner:
        opening = inner.end() - 1
        body = member[inner.end():closing(member, opening)]
        return size_of_inner(inner.group(1), body, known)
    by_value = BY_VALUE.match(member)
    if by_value and by_value.group(1) in known:
        return known[by_value.group(1)]
    count = declared(member)
    if BOOLEAN.match(member):
        return count, count
    of_enum = OF_ENUM.match(member)
    if of_enum and known["enums"].get(of_enum.group(1)) == 1:
        return count, count
    return count, known["flags"].get(member.split(" ")[-1], 0)


def size_of(body, known):
    """(fields, booleans) of what stands between braces."""
    sizes = [size_of_member(m, known) for m in members(body) if m]
    return tuple(sum(column) for column in zip(*sizes)) if sizes else (0, 0)


def records(masked, known_enums):
    """name -> (line, (fields, booleans)) of the structs of a file."""
    code, found = masked.code, {}
    known = {"enums": known_enums, "flags": flags(masked, known_enums)}
    for head in HEAD.finditer(code):
        body = code[head.end():closing(code, head.end() - 1)]
        known[head.group(1)] = size_of(body, known)
        line = code.count("\n", 0, head.start()) + 1
        found[head.group(1)] = (line, known[head.group(1)])
    return found


def text_of(size):
    return f"{size[0]} fields, {size[1]} of them booleans"


def check_record(report, path, name, line, size):
    if size[0] > FIELDS or size[1] > BOOLEANS:
        report.add("size", path, line, f"struct {name} has {text_of(size)}; "
                   f"at most {FIELDS} and {BOOLEANS}")


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("records", args.root)
    checked, known_enums = 0, {}
    files = {path: csource.mask(lintlib.read(args.root, path))
             for path in lintlib.c_files(args.root)
             if path.startswith("shim/") and path != FOREIGN}
    for masked in files.values():
        known_enums.update(enums(masked))
    for path, masked in files.items():
        found = records(masked, known_enums)
        checked += len(found)
        for name, (line, size) in found.items():
            check_record(report, path, name, line, size)
    return report.finish(checked, "structs")


if __name__ == "__main__":
    lintlib.main(check)
