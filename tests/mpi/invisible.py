#!/usr/bin/env python3
"""Compares the system calls of runs with and without the library preloaded.

--alone PROGRAM: a program without MPI. Everything it does after the loader
has mapped the library must be the same.
--job PROGRAM: rank 0 of a two-rank job opens no more files, maps no more
libraries and starts no more threads, our own library aside.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

NOISE = re.compile(r"""^/(proc|sys|dev)/|/tmp/|\.so-cache""")


def traced(strace, output, command, environment=None):
    subprocess.run([*command[0], strace, "-f", "-qq", "-o", output,
                    "-E", "LD_PRELOAD=" + (environment or ""), *command[1]],
                   check=True, timeout=100, stdout=subprocess.DEVNULL)


def opened_files(path):
    """Files opened with success, and how often; what varies from run to run
    by itself (process ids, shared-memory names) made equal."""
    opened = collections.Counter()
    threads = 0
    with open(path, errors="replace") as lines:
        for line in lines:
            match = re.search(r'open(?:at)?\((?:[^,]*, )?"([^"]*)".*= (\d+)$',
                              line)
            if match:
                opened[re.sub(r"\d+", "N", match.group(1))] += 1
            threads += bool(re.search(r"clone3?\(.*CLONE_THREAD.* = \d+", line))
    return opened, threads


def trace_alone(options, preload, folder):
    output = os.path.join(folder, "alone" + str(bool(preload)))
    traced(options.strace, output, ([], [options.alone]), preload)
    return output


def calls_of(path, library):
    """The system calls in order, without addresses and without those that
    concern the library and the preload list themselves."""
    calls = []
    with open(path, errors="replace") as lines:
        for line in lines:
            name = re.match(r"\d+ +(\w+)\(", line)
            if name:
                calls.append((name.group(1), line))
    return calls


def own_part(calls, library):
    """Drops the loader's work for the preloaded library: from opening it to
    closing it, and the later protection of its relocated pages."""
    rest, inside = [], False
    for name, line in calls:
        if library in line and name == "openat":
            inside = True
        if not inside:
            rest.append(name)
        if inside and name == "close":
            inside = False
    return rest


def check_alone(options, folder):
    library = os.path.basename(options.library)
    plain = calls_of(trace_alone(options, "", folder), library)
    loaded = calls_of(trace_alone(options, options.library, folder), library)
    before = collections.Counter(name for name, _ in plain)
    after = collections.Counter(own_part(loaded, library))
    # The loader seals our relocated pages, and notices LD_PRELOAD.
    for name, extra in (after - before).items():
        if name == "mprotect" and extra == 1:
            continue
        print(f"{name}: {extra} more calls than without the library")
        return 1
    for name, fewer in (before - after).items():
        # The loader reads /etc/ld.so.preload's absence the same way; nothing
        # may be missing but a cache lookup our own dependencies share.
        print(f"{name}: {fewer} fewer calls than without the library")
        return 1
    print(f"{options.alone}: {sum(before.values())} system calls, the same")
    return 0


def trace_job(options, preload, folder, tag):
    output = os.path.join(folder, "job" + tag)
    rank = (f'if [ "$PMI_RANK" = 0 ]; then exec {options.strace} -f -qq '
            f'-o {output} -E LD_PRELOAD={preload} {options.job}; '
            f'else LD_PRELOAD={preload} exec {options.job}; fi')
    subprocess.run([options.mpiexec, "-n", "2", "sh", "-c", rank], check=True,
                   timeout=100, stdout=subprocess.DEVNULL)
    return opened_files(output)


def check_job(options, folder):
    """The loader reads ELF files by name, so libraries are among the files;
    a file that some plain run opens as often is not ours to answer for."""
    library = re.sub(r"\d+", "N", options.library)
    plain = [trace_job(options, options.sim, folder, f"plain{i}")
             for i in range(3)]
    with_us, threads = trace_job(options, f"{options.library}:{options.sim}",
                                 folder, "loaded")
    most = collections.Counter()
    for opened, _ in plain:
        most |= opened
    extra = with_us - most
    extra.pop(library, None)
    problems = [f"{path} opened {count} more times"
                for path, count in extra.items() if not NOISE.search(path)]
    if threads > max(count for _, count in plain):
        problems.append(f"{threads} threads started")
    if library not in with_us:
        problems.append("the library was not loaded: nothing was compared")
    for problem in problems:
        print(problem)
    print(f"{options.job}: {sum(with_us.values())} files opened, "
          f"{threads} threads started")
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strace", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--sim", default="")
    parser.add_argument("--mpiexec")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--alone")
    what.add_argument("--job")
    options = parser.parse_args()
    options.library = os.path.realpath(options.library)
    with tempfile.TemporaryDirectory() as folder:
        check = check_alone if options.alone else check_job
        return check(options, folder)


if __name__ == "__main__":
    sys.exit(main())
