#!/usr/bin/env python3
"""Runs the cases of communication in stream order with many seeds of random
delays. Each seed chooses program, ranks, hosts, delay and trigger, so a failed
run is repeated by its seed alone; its command is printed. Ends with status 1
after the last seed if any run failed.
"""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import mpi_case  # noqa: E402

DELAYS = [0, 30, 300, 1500]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--runtime", default="", help="sanitizer runtime")
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--sim", required=True, help="folder of libcuda.so.1")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--laps", type=int, default=50)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("programs", nargs="+")
    return parser.parse_args()


def settings(seed, arguments):
    """Program and ranks go round, so that every pair gets its share."""
    choice = random.Random(seed)
    program = arguments.programs[seed % len(arguments.programs)]
    ranks = 2 + seed // len(arguments.programs) % 3
    variables = {
        "LD_LIBRARY_PATH": arguments.sim,
        "CUDA_DEVICE_MAX_CONNECTIONS": "32",
        "MPIX_SIM_GPUS": str(choice.choice([1, 2, 4])),
        "MPIX_SIM_PEERS": str(random.Random(~seed).choice([0, 1])),
        "MPIX_SIM_DELAY": str(choice.choice(DELAYS)),
        "MPIX_SIM_SEED": str(seed),
        "MPIX_GDS_TRIGGER": choice.choice(["auto", "kernel", "memop"]),
    }
    words = ["--laps", str(arguments.laps),
             "--limit", str(int(arguments.timeout) - 5)]
    return program, ranks, variables, words + choice.choice([[], ["--split"]])


def command_of(seed, arguments):
    program, ranks, variables, words = settings(seed, arguments)
    row = argparse.Namespace(
        mpiexec=arguments.mpiexec, runtime=arguments.runtime,
        preload=arguments.preload, ranks=ranks, command=[program, *words],
        env=[f"{key}={value}" for key, value in variables.items()])
    return mpi_case.command_line(row)


def passed(seed, arguments):
    command = command_of(seed, arguments)
    status, output = mpi_case.run(command, arguments.timeout)
    if status == 0:
        return True
    print(f"seed {seed}: status {status}\n$", " ".join(command))
    print(output, flush=True)
    return False


def main():
    arguments = parse_arguments()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    failed = [seed for seed in seeds if not passed(seed, arguments)]
    print(f"{len(seeds)} seeds, {len(failed)} failed", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
