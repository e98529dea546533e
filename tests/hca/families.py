#!/usr/bin/env python3
"""How many tests of each family of programs ran on the software HCA, passed and
were skipped, by what ctest has written of a run.

families.py [JUNIT]    (logs/junit.xml of a build folder, of ./check)

A row of ctest is one test; one of rdma-core's own tests has as many as it says.
Exit status 1: of a family nothing has passed, or a test has failed."""
import re
import sys
import xml.etree.ElementTree as ElementTree

# In this order: a test belongs to the first family whose pattern it matches.
FAMILIES = {
    "rdma-core's tests (pyverbs)": r"hca/pyverbs_",
    "ibv_*_pingpong": r"hca/pingpong",
    "ibv_devinfo": r"hca/devinfo$",
    "perftest": r"hca/perftest_",
    "UCX": r"hca/ucx_",
    "MPICH over UCX": r"hca/mpich_",
    "a kernel's provider (rxe)": r"hca/rxe$",
    "own programs of verbs": r"hca/|fuzz/hca_commands|bench/hca_verbs",
    "engine": r"unit/hca_|fuzz/hca_long$|model/hca_long$|bench/hca$",
}
INNER = re.compile(r"^all: (\d+) ran, (\d+) passed, (\d+) skipped$", re.M)
INNER_OF = "hca/pyverbs_"  # which passes only if it says so
LONG = {"a kernel's provider (rxe)"}  # in ./check --long alone


def family_of(name):
    for family, pattern in FAMILIES.items():
        if re.match(pattern, name):
            return family
    return None


def count(case):
    """Ran, passed, skipped."""
    inner = INNER.search(case.findtext("system-out") or "")
    if inner:
        return [int(number) for number in inner.groups()]
    if case.get("status") == "run":
        told = not case.get("name").startswith(INNER_OF)
        return [1, 1 if told else 0, 0]
    skip = case.find("skipped")
    skipped = (skip is not None
               and skip.get("message", "").startswith("SKIP_"))
    return [1, 0, 1] if skipped else [1, 0, 0]


def count_all(path):
    totals = {family: [0, 0, 0] for family in FAMILIES}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        family = family_of(case.get("name"))
        if family:
            totals[family] = [a + b for a, b in
                              zip(totals[family], count(case))]
    return totals


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "build/logs/junit.xml"
    try:
        totals = count_all(path)
    except (OSError, ElementTree.ParseError) as error:
        print(f"families: {path}: {error}: run ./check, or name the "
              "logs/junit.xml of a build folder")
        return 1
    good = True
    print(f"{'family':32}{'ran':>6}{'passed':>8}{'skipped':>9}{'failed':>8}")
    for family, (ran, passed, skipped) in totals.items():
        failed = ran - passed - skipped
        good &= failed == 0 and (passed > 0 or family in LONG and ran == 0)
        print(f"{family:32}{ran:6}{passed:8}{skipped:9}{failed:8}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
