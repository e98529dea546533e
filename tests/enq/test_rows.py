#!/usr/bin/env python3
"""The rows that rows.py prints hold every value, pair and triple of values, as
read from the printed lines; names are told apart.
usage: test_rows.py GROUP..
"""
import itertools
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import rows  # noqa: E402 (the path comes first)

GROUPS = sys.argv[1:] or ["order", "match"]


class Row:
    """A printed line, and of each factor what the run will have."""

    def __init__(self, line):
        (self.strength, self.group, self.name, self.ranks, options,
         variables) = line.split("|")
        self.words = options.split() + variables.split()
        self.values = [self.group, self.ranks]
        self.values += [self.value(ways.values()) for ways
                        in rows.WAYS.values()]

    def value(self, ways):
        """The way whose words are all here: of several that are, the one with
        most words, since "" always is."""
        here = [way for way in ways if set(way.split()) <= set(self.words)]
        return max(here, key=lambda way: len(way.split()))


def printed():
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "rows.py"),
                           *GROUPS], check=True, text=True,
                          stdout=subprocess.PIPE)
    return [Row(line) for line in done.stdout.splitlines()]


def values():
    return [GROUPS, [str(ranks) for ranks in rows.RANKS],
            *(list(ways.values()) for ways in rows.WAYS.values())]


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = printed()

    def missing(self, strength):
        """Combinations that rows up to this strength do not have."""
        array = [row.values for row in self.rows
                 if int(row.strength) <= strength]
        for places in itertools.combinations(range(len(values())), strength):
            every = set(itertools.product(*(values()[i] for i in places)))
            yield from every - {tuple(row[i] for i in places)
                                for row in array}

    def test_every_value_pair_and_triple_is_printed(self):
        for strength in (1, 2, 3):
            self.assertEqual(list(self.missing(strength)), [])

    def test_every_row_is_needed_for_its_strength(self):
        for strength in (1, 2, 3):
            self.assertTrue(any(int(row.strength) == strength
                                for row in self.rows))

    def test_each_group_is_once_where_values_are(self):
        ones = [row.group for row in self.rows if row.strength == "1"]
        self.assertEqual(sorted(set(ones)), sorted(GROUPS))

    def test_names_and_seeds_are_told_apart(self):
        names = [(row.group, row.name) for row in self.rows]
        seeds = [word for row in self.rows for word in row.words
                 if word.startswith("MPIX_SIM_SEED=")]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(set(seeds)), len(self.rows))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
