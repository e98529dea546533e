#!/usr/bin/env python3
"""MPIX_SIM_HCA_GPU_DISTANCE, as programs find it in sysfs: what lies between an
HCA and a GPU is what their paths do not have in common, and their NUMA nodes.

distance.py LAUNCHER..          each distance
distance.py look                inside the launcher: this one
distance.py exist PATH..        inside the launcher: which of them do"""
import json
import os
import subprocess
import sys

BUSES = "/sys/bus/pci/devices/"
# Links of the path between HCA 0 and GPU 0, from name to name, and between HCA 0
# and GPU 1, behind another pair's switch: None: no bridge in common; whether HCA
# 0 and GPU 0 are of one NUMA node.
EXPECTED = {
    "pix": (4, 6, True),
    "pxb": (6, 8, True),
    "phb": (2, 2, True),
    "node": (None, None, True),
    "sys": (None, None, False),
}


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def between(one, two):
    """Links on the way, below the host bridge."""
    one, two = (path.split("/")[3:] for path in (one, two))
    if one[0] != two[0]:
        return None
    while one and two and one[0] == two[0]:
        one, two = one[1:], two[1:]
    return len(one) + len(two)


def cpus_of(path):
    """The CPUs near a device: as the list says, and as the mask does."""
    listed = set()
    for part in read(path + "/local_cpulist").split(","):
        first, _, last = part.partition("-")
        listed.update(range(int(first), int(last or first) + 1))
    mask = int(read(path + "/local_cpus").replace(",", ""), 16)
    masked = {cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1}
    return [sorted(listed), sorted(masked)]


def look():
    hcas = [os.path.realpath(f"/sys/class/infiniband/mlx5_{i}/device")
            for i in range(2)]
    gpus = [os.path.realpath(f"{BUSES}0000:0{i + 1}:00.0") for i in range(2)]
    print(json.dumps({
        "near": [between(*pair) for pair in zip(hcas, gpus)],
        "far": between(hcas[0], gpus[1]),
        "bus": [os.path.realpath(BUSES + os.path.basename(path)) == path
                for path in hcas],
        "nodes": [read(path + "/numa_node") for path in (hcas[0], gpus[0])],
        "cpus": [cpus_of(path) for path in (hcas[0], gpus[0])],
        "vendor": read(gpus[0] + "/vendor"),
    }))


def complaints(launcher, distance):
    links, far, same = EXPECTED[distance]
    done = subprocess.run(
        [*launcher, sys.executable, __file__, "look"], timeout=60, text=True,
        env={**os.environ, "MPIX_SIM_HCA_GPU_DISTANCE": distance},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        yield f"{distance}: {done.stdout}"
        return
    found = json.loads(done.stdout.splitlines()[-1])
    if found["near"] != [links, links]:
        yield f"{distance}: {found['near']} links, not {links}"
    if found["far"] != far:
        yield f"{distance}: {found['far']} links to GPU 1, not {far}"
    if (found["nodes"][0] == found["nodes"][1]) != same:
        yield f"{distance}: nodes {found['nodes']}"
    if not all(found["bus"]):
        yield f"{distance}: {found}"
    for listed, masked in found["cpus"]:
        if not listed or listed != masked:
            yield f"{distance}: CPUs {listed}, in the mask {masked}"
    if found["vendor"] != "0x10de":
        yield f"{distance}: {found}"


def nothing_is_shown(launcher):
    """Without the setting the machine's own devices are seen, and no GPU."""
    gpu = BUSES + "0000:01:00.0"
    paths = [gpu, "/sys/devices/pcia500:00/a500:00:00.0/numa_node"]
    done = subprocess.run(
        [*launcher, sys.executable, __file__, "exist", *paths], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    expected = json.dumps([os.path.exists(gpu), True])
    if done.stdout.splitlines()[-1:] != [expected]:
        yield f"without: {done.stdout}"


def main():
    if sys.argv[1] == "look":
        look()
        return 0
    if sys.argv[1] == "exist":
        print(json.dumps([os.path.exists(path) for path in sys.argv[2:]]))
        return 0
    launcher = sys.argv[1:]
    found = [c for distance in EXPECTED
             for c in complaints(launcher, distance)]
    found += nothing_is_shown(launcher)
    print(*found or [f"{len(EXPECTED)} distances"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
