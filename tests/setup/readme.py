"""What README.md and other pages tell a new user to do, so that tests do just
that."""

import re

from setup_case import SOURCE

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page="README.md"):
    """(language, text) of each block of code."""
    return BLOCK.findall((SOURCE / page).read_text(encoding="utf-8"))


def sample():
    """The first block of C."""
    return next(text for language, text in blocks() if language == "c")


def commands(first, page="README.md"):
    """Lines with a prompt from the one that begins with `first` to the end of
    their block."""
    for _, text in blocks(page):
        lines = [line[2:] for line in text.splitlines()
                 if line.startswith("$ ")]
        for number, line in enumerate(lines):
            if line.startswith(first):
                return lines[number:]
    raise AssertionError(f"{page} has no command {first}")
