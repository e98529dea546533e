"""Covering arrays: few cases that hold every combination of values.

A case is a tuple of one value of each factor. Of a strength-t array every
combination of values of any t factors that some allowed case has is in at
least one case. Everything follows from the seed.
"""
import itertools
import random

CANDIDATES = 12


def combinations_of(case, strength):
    """What the case covers: tuples of (place of a factor, value)."""
    return itertools.combinations(enumerate(case), strength)


def anything(_):
    return True


def free(_):
    return 0


def needed(factors, strength, possible=anything):
    """Every combination to be covered, a set; possible says of one whether
    some allowed case has it."""
    found = set()
    for places in itertools.combinations(range(len(factors)), strength):
        for values in itertools.product(*(factors[i] for i in places)):
            combination = tuple(zip(places, values))
            if possible(combination):
                found.add(combination)
    return found


def completed(source, factors, combination, allowed):
    """A random allowed case that holds the combination."""
    fixed = dict(combination)
    while True:
        case = tuple(fixed[i] if i in fixed else source.choice(values)
                     for i, values in enumerate(factors))
        if allowed(case):
            return case


def worth(case, uncovered, strength, cost):
    """Combinations that it would cover, less what it costs."""
    return sum(c in uncovered
               for c in combinations_of(case, strength)) - cost(case)


def covering(factors, strength, seed, *, allowed=anything, possible=anything,
             cost=free, candidates=CANDIDATES, start=()):
    """A strength-`strength` array, greedily, in seeded order: cases that are
    to be added to those of start. Cost is in combinations."""
    source = random.Random(seed)
    uncovered = needed(factors, strength, possible)
    for case in start:
        uncovered.difference_update(combinations_of(case, strength))
    order = sorted(uncovered, key=repr)
    source.shuffle(order)
    cases = []
    for combination in order:
        if combination not in uncovered:
            continue
        case = max((completed(source, factors, combination, allowed)
                    for _ in range(candidates)),
                   key=lambda c: worth(c, uncovered, strength, cost))
        uncovered.difference_update(combinations_of(case, strength))
        cases.append(case)
    source.shuffle(cases)
    return cases
