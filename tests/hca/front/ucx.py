#!/usr/bin/env python3
"""UCX on the software HCA.

ucx.py info LAUNCHER..         what ucx_info finds
ucx.py TRANSPORT LAUNCHER..    ucx_perftest over it, what that can do"""
import os
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))
import processes  # noqa: E402 (the path comes first)
from no_input import NO_INPUT  # noqa: E402

SKIPPED = 77
SECONDS = 60
TRANSPORTS = {
    "rc_mlx5": ["put_lat", "am_lat", "put_bw", "am_bw", "fadd"],
    "rc_verbs": ["put_lat", "am_lat", "put_bw", "am_bw", "fadd"],
    "dc_mlx5": ["put_lat", "am_lat", "put_bw", "am_bw", "fadd"],
    "ud_mlx5": ["am_lat", "am_bw"],
}


def look(launcher):
    done = subprocess.run([*launcher, "ucx_info", "-d"], stdin=NO_INPUT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS)
    found = re.findall(r"Transport: (\S+)\n#\s+Device: mlx5_0:1", done.stdout)
    wanted = {"rc_verbs", "rc_mlx5", "dc_mlx5", "ud_verbs",
              "ud_mlx5"}
    if done.returncode == 0 and wanted <= set(found):
        return []
    return [f"{wanted - set(found)} not found, exit status "
            f"{done.returncode}:\n{done.stdout}"]


def measure(launcher, transport, test):
    """The server ends with its client, or is ended here."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = str(probe.getsockname()[1])
    command = [*launcher, "ucx_perftest", "-p", port]
    end = time.monotonic() + SECONDS
    server = processes.start(command, stdin=NO_INPUT,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        while True:
            done = subprocess.run(
                [*command, "-x", transport, "-d", "mlx5_0:1", "-t", test,
                 "-n", "100", "-w", "10", "-s", "8", "127.0.0.1"],
                stdin=NO_INPUT, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True,
                timeout=max(1, end - time.monotonic()))
            if (done.returncode == 0 or server.poll() is not None
                    or "Connection refused" not in done.stdout):
                break
    finally:
        processes.end(server)
    if done.returncode == 0 and re.search(r"^Final: +100 ", done.stdout,
                                          re.MULTILINE):
        return []
    return [f"{test}: exit status {done.returncode}:\n{done.stdout}"]


def main():
    what, launcher = sys.argv[1], sys.argv[2:]
    if not shutil.which("ucx_perftest"):
        print("no ucx_perftest: install ucx-utils")
        return SKIPPED
    if what == "info":
        found = look(launcher)
    else:
        found = [c for test in TRANSPORTS[what]
                 for c in measure(launcher, what, test)]
    print(*found or ["ok"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
