#!/usr/bin/env python3
"""Covering arrays hold every combination that some allowed case has: counted
by the definition, apart from the generator's own book-keeping."""
import itertools
import unittest

import covering

FACTORS = [list("abcdefgh"), [1, 2, 3], ["x", "y", "z", "w"], [True, False],
           [1, 2, 3]]


def picked(case, places):
    return tuple(case[i] for i in places)


def missing(array, factors, strength, allowed=covering.anything):
    """How many combinations of values no case of the array has."""
    every = [case for case in itertools.product(*factors) if allowed(case)]
    return sum(len({picked(case, places) for case in every}
                   - {picked(case, places) for case in array})
               for places in itertools.combinations(range(len(factors)),
                                                    strength))


def no_true_z(case):
    return case[2:4] != ("z", True)


def some_case_has(combination):
    fixed = dict(combination)
    return (fixed.get(2), fixed.get(3)) != ("z", True)


class Covering(unittest.TestCase):
    def test_every_value_pair_and_triple_is_there(self):
        for strength in (1, 2, 3):
            for seed in (1, 2, 3):
                array = covering.covering(FACTORS, strength, seed)
                self.assertEqual(missing(array, FACTORS, strength), 0)

    def test_what_a_constraint_forbids_is_not(self):
        for strength in (1, 2, 3):
            array = covering.covering(FACTORS, strength, 1, allowed=no_true_z,
                                      possible=some_case_has)
            self.assertTrue(all(map(no_true_z, array)))
            self.assertEqual(missing(array, FACTORS, strength, no_true_z), 0)

    def test_an_array_goes_on_with_another(self):
        first = covering.covering(FACTORS, 1, 1)
        rest = covering.covering(FACTORS, 2, 1, start=first)
        self.assertGreater(missing(rest, FACTORS, 2), 0)
        self.assertEqual(missing(first + rest, FACTORS, 2), 0)

    def test_arrays_are_small(self):
        self.assertEqual(len(covering.covering(FACTORS, 1, 1)), 8)
        self.assertLess(len(covering.covering(FACTORS, 2, 1)), 2 * 8 * 4)
        self.assertLess(len(covering.covering(FACTORS, 3, 1)), 2 * 8 * 4 * 3)

    def test_a_case_less_is_seen(self):
        array = covering.covering(FACTORS, 2, 1)
        self.assertGreater(max(missing(array[:i] + array[i + 1:], FACTORS, 2)
                               for i in range(len(array))), 0)

    def test_the_seed_decides(self):
        self.assertEqual(covering.covering(FACTORS, 2, 7),
                         covering.covering(FACTORS, 2, 7))
        self.assertNotEqual(covering.covering(FACTORS, 2, 7),
                            covering.covering(FACTORS, 2, 8))

    def test_what_costs_too_much_is_seldom(self):
        def cost(case):
            return 100 if case[3] else 0
        array = covering.covering(FACTORS, 2, 1, cost=cost)
        dear = [case for case in array if case[3]]
        self.assertLess(len(dear), len(array) / 2)
        self.assertEqual(missing(array, FACTORS, 2), 0)


if __name__ == "__main__":
    unittest.main()
