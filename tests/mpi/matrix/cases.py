"""Which cases of the matrix are run: covering arrays, and the full product.

A case is a tuple of one value of each factor. Of a strength-t array every
combination of values of any t factors that some allowed case has is in at
least one case. Everything follows from the seed.
"""
import itertools
import random

FACTORS = ("call", "first", "second", "datatype", "bytes", "ranks")
LARGEST = 64 << 20
SIZES = (0, 1, 8, 64, 1024, 8192, 65536, 1 << 20, LARGEST)
RANKS = (1, 2, 4)
CANDIDATES = 12

# MPICH 4.0.2 below us is wrong about these with host memory too.
# Persistent collectives: the second start moves the wrong bytes or aborts.
PERSISTENT_COLLECTIVES = ("bcast", "gather", "scatter", "allgather",
                          "alltoall", "gatherv", "scatterv", "allgatherv",
                          "alltoallv", "alltoallw", "reduce", "allreduce",
                          "reduce_scatter", "reduce_scatter_block", "scan",
                          "exscan")
# MPI_Reduce in place, from 4096 bytes on: crashes on types with gaps.
IN_PLACE_LEAST = 4096
IN_PLACE_TYPES = ("contiguous", "pair")
# Pairs, long messages: MPICH itself sends them by another size than it packs
# them to, so that buffered sends and most collectives fail.
PAIR_MOST = 8192

SPECIAL_CALLS = ("reduce_in_place",)


def factors_of(listing, most=LARGEST):
    """Values of each factor, from what `matrix --list` prints."""
    values = {"call": [], "kind": [], "type": []}
    for line in listing.splitlines():
        word, value = line.split()
        values[word].append(value)
    left_out = {name + "_init" for name in PERSISTENT_COLLECTIVES}
    calls = [call for call in values["call"] if call not in left_out]
    sizes = [size for size in SIZES if size <= most]
    return [calls, values["kind"], values["kind"], values["type"], sizes,
            list(RANKS)]


def allowed(case):
    call, _, _, datatype, size, ranks = case
    if size == LARGEST and datatype != "contiguous":
        return False
    if datatype == "pair" and (size == 1 or size > PAIR_MOST):
        return False
    return not (call == "reduce_in_place" and ranks > 1
                and size >= IN_PLACE_LEAST
                and datatype not in IN_PLACE_TYPES)


def name_of(case):
    return "/".join(str(value) for value in case)


def combinations_of(case, strength):
    return itertools.combinations(enumerate(case), strength)


class Possible:
    """Says whether some allowed case holds a combination."""

    def __init__(self, factors):
        self.factors = factors
        self.known = {}

    def __call__(self, combination):
        fixed = dict(combination)
        call = fixed.get(0)
        # no constraint knows kinds, and few know the call
        key = (call if call in SPECIAL_CALLS else "",
               fixed.get(3), fixed.get(4), fixed.get(5))
        if key not in self.known:
            self.known[key] = any(
                allowed((key[0], None, None, *rest))
                for rest in itertools.product(
                    *([fixed[i]] if i in fixed else self.factors[i]
                      for i in (3, 4, 5))))
        return self.known[key]


def needed(factors, strength):
    """Every combination to be covered, a set."""
    possible = Possible(factors)
    found = set()
    for places in itertools.combinations(range(len(factors)), strength):
        for values in itertools.product(*(factors[i] for i in places)):
            combination = tuple(zip(places, values))
            if possible(combination):
                found.add(combination)
    return found


def completed(source, factors, combination):
    """A random allowed case that holds the combination."""
    fixed = dict(combination)
    while True:
        case = tuple(fixed[i] if i in fixed else source.choice(values)
                     for i, values in enumerate(factors))
        if allowed(case):
            return case


def worth(case, open_, strength):
    """Combinations it would cover; large messages among many cost most."""
    gain = sum(c in open_ for c in combinations_of(case, strength))
    return gain - (case[5] - 1 if case[4] == LARGEST else 0)


def covering(factors, strength, seed):
    """A strength-`strength` array, greedily, in seeded order."""
    source = random.Random(seed)
    open_ = needed(factors, strength)
    order = sorted(open_, key=repr)
    source.shuffle(order)
    cases = []
    for combination in order:
        if combination not in open_:
            continue
        case = max((completed(source, factors, combination)
                    for _ in range(CANDIDATES)),
                   key=lambda c: worth(c, open_, strength))
        open_.difference_update(combinations_of(case, strength))
        cases.append(case)
    source.shuffle(cases)
    return cases


def product(factors, seed):
    cases = [case for case in itertools.product(*factors) if allowed(case)]
    random.Random(seed).shuffle(cases)
    return cases


def choose(level, factors, seed):
    """Cases of "pairs", "triples" or "product"."""
    if level == "product":
        return product(factors, seed)
    return covering(factors, {"pairs": 2, "triples": 3}[level], seed)
