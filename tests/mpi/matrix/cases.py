"""Which cases of the matrix are run: covering arrays (tests/lib/covering.py)
of what is allowed and affordable, and the full product.
"""
import itertools
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "lib"))
import covering as arrays  # noqa: E402 (the path comes first)

FACTORS = ("call", "first", "second", "datatype", "bytes", "ranks")
LARGEST = 64 << 20
SIZES = (0, 1, 8, 64, 1024, 8192, 65536, 1 << 20, LARGEST)
RANKS = (1, 2, 4)

# MPICH 4.0.2 below us is wrong about these with host memory too.
# Persistent collectives: the second start moves the wrong bytes or aborts.
PERSISTENT_COLLECTIVES = ("bcast", "gather", "scatter", "allgather",
                          "alltoall", "gatherv", "scatterv", "allgatherv",
                          "alltoallv", "alltoallw", "reduce", "allreduce",
                          "reduce_scatter", "reduce_scatter_block", "scan",
                          "exscan")
# MPI_Reduce in place of more than one rank, from 4096 bytes on: crashes.
IN_PLACE_LEAST = 4096
# MPI_Reduce_scatter in place, long and of predefined types: MPICH copies the
# block of a rank to the front with memcpy, though the two may overlap, and
# aborts.
IN_PLACE_SCATTER = ("reduce_scatter_in_place", "Ireduce_scatter_in_place")
IN_PLACE_SCATTER_LEAST = 524288
# Pairs, long messages: MPICH itself sends them by another size than it packs
# them to, so that buffered sends and most collectives fail.
PAIR_MOST = 8192

# 64 MiB take a hundred times what all else of a case does, so covering arrays
# have them of one call of each way through the library only.
LARGEST_CALLS = ("Send", "Isend", "Send_init", "Waitall", "bcast",
                 "Iallgather", "alltoallw", "Iallreduce")

SPECIAL_CALLS = ("reduce_in_place",) + IN_PLACE_SCATTER + LARGEST_CALLS


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
    if ranks > 1 and call == "reduce_in_place":
        return size < IN_PLACE_LEAST
    if ranks > 1 and call in IN_PLACE_SCATTER and datatype == "contiguous":
        return size < IN_PLACE_SCATTER_LEAST
    return True


def affordable(case):
    """Allowed, and quick enough for a covering array."""
    return allowed(case) and (case[4] != LARGEST or case[0] in LARGEST_CALLS)


def left_out(listing, level, most=LARGEST):
    """What a level never runs, a line with the reason each."""
    calls = [line.split()[1] for line in listing.splitlines()
             if line.startswith("call ")]
    factors = factors_of(listing, most)
    broken = [call for call in calls if call not in factors[0]]
    yield f"{' '.join(broken)}: MPICH below starts them wrong a second time"
    yield (f"reduce_in_place of {IN_PLACE_LEAST} bytes and more on several "
           "ranks: MPICH below crashes")
    yield (f"{' '.join(IN_PLACE_SCATTER)} of {IN_PLACE_SCATTER_LEAST} bytes "
           "and more, contiguous, on several ranks: MPICH below aborts")
    yield (f"pair of 1 byte: holds none; of more than {PAIR_MOST} bytes: "
           "MPICH below sends another size than it packs")
    if most < LARGEST:
        yield f"messages of more than {most} bytes: this build is slow"
        return
    yield f"{LARGEST} bytes of any datatype but contiguous: time and memory"
    if level != "product":
        others = [call for call in factors[0] if call not in LARGEST_CALLS]
        yield (f"{LARGEST} bytes of {' '.join(others)}: time; level product "
               "has them")


def name_of(case):
    return "/".join(str(value) for value in case)


class Possible:
    """Says whether some affordable case holds a combination."""

    def __init__(self, factors):
        self.factors = factors
        self.known = {}

    def __call__(self, combination):
        fixed = dict(combination)
        call = fixed.get(0)
        # no constraint knows kinds, and few know the call
        key = ("" if call and call not in SPECIAL_CALLS else call,
               fixed.get(3), fixed.get(4), fixed.get(5))
        if key not in self.known:
            self.known[key] = any(
                affordable((one, None, None, *rest))
                for one, *rest in itertools.product(
                    *([fixed[i]] if i in fixed else self.factors[i]
                      for i in (0, 3, 4, 5))))
        return self.known[key]


def needed(factors, strength):
    """Every combination to be covered, a set."""
    return arrays.needed(factors, strength, Possible(factors))


def cost(case):
    """Large messages among many ranks cost most."""
    return case[5] - 1 if case[4] == LARGEST else 0


def covering(factors, strength, seed):
    """A strength-`strength` array of affordable cases."""
    return arrays.covering(factors, strength, seed, allowed=affordable,
                           possible=Possible(factors), cost=cost)


def product(factors, seed):
    cases = [case for case in itertools.product(*factors) if allowed(case)]
    random.Random(seed).shuffle(cases)
    return cases


def choose(level, factors, seed):
    """Cases of "pairs", "triples" or "product"."""
    if level == "product":
        return product(factors, seed)
    return covering(factors, {"pairs": 2, "triples": 3}[level], seed)
