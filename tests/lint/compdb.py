"""What lints need of compile_commands.json: which flags a file is built with.
"""
import json
import os
import shlex

KEPT_ALONE = ("-I", "-D", "-U")
KEPT_PAIRS = ("-isystem", "-include")


def load(path):
    """(file, flags) of each entry; flags are include paths and macros."""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)
    return [(os.path.realpath(os.path.join(e["directory"], e["file"])),
             flags_of(e)) for e in entries]


def flags_of(entry):
    words = entry.get("arguments") or shlex.split(entry["command"])
    kept = []
    for index, word in enumerate(words):
        if word in KEPT_PAIRS:
            kept += [word, absolute(entry, words[index + 1])]
        elif word.startswith("-I") and len(word) > 2:
            kept.append("-I" + absolute(entry, word[2:]))
        elif word.startswith(KEPT_ALONE):
            kept.append(word)
    return kept


def absolute(entry, path):
    return os.path.normpath(os.path.join(entry["directory"], path))


def flags_near(entries, path):
    """Flags of the sources nearest to a header: same folder, else above."""
    folder = os.path.dirname(path)
    while True:
        near = [flags for file, flags in entries
                if file.startswith(folder + os.sep)]
        if near or folder == os.path.dirname(folder):
            return merge(near)
        folder = os.path.dirname(folder)


def merge(lists):
    """All flags once, in order; a pair stays together."""
    merged = []
    for flags in lists:
        words = iter(flags)
        for word in words:
            unit = [word, next(words)] if word in KEPT_PAIRS else [word]
            if unit not in merged:
                merged.append(unit)
    return [word for unit in merged for word in unit]
