"""Rows of a matrix: covering arrays of what its cases may differ in, each array
going on with the one before: every value, every pair of values, every triple.
"""
import covering

STRENGTHS = (1, 2, 3)
SEED = 1


def rows(factors, possible):
    """Cases, each with the strength of the array that it belongs to. Factors
    are values by name; possible says of some of a case's values, by name,
    whether an allowed case has them."""
    names = list(factors)

    def combination_possible(combination):
        return possible({names[place]: value for place, value in combination})

    def allowed(case):
        return combination_possible(enumerate(case))

    found = []
    for strength in STRENGTHS:
        more = covering.covering(
            [list(values) for values in factors.values()], strength, SEED,
            allowed=allowed, possible=combination_possible,
            start=[case for _, case in found])
        found += [(strength, case) for case in more]
    return found


def print_rows(factors, possible):
    """Prints them for C: a line is a struct row, its first member the strength,
    the others the values in the order of factors."""
    for strength, case in rows(factors, possible):
        print("{" + ", ".join([str(strength), *case]) + "},")
