#!/usr/bin/env python3
"""Runs cases on two hosts: network namespaces joined by a pair of virtual
Ethernet devices, so that no rank of one sees a rank of the other but over the
network. UCX would still find shared memory there, so each has its IPC
namespace too. Ranks of one host share both, and so reach each other's GPUs.

    netns.py [options] PROGRAM [ARGUMENT...]

Ends with status 77 and a line where that cannot be made: it needs root and the
program ip.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import mpi_case  # noqa: E402
import processes  # noqa: E402

HOSTS = 2


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--ranks", type=int, nargs=HOSTS, default=[1] * HOSTS,
                        metavar="N", help="ranks of each host")
    parser.add_argument("--expect", action="append", required=True,
                        help="regular expression some line must match")
    parser.add_argument("--timeout", type=float, default=200)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    parser.set_defaults(exit="0", refuse=[], lines="")
    return parser.parse_args()


def name_of(host):
    return f"mgds{os.getpid()}-{host}"


def ipc_of(host):
    return os.path.join(tempfile.gettempdir(), name_of(host) + ".ipc")


def call(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE, text=True)


def link_wait(host):
    """The kernel finds the carrier a moment after both ends are up."""
    end = time.monotonic() + 10
    command = ["ip", "-n", name_of(host), "link", "show", f"mgds{host}"]
    while time.monotonic() < end:
        shown = subprocess.run(command, check=True, capture_output=True,
                               text=True).stdout
        if "state UP" in shown:
            return
    raise subprocess.CalledProcessError(1, command,
                                        stderr="the link does not come up")


def namespaces_make():
    for host in range(HOSTS):
        call("ip", "netns", "add", name_of(host))
        with open(ipc_of(host), "x"):
            call("unshare", f"--ipc={ipc_of(host)}", "true")
    call("ip", "link", "add", "mgds0", "netns", name_of(0), "type", "veth",
         "peer", "name", "mgds1", "netns", name_of(1))
    for host in range(HOSTS):
        inside = ["ip", "-n", name_of(host)]
        call(*inside, "addr", "add", f"10.99.0.{host + 1}/24", "dev",
             f"mgds{host}")
        call(*inside, "link", "set", f"mgds{host}", "up")
        call(*inside, "link", "set", "lo", "up")
    for host in range(HOSTS):
        link_wait(host)


def namespaces_remove():
    for host in range(HOSTS):
        for command in (["ip", "netns", "delete", name_of(host)],
                        ["umount", ipc_of(host)], ["rm", "-f", ipc_of(host)]):
            subprocess.run(command, check=False, stderr=subprocess.DEVNULL)


def command_line(arguments):
    """One group of ranks for each host. The process manager's connection is a
    descriptor that its child inherits, so it needs no network. The preloads
    are for the program alone, not for ip and nsenter."""
    variables = mpi_case.rank_environment(arguments)
    command = [arguments.mpiexec]
    for host, ranks in enumerate(arguments.ranks):
        device = f"mgds{host}"
        command += [":"] if host else []
        command += ["-n", str(ranks), "ip", "netns", "exec", name_of(host),
                    "nsenter", f"--ipc={ipc_of(host)}", "env", *variables,
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
        status, output = processes.run(command, arguments.timeout)
    finally:
        namespaces_remove()
    print("$", " ".join(command))
    print(output, end="")
    if status == mpi_case.SKIPPED:
        return status
    found = list(mpi_case.complaints(arguments, status, output))
    for complaint in found:
        print("netns:", complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
