#!/usr/bin/env python3
"""mpix-gds-doctor --verify-hca on software HCAs that are well, of other kinds,
and that do not do what is promised.

verify.py DOCTOR"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

TESTS = ["open", "write", "inline", "read", "swap", "wrap", "key", "break"]
SECONDS = 100
# By packets, which faults are about; a port of its own hears them, too.
PACKETS = {"MPIX_SIM_HCA_LATENCY": "1", "MPIX_SIM_HCA_LEAST_TIMEOUT": "8",
           "MPIX_GDS_IB_TIMEOUT": "8"}
ROCE = {"MPIX_SIM_HCA_LINK": "roce"}


def verify(doctor, sim, settings):
    env = {**os.environ, **settings}
    env.pop("UCX_NET_DEVICES", None)
    env.update(settings)
    return subprocess.run([doctor, "--verify-hca"] + sim, env=env,
                          stdin=NO_INPUT, capture_output=True, text=True,
                          timeout=SECONDS)


def states(text):
    """{test: state} of what stands below the last port."""
    found = re.findall(r"(?m)^(ok|broken) +(\w+) ", text)
    return {name: state for state, name in found}


def check(done, status, *expected):
    for line in expected:
        assert re.search(line, done.stdout), (line, done.stdout, done.stderr)
    assert done.returncode == status, (done.returncode, done.stdout,
                                       done.stderr)


def ports_are_well(doctor):
    done = verify(doctor, ["--sim=hca:2"], {})
    check(done, 0, "^mlx5_0:1  InfiniBand", "(?m)^mlx5_1:1  InfiniBand",
          "all well, without a GPU")
    assert len(re.findall("(?m)^ok ", done.stdout)) == 2 * len(TESTS), done
    assert list(states(done.stdout)) == TESTS, done.stdout


def a_gpu_is_tried_too(doctor):
    done = verify(doctor, ["--sim"], {"MPIX_SIM_HCA_GPU_DISTANCE": "pix"})
    check(done, 0, "all well$", "way .*GPU 0: PIX")
    assert list(states(done.stdout)) == TESTS + ["way", "gpu", "bell"], done
    done = verify(doctor, ["--sim"], {"MPIX_SIM_WIDE_MEMOPS": "no"})
    check(done, 2, r"broken +bell .*\n.*no memory operations of 64 bits",
          "ok +gpu", "GPU 0: SYS", "1 failures")


def they_are_those_that_are_named(doctor):
    done = verify(doctor, ["--sim=hca:2"], {"UCX_NET_DEVICES": "mlx5_1:1"})
    check(done, 0, r"mlx5_0:1.*\nnot used  UCX_NET_DEVICES names none",
          r"mlx5_1:1.*\nok ")
    done = verify(doctor, ["--sim=hca"], {"UCX_NET_DEVICES": "eth0"})
    check(done, 1, "not used", "there is no port to try")
    done = verify(doctor, ["--sim=hca"], {"UCX_NET_DEVICES": "eth0",
                                      "MPIX_GDS_UCX_NET_DEVICES": "mlx5_0:1"})
    check(done, 0, "all well")


def settings_have_their_effect(doctor):
    done = verify(doctor, ["--sim=hca"], {"MPIX_GDS_IB_MTU": "1024"})
    check(done, 0, "MTU 1024,")
    done = verify(doctor, ["--sim=hca"], {"MPIX_GDS_IB_PKEY": "5"})
    check(done, 2, "(?m)^broken .*partition key.*MPIX_GDS_IB_PKEY")
    gids = {**ROCE, "MPIX_SIM_HCA_GIDS": "::ffff:192.168.0.0,fd00::"}
    done = verify(doctor, ["--sim=hca"], {**gids, "MPIX_GDS_IB_GID_INDEX": "2"})
    check(done, 0, "RoCE", "GID fd00:")
    done = verify(doctor, ["--sim=hca"], {**gids, "MPIX_GDS_IB_GID_TYPE": "v1"})
    check(done, 2, "(?m)^broken .*no such GID.*MPIX_GDS_IB_GID_TYPE")


def old_kernels_have_registers_too(doctor):
    done = verify(doctor, ["--sim=hca"], {"MPIX_SIM_HCA_IOCTL": "no"})
    check(done, 0, "all well")


def data_behind_the_word_is_found(doctor):
    """Late enough for a crowded machine to see one of many."""
    done = verify(doctor, ["--sim=hca"], {**PACKETS,
                                      "MPIX_SIM_HCA_FAULTS": "place=500us"})
    check(done, 2, "the word was there before the data", "1 failures")
    broken = [name for name, state in states(done.stdout).items()
              if state == "broken"]
    assert broken == ["write"], done.stdout


def errors_are_told(doctor):
    done = verify(doctor, ["--sim=hca"], {**PACKETS,
                                      "MPIX_SIM_HCA_FAULTS": "key=100%"})
    check(done, 2, r"broken +write .*\n.*remote access error.*\(0x13")
    done = verify(doctor, ["--sim=hca"], {**PACKETS,
                                      "MPIX_SIM_HCA_FAULTS": "drop=100%"})
    check(done, 2, r"broken +swap .*\n.*retry exceeded.*\(0x15")


def without_a_device_there_is_nothing_to_try(doctor):
    if not os.path.exists("/sys/class/infiniband"):
        check(verify(doctor, [], {}), 1, "there is no port to try")


def main():
    for test in (ports_are_well, a_gpu_is_tried_too,
                 they_are_those_that_are_named,
                 settings_have_their_effect,
                 old_kernels_have_registers_too,
                 data_behind_the_word_is_found, errors_are_told,
                 without_a_device_there_is_nothing_to_try):
        test(sys.argv[1])
        print(test.__name__, "ok", flush=True)


if __name__ == "__main__":
    main()
