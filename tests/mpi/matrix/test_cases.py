"""The arrays of cases.py cover what they promise, and only allowed cases."""
import itertools
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402 (the path comes first)

LISTING = ("".join(f"call c{i}\n" for i in range(9))
           + "call reduce_in_place\ncall bcast_init\n"
           + "call reduce_scatter_in_place\n"
           + "call Isend\ncall bcast\n"
           + "".join(f"kind k{i}\n" for i in range(4))
           + "type contiguous\ntype vector\ntype pair\n")
PROGRAM = os.environ.get("MGDS_MATRIX")


def uncovered(array, factors, strength):
    """By the definition, apart from the generator's own book-keeping."""
    every = [case for case in itertools.product(*factors)
             if cases.affordable(case)]
    missing = 0
    for places in itertools.combinations(range(len(factors)), strength):
        def project(case, places=places):
            return tuple(case[i] for i in places)
        missing += len({project(c) for c in every}
                       - {project(c) for c in array})
    return missing


class Covering(unittest.TestCase):
    def setUp(self):
        self.factors = cases.factors_of(LISTING)

    def test_every_combination_of_allowed_cases_is_there(self):
        for strength in (2, 3):
            for seed in (1, 2):
                array = cases.covering(self.factors, strength, seed)
                self.assertEqual(uncovered(array, self.factors, strength), 0)
                self.assertTrue(all(map(cases.affordable, array)))

    def test_a_case_less_is_seen(self):
        array = cases.covering(self.factors, 2, 1)
        worst = max(uncovered(array[:i] + array[i + 1:], self.factors, 2)
                    for i in range(len(array)))
        self.assertGreater(worst, 0)

    def test_the_seed_decides(self):
        self.assertEqual(cases.covering(self.factors, 2, 7),
                         cases.covering(self.factors, 2, 7))
        self.assertNotEqual(cases.covering(self.factors, 2, 7),
                            cases.covering(self.factors, 2, 8))

    def test_arrays_are_small(self):
        pairs = len(cases.covering(self.factors, 2, 1))
        least = len(self.factors[0]) * len(self.factors[4])
        self.assertLess(pairs, 2 * least)

    def test_the_product_is_every_allowed_case(self):
        array = cases.product(self.factors, 1)
        self.assertEqual(len(array), len(set(array)))
        self.assertEqual(set(array), {
            case for case in itertools.product(*self.factors)
            if cases.allowed(case)})

    def test_what_the_mpi_below_cannot_do_is_left_out(self):
        self.assertNotIn("bcast_init", self.factors[0])
        for case in cases.product(self.factors, 1):
            if case[4] == cases.LARGEST:
                self.assertEqual(case[3], "contiguous")

    def test_long_messages_of_few_calls_but_every_kind(self):
        array = [case for case in cases.covering(self.factors, 2, 1)
                 if case[4] == cases.LARGEST]
        self.assertEqual({case[0] for case in array}, {"Isend", "bcast"})
        for place in (1, 2, 5):
            self.assertEqual({case[place] for case in array},
                             set(self.factors[place]))

    def test_what_is_left_out_is_said(self):
        for level, most, said in (("pairs", cases.LARGEST, "of c0 c1"),
                                  ("product", cases.LARGEST, "contiguous"),
                                  ("pairs", 65536, "more than 65536")):
            lines = "\n".join(cases.left_out(LISTING, level, most))
            self.assertIn(said, lines)
            self.assertIn("bcast_init", lines)
        self.assertNotIn("of c0", "\n".join(
            cases.left_out(LISTING, "product")))

    @unittest.skipUnless(PROGRAM, "MGDS_MATRIX names no program")
    def test_pairs_of_the_real_factors_are_covered(self):
        listing = subprocess.run([PROGRAM, "--list"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        factors = cases.factors_of(listing)
        self.assertEqual(len(factors[1]), 7)
        self.assertEqual(len(factors[3]), 8)
        array = cases.covering(factors, 2, 1)
        self.assertTrue(all(map(cases.affordable, array)))
        largest = [case for case in array if case[4] == cases.LARGEST]
        self.assertEqual({case[0] for case in largest},
                         set(cases.LARGEST_CALLS))
        self.assertLess(len(largest), 20)
        self.assertFalse(cases.needed(factors, 2) - {
            pair for case in array
            for pair in cases.arrays.combinations_of(case, 2)})


if __name__ == "__main__":
    unittest.main()
