#!/usr/bin/env python3
"""Two processes of a program, server and client, on software HCAs.

pair.py [--expect REGEX].. [--digest | --arrive COUNT] --package NAME --
        LAUNCHER --sim=hca PROGRAM ..

The client is given the server's name as one argument more. Both must end well,
and the client must say what is expected: the server has nothing to say of
READs. With --digest, what each device has sent is what the other one has placed;
with --arrive, of unreliable messages so many arrive as they were sent, at both
together, and none in another way.
Skipped where the program is missing."""
import argparse
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
SECONDS = 100


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expect", action="append", default=[])
    parser.add_argument("--package", required=True)
    parser.add_argument("--digest", action="store_true")
    parser.add_argument("--arrive", type=int)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return str(probe.getsockname()[1])


def program_of(command):
    """Behind the launcher and its options."""
    words = [word for word in command[1:] if not word.startswith("-")]
    return words[0]


def run_client(command, server, end):
    """A client that finds nobody listening yet ends at once: the next one is
    its look again."""
    while True:
        done = subprocess.run(command, stdin=NO_INPUT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              errors="replace",
                              timeout=max(1, end - time.monotonic()))
        if (done.returncode == 0 or server.poll() is not None
                or not re.search("(?i)couldn't connect|unable to init the "
                                 "socket", done.stdout)):
            return done


def complaints(name, status, output, expected):
    if status != 0:
        yield f"{name}: exit status {status}"
    for pattern in expected:
        if not re.search(pattern, output, re.MULTILINE):
            yield f"{name}: no line matches {pattern!r}"


def digests(output):
    """What a process has sent, and what it has placed: bytes and digest each."""
    found = re.findall(r"sent (\d+ bytes, digest \w+); placed (\d+ bytes, "
                       r"digest \w+)$", output, re.MULTILINE)
    return found[0] if len(found) == 1 else None


def compare_digests(server, client):
    of_server, of_client = digests(server), digests(client)
    if not of_server or not of_client:
        yield "no digests"
    elif of_server != of_client[::-1]:
        yield (f"digests differ: server sent {of_server[0]} and placed "
               f"{of_server[1]}, client sent {of_client[0]} and placed "
               f"{of_client[1]}")


def compare_messages(outputs, wanted):
    """What arrived, as the engines have compared it."""
    found = [tuple(map(int, pair)) for output in outputs for pair in re.findall(
        r"of (\d+) unreliable messages that arrived, (\d+) differ", output)]
    arrived = sum(pair[0] for pair in found)
    if arrived < wanted:
        yield f"{arrived} messages arrived, not {wanted}"
    if any(pair[1] for pair in found):
        yield f"messages differ: {found}"


def main():
    arguments = parse_arguments()
    if arguments.digest or arguments.arrive:
        os.environ["MPIX_SIM_HCA_DIGEST"] = "yes"
    if not shutil.which(program_of(arguments.command)):
        print(f"no {program_of(arguments.command)}: install "
              f"{arguments.package}")
        return SKIPPED
    command = [*arguments.command, "-p", free_port()]
    end = time.monotonic() + SECONDS
    server = processes.start(command, stdin=NO_INPUT, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             errors="replace")
    try:
        client = run_client([*command, "127.0.0.1"], server, end)
        output, _ = server.communicate(timeout=max(1, end - time.monotonic()))
    finally:
        processes.end(server)
    print("$", " ".join(command))
    print(output, client.stdout, sep="----\n")
    found = [*complaints("server", server.returncode, output, []),
             *complaints("client", client.returncode, client.stdout,
                         arguments.expect)]
    if arguments.digest:
        found += compare_digests(output, client.stdout)
    if arguments.arrive:
        found += compare_messages((output, client.stdout), arguments.arrive)
    for complaint in found:
        print("pair:", complaint)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
