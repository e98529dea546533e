#!/usr/bin/env python3
"""rdma-core's own tests (python3-pyverbs) on the software HCA, by families.

pyverbs.py LAUNCHER.. [-- FAMILY..]

Runs each family (all without one), and says how many tests ran, passed and
were skipped, and which those are and why. A family has to pass as many as
FAMILIES says: what is skipped is not passed."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SECONDS = 200
PYTHON = "/usr/bin/python3"  # whose packages Debian's are
TESTS = "/usr/share/doc/rdma-core/tests"

# Of each family, how many must pass. What it skips, it skips for what is not
# modelled (XRC, device memory, streams of DCIs, raw packets, ..) or for what
# the machine has not (/dev/dri).
FAMILIES = {
    "addr": 2, "atomic": 7, "cq": 3, "cq_events": 2, "cqex": 4, "device": 12,
    "fork": 1,
    "mlx5_cq": 5, "mlx5_dc": 2, "mlx5_timestamp": 2, "mlx5_query_port": 1,
    "mlx5_huge_page": 1, "mlx5_raw_wqe": 1, "mlx5_uar": 1, "mr": 12,
    "parent_domain": 5, "pd": 4, "qp": 16, "qpex": 16, "relaxed_ordering": 2,
    "shared_pd": 1,
}


def unpack(folder):
    """The tests as a package; Debian packs the larger files."""
    target = os.path.join(folder, "tests")
    shutil.copytree(TESTS, target)
    for name in os.listdir(target):
        path = os.path.join(target, name)
        if name.endswith(".gz"):
            with gzip.open(path) as packed, open(path[:-3], "wb") as plain:
                shutil.copyfileobj(packed, plain)
    return target


def names_in(folder, launcher, family):
    done = run(folder, launcher, ["--list-tests"])
    return re.findall(rf"^(tests\.test_{family}\.\S+)$", done.stdout,
                      re.MULTILINE)


# The tests draw flags of objects; those that libmlx5 has not are skipped. The
# same are drawn each time.
START = ("import random, runpy; random.seed(7); "
         "runpy.run_path('tests/run_tests.py', run_name='__main__')")


def run(folder, launcher, arguments):
    target = os.path.join(folder, "tests")
    environment = dict(os.environ, PYTHONPATH=f"{target}:{folder}")
    return subprocess.run(
        [*launcher, PYTHON, "-c", START, *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        timeout=SECONDS)


def count(output):
    """How many ran, passed and were skipped."""
    ran = re.search(r"^Ran (\d+) test", output, re.MULTILINE)
    skipped = re.search(r"skipped=(\d+)", output)
    failed = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", output)))
    ran = int(ran.group(1)) if ran else 0
    skipped = int(skipped.group(1)) if skipped else 0
    return ran, ran - skipped - failed, skipped


def skipped_in(output):
    """Which tests were, each with its reason; a test's description may stand
    in a line of its own between the two."""
    name = None
    for line in output.splitlines():
        begins = re.match(r"(test_\w+) \(tests\.", line)
        name = begins.group(1) if begins else name
        reason = re.search(r"\.\.\. skipped ['\"](.*)['\"]$", line)
        if reason:
            yield name, reason.group(1)


def run_family(folder, launcher, family):
    names = names_in(folder, launcher, family)
    done = run(folder, launcher, ["-v", *names])
    ran, passed, skipped = count(done.stdout)
    print(f"{family}: {ran} ran, {passed} passed, {skipped} skipped")
    listed = list(skipped_in(done.stdout))
    good = (done.returncode == 0 and passed >= FAMILIES[family]
            and len(listed) == skipped)
    if len(listed) != skipped:
        print(f"pyverbs: {family}: {len(listed)} skips are listed")
    if not good:
        print(done.stdout)
        print(f"pyverbs: {family}: exit status {done.returncode}, {passed} "
              f"passed, expected 0 and {FAMILIES[family]} at least")
    return good, (ran, passed, skipped), listed


def missing():
    if not os.path.isdir(TESTS):
        return f"no {TESTS}: install rdma-core, with its documentation"
    done = subprocess.run([PYTHON, "-c", "import pyverbs.device"],
                          stderr=subprocess.DEVNULL)
    return done.returncode and "no pyverbs: install python3-pyverbs"


def main():
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    launcher, families = words[:split], words[split + 1:] or FAMILIES
    if (why := missing()):
        print(why)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="mpix-pyverbs.") as folder:
        unpack(folder)
        results = [run_family(folder, launcher, f) for f in families]
    totals = [sum(numbers) for numbers in zip(*(r[1] for r in results))]
    # ctest keeps the beginning of what is said, where families.py looks.
    print("all: {} ran, {} passed, {} skipped".format(*totals))
    for _, _, listed in results:
        for name, reason in listed:
            print(f"skipped: {name}: {reason}")
    return 0 if all(good for good, *_ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
