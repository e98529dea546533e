#!/usr/bin/env python3
"""ibv_devinfo -v on each model, link layer and number of devices; and what ls
shows of their files.

devinfo.py LAUNCHER.."""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77

# By settings, what must be said.
CASES = [
    ({}, [r"^hca_id:\s+mlx5_0$", r"vendor_part_id:\s+4129$",
          r"link_layer:\s+InfiniBand$", r"state:\s+PORT_ACTIVE",
          r"GID\[  0\]:\s+fe80:"]),
    ({"MODEL": "cx5"}, [r"vendor_part_id:\s+4119$", r"fw_ver:\s+16\."]),
    ({"MODEL": "cx8"}, [r"vendor_part_id:\s+4131$"]),
    ({"LINK": "roce"}, [r"link_layer:\s+Ethernet$",
                        r"GID\[  0\]:\s+::ffff:10\.165\.0\.\d+, RoCE v2$"]),
    ({"PORTS": "2"}, [r"phys_port_cnt:\s+2$", r"^\s+port:\s+2$"]),
    ({"GIDS": "fd00::,::ffff:192.168.0.0", "LINK": "roce"},
     [r"GID\[  1\]:\s+fd00::\d+, RoCE v2$",
      r"GID\[  2\]:\s+::ffff:192\.168\.0\.\d+, RoCE v2$"]),
    ({"COUNT": "3"}, [r"^hca_id:\s+mlx5_2$"]),
    ({"FAULTS": "link=0"}, [r"state:\s+PORT_DOWN", r"phys_state:\s+POLLING"]),
    ({"FAULTS": "link=0", "LINK": "roce"}, [r"phys_state:\s+DISABLED"]),
    ({"IOCTL": "no"}, [r"max_qp:\s+65535$"]),
]


def complaints(launcher, settings, expected):
    environment = dict(os.environ)
    for name, value in settings.items():
        environment["MPIX_SIM_HCA_" + name] = value
    done = subprocess.run([*launcher, "ibv_devinfo", "-v"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=60)
    for pattern in expected:
        if not re.search(pattern, done.stdout, re.MULTILINE):
            yield f"{settings}: no line matches {pattern!r}:\n{done.stdout}"
    if done.returncode or done.stderr:
        yield f"{settings}: exit status {done.returncode}: {done.stderr}"


def listed(launcher):
    """A long listing asks for more than names."""
    done = subprocess.run([*launcher, "ls", "-lR", "/sys/class/infiniband/",
                           "/sys/class/infiniband/mlx5_0/ports/1/",
                           "/dev/infiniband"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    for pattern in (r"mlx5_0 -> \.\./\.\./devices/", r"port_rcv_data$",
                    r"^crw.* 231, 192 .*uverbs0$"):
        if not re.search(pattern, done.stdout, re.MULTILINE):
            yield f"ls: no line matches {pattern!r}:\n{done.stdout}"
    if done.returncode or done.stderr:
        yield f"ls: exit status {done.returncode}: {done.stderr}"


def main():
    launcher = sys.argv[1:]
    if not shutil.which("ibv_devinfo"):
        print("no ibv_devinfo: install ibverbs-utils")
        return SKIPPED
    found = [c for settings, expected in CASES
             for c in complaints(launcher, settings, expected)]
    found += listed(launcher)
    print(*found or [f"{len(CASES)} cases"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
