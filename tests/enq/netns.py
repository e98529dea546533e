#!/usr/bin/env python3
"""Runs cases with each rank in a network namespace of its own: two namespaces
joined by a pair of virtual Ethernet devices, so that no rank sees another but
over the network. UCX would still find shared memory there, so each rank has
its IPC namespace too.

    netns.py [options] PROGRAM [ARGUMENT...]

Ends with status 77 and a line where that cannot be made: it needs root and the
program ip.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import mpi_case  # noqa: E402

RANKS = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--expect", required=True)
    parser.add_argument("--timeout", type=float, default=200)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def name_of(rank):
    return f"mgds{os.getpid()}-{rank}"


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, text=True)


def link_wait(rank):
    """The kernel finds the carrier a moment after both ends are up."""
    end = time.monotonic() + 10
    command = ["ip", "-n", name_of(rank), "link", "show", f"mgds{rank}"]
    while time.monotonic() < end:
        shown = subprocess.run(command, check=True, capture_output=True,
                               text=True).stdout
        if "state UP" in shown:
            return
    raise subprocess.CalledProcessError(1, command,
                                        stderr="the link does not come up")


def namespaces_make():
    for rank in range(RANKS):
        ip("netns", "add", name_of(rank))
    ip("link", "add", "mgds0", "netns", name_of(0), "type", "veth", "peer",
       "name", "mgds1", "netns", name_of(1))
    for rank in range(RANKS):
        inside = ["-n", name_of(rank)]
        ip(*inside, "addr", "add", f"10.99.0.{rank + 1}/24", "dev",
           f"mgds{rank}")
        ip(*inside, "link", "set", f"mgds{rank}", "up")
        ip(*inside, "link", "set", "lo", "up")
    for rank in range(RANKS):
        link_wait(rank)


def namespaces_remove():
    for rank in range(RANKS):
        subprocess.run(["ip", "netns", "delete", name_of(rank)], check=False,
                       stderr=subprocess.DEVNULL)


def command_line(arguments):
    """One group of ranks for each namespace. The process manager's connection
    is a descriptor that its child inherits, so it needs no network. The
    preloads are for the program alone, not for ip and unshare."""
    row = argparse.Namespace(runtime=arguments.runtime,
                             preload=arguments.preload, env=arguments.env)
    variables = mpi_case.rank_environment(row)
    command = [arguments.mpiexec]
    for rank in range(RANKS):
        device = f"mgds{rank}"
        command += [":"] if rank else []
        command += ["-n", "1", "ip", "netns", "exec", name_of(rank),
                    "unshare", "--ipc", "env", *variables,
                    f"UCX_NET_DEVICES={device}",
                    f"MPIX_GDS_UCX_NET_DEVICES={device}",
                    "UCX_TLS=tcp,self", "MPIX_GDS_UCX_TLS=tcp,self",
                    *arguments.command]
    return command


def main():
    arguments = parse_arguments()
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: network namespaces need root and the program ip "
              "(package iproute2)")
        return mpi_case.SKIPPED
    try:
        namespaces_make()
    except subprocess.CalledProcessError as error:
        namespaces_remove()
        print("skipped: no network namespaces here:", error.stderr.strip())
        return mpi_case.SKIPPED
    try:
        command = command_line(arguments)
        status, output = mpi_case.run(command, arguments.timeout)
    finally:
        namespaces_remove()
    print("$", " ".join(command))
    print(output, end="")
    if status == mpi_case.SKIPPED:
        return status
    return 0 if status == 0 and arguments.expect in output else 1


if __name__ == "__main__":
    sys.exit(main())
