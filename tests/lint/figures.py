"""Figures that documents quote from results/ are those of the raw results.

A document says where its figures come from in a comment that nobody sees who
reads it rendered; each line is a query, and the words in the document that hold
the figure:

    <!-- figures of results/2026-11-21-quiet
    ratio latency.json 8 nccl: 8 B in 0.36
    avg latency_long.json 16777216: 53.4 us at 16 MiB
    below goals.json 262144 0.7: windows of 256 KiB
    -->

The query is made anew from the file, and the decimal number of those words must
be what it gives, rounded to as many digits. A decimal number in a line that
names a folder of results/ must have its query.
"""
import json
import os
import re
import statistics

import lintlib

BLOCK = re.compile(r"<!-- figures of (\S+)\n(.*?)-->", re.S)
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?!\d|\.\d)")
FOLDER = re.compile(r"results/\d{4}-")


class QueryError(Exception):
    """A query cannot be answered; the text says why."""


def row_of(document, size):
    """The row of a benchmark's JSON; sizes are there once, but for -V."""
    rows = [row for row in document["rows"] if row["size"] == int(size)]
    if len(rows) != 1:
        raise QueryError(f"{len(rows)} rows of size {size}, must be 1")
    return rows[0]


def average(document, size):
    return row_of(document, size)["avg"]


def ratio(document, size, rival):
    row = row_of(document, size)
    return row["avg"] / row["rivals"][rival]["avg"]


def goal(document, what):
    """Of compare/staged_goals.py: the median over the rounds of what is held
    against a goal, a size's D D / H H or "latency"."""
    if what == "latency":
        return statistics.median(one["latency"]["D"] / one["latency"]["bound"]
                                 for one in document["rounds"])
    return statistics.median(
        one["bandwidth"][what]["D"] / one["bandwidth"][what]["H"]
        for one in document["rounds"])


def below(document, what, bound):
    return goal(document, what) < float(bound)


def above(document, what, bound):
    return not below(document, what, bound)


# Numbers, and two that hold or do not.
QUERIES = {"avg": average, "ratio": ratio, "goal": goal, "below": below,
           "above": above}


def answer(root, folder, query):
    """The number a query gives, or whether it holds."""
    name, _, rest = query.partition(" ")
    words = rest.split()
    if name not in QUERIES or not words:
        raise QueryError(f"'{query}': want one of {', '.join(QUERIES)}, then "
                         "a file and what to take of it")
    try:
        document = json.loads(lintlib.read(root, os.path.join(folder,
                                                              words[0])))
        return QUERIES[name](document, *words[1:])
    except (OSError, ValueError, KeyError, TypeError,
            statistics.StatisticsError) as error:
        raise QueryError(f"'{query}': {type(error).__name__}: "
                         f"{error}") from error


def places_of(words, text, blocks):
    """Where the words stand outside the blocks, however lines are broken."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    return [match for match in re.finditer(pattern, text)
            if not any(block.start() <= match.start() < block.end()
                       for block in blocks)]


def hold(value, match):
    """What is wrong with the words that quote value, or None; and the place of
    their number."""
    numbers = list(NUMBER.finditer(match.group()))
    if isinstance(value, bool):
        return (None if value else "the results say otherwise"), None
    if len(numbers) != 1:
        return (f"'{match.group()}' has {len(numbers)} decimal numbers, "
                "must have 1"), None
    said = numbers[0].group()
    digits = len(said.partition(".")[2])
    wrong = f"says {said}, the results say {value:.{digits}f}"
    right = f"{value:.{digits}f}" == said
    return None if right else wrong, match.start() + numbers[0].start()


class Document:
    def __init__(self, root, path, report):
        self.root = root
        self.path = path
        self.report = report
        self.text = lintlib.read(root, path)
        self.blocks = list(BLOCK.finditer(self.text))
        self.queried = set()  # where numbers begin that have a query

    def add(self, rule, offset, text):
        self.report.add(rule, self.path, lintlib.line_of(self.text, offset),
                        text)

    def check_line(self, folder, line, offset):
        query, colon, words = line.partition(": ")
        if not colon:
            self.add("query", offset, f"'{line}': want 'query: words'")
            return
        places = places_of(words, self.text, self.blocks)
        if len(places) != 1:
            self.add("words", offset, f"'{words}' stands in the text "
                     f"{len(places)} times, must be once")
            return
        try:
            value = answer(self.root, folder, query)
        except QueryError as error:
            self.add("query", offset, str(error))
            return
        wrong, number = hold(value, places[0])
        self.queried.add(number)
        if wrong:
            self.add("figure", places[0].start(),
                     f"'{words}': {wrong} ({query})")

    def check(self):
        for block in self.blocks:
            offset = block.start(2)
            for line in block.group(2).splitlines():
                if line.strip():
                    self.check_line(block.group(1), line.strip(), offset)
                offset += len(line) + 1
        self.check_all_queried()

    def check_all_queried(self):
        offset = 0
        for line in self.text.splitlines(keepends=True):
            for number in NUMBER.finditer(line):
                at = offset + number.start()
                if (FOLDER.search(line) and at not in self.queried
                        and not any(block.start() <= at < block.end()
                                    for block in self.blocks)):
                    self.add("unqueried", at, f"{number.group()} beside a "
                             "folder of results: say its query, or leave it "
                             "to the folder's README")
            offset += len(line)


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("figures", args.root)
    paths = [p for p in lintlib.list_files(args.root)
             if p.endswith(".md") and not p.startswith("results/")]
    for path in paths:
        Document(args.root, path, report).check()
    return report.finish(len(paths), "documents")


if __name__ == "__main__":
    lintlib.main(check)
