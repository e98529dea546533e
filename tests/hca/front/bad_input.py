#!/usr/bin/env python3
"""What a user does wrong: one line each, with the name, the value and what to
do about it; and what runs nevertheless.

bad_input.py HCA.DEF PROGRAM-WITH-QPS LAUNCHER --sim=hca

PROGRAM-WITH-QPS ends well on a device. That nothing is put under a machine's
own HCA is seen in a mount namespace, where /sys/class has one."""
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

SKIPPED = 77
DEVINFO = ["ibv_devinfo"]

# Settings, what the one line says, and whether there is a device.
ROWS = [
    ({"COUNT": "17"}, ["MPIX_SIM_HCA_COUNT", "'17'", "from 0 to 16",
                       "default '1'"], True),
    ({"COUNT": "two"}, ["MPIX_SIM_HCA_COUNT", "'two'", "whole number"], True),
    ({"MODEL": "cx9"}, ["MPIX_SIM_HCA_MODEL", "'cx9'", "cx5, cx7, cx8"], True),
    ({"LINK": "eth"}, ["MPIX_SIM_HCA_LINK", "'eth'", "ib, roce"], True),
    ({"NETWORK": "a/b"}, ["MPIX_SIM_HCA_NETWORK", "a slash", "leave it out"],
     False),
    ({"NETWORK": "n" * 65}, ["MPIX_SIM_HCA_NETWORK", "n" * 65, "default"],
     True),
    ({"FAULTS": "drop=2"}, ["MPIX_SIM_HCA_FAULTS", "'drop=2'", "no faults",
                            "drop=1%"], True),
    ({"FAULTS": "drop=1%," + "seed=1," * 40}, ["MPIX_SIM_HCA_FAULTS",
                                               "default"], True),
    ({"LEAST_TIMEOUT": "32"}, ["MPIX_SIM_HCA_LEAST_TIMEOUT", "'32'",
                               "from 0 to 31"], True),
    ({"PORTS": "3"}, ["MPIX_SIM_HCA_PORTS", "'3'", "from 1 to 2"], True),
    ({"GIDS": "fd00::,10.0.0.1"}, ["MPIX_SIM_HCA_GIDS", "'10.0.0.1'",
                                   "row 0 alone", "IPv6"], True),
    ({"GIDS": ",".join(["fd00::"] * 8)}, ["MPIX_SIM_HCA_GIDS", "'fd00::'",
                                          "up to seven"], True),
    ({"GIDS": "fd00::,"}, ["MPIX_SIM_HCA_GIDS", "row 0 alone"], True),
    ({"GPU_DISTANCE": "near"}, ["MPIX_SIM_HCA_GPU_DISTANCE", "'near'",
                                "none, pix, pxb, phb, node, sys"], True),
    ({"RATE": "-1"}, ["MPIX_SIM_HCA_RATE", "'-1'", "whole number"], True),
    ({"LATENCY": "10001"}, ["MPIX_SIM_HCA_LATENCY", "'10001'",
                            "from 0 to 10000"], True),
    ({"OUT_OF_ORDER": "2"}, ["MPIX_SIM_HCA_OUT_OF_ORDER", "'2'", "yes or no"],
     True),
    ({"IOCTL": "maybe"}, ["MPIX_SIM_HCA_IOCTL", "'maybe'", "yes or no"], True),
    ({"INLINE": "maybe"}, ["MPIX_SIM_HCA_INLINE", "'maybe'", "yes or no"],
     True),
    ({"GPU_DELAY": "1s"}, ["MPIX_SIM_HCA_GPU_DELAY", "'1s'", "from 0 to"],
     True),
    ({"GPU_PROCESS": "maybe"}, ["MPIX_SIM_HCA_GPU_PROCESS", "'maybe'",
                                "yes or no"], True),
    ({"SEED": "-3"}, ["MPIX_SIM_HCA_SEED", "'-3'", "whole number"], True),
    ({"DIGEST": "2"}, ["MPIX_SIM_HCA_DIGEST", "'2'", "yes or no"], True),
    ({"LOG_LEVEL": "loud"}, ["MPIX_SIM_HCA_LOG_LEVEL", "'loud'", "debug"],
     True),
    ({"COUTN": "1"}, ["MPIX_SIM_HCA_COUTN", "unknown",
                      "did you mean MPIX_SIM_HCA_COUNT?"], True),
]


def run(command, environment):
    return subprocess.run(command, env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=100)


def complaints(what, done, words, works):
    lines = [line for line in done.stderr.splitlines() if "mpix-gds" in line]
    if len(lines) != 1:
        yield f"{what}: {len(lines)} lines: {done.stderr!r}"
    for word in words:
        if lines and word not in lines[0]:
            yield f"{what}: no {word!r} in {lines[0]!r}"
    if (done.returncode == 0) != works:
        yield f"{what}: exit status {done.returncode}: {done.stderr!r}"


def wrong_settings(launcher):
    for settings, words, works in ROWS:
        environment = {"MPIX_SIM_HCA_" + name: value
                       for name, value in settings.items()}
        yield from complaints(settings, run([*launcher, *DEVINFO], environment),
                              words, works)


def settings_without_a_row(table):
    """Each setting of hca.def is set wrongly in some way, CONTROL elsewhere."""
    with open(table, encoding="utf-8") as file:
        suffixes = set(re.findall(r'^X\([^"]*"([A-Z_]+)"', file.read(), re.M))
    covered = {name for settings, *_ in ROWS for name in settings}
    for suffix in sorted(suffixes - covered - {"CONTROL"}):
        yield f"no row has a wrong MPIX_SIM_HCA_{suffix}"


def wrong_folders(launcher):
    """/proc takes no files, not even root's."""
    for name, words in (("TMPDIR", ["/proc", "set TMPDIR"]),
                        ("XDG_RUNTIME_DIR", ["/proc", "no device now"])):
        done = run([*launcher, *DEVINFO], {name: "/proc"})
        yield from complaints(name, done, words, False)


def wrong_control(launcher, program, folder):
    """Of a device that is opened, with QPs or not."""
    path = os.path.join(folder, "faults")
    for text, words in (("drop=2", ["'drop=2'", "as before", "drop=1%"]),
                        ("x" * 300, ["too long", "as before"]),
                        (None, ["Is a directory", "can be read"])):
        if text is None:
            path = folder
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        for command in (DEVINFO, [program]):
            done = run([*launcher, *command], {"MPIX_SIM_HCA_CONTROL": path})
            yield from complaints(f"{command[0]}: {path}", done,
                                  ["MPIX_SIM_HCA_CONTROL=" + path, *words],
                                  True)


def wrong_programs(launcher, folder):
    static = os.path.join(folder, "static")
    with open(static, "wb") as file:
        file.write(b"\x7fELF\2\1\1" + bytes(57))
    os.chmod(static, 0o755)
    yield from complaints("a static program", run([*launcher, static], {}),
                          [static, "statically", "leave hca out"], False)
    other = os.path.join(folder, "other")
    shutil.copy("/bin/true", other)
    if os.getuid() == 0:
        os.chown(other, 65534, 65534)
        os.chmod(other, 0o755 | stat.S_ISUID)
        yield from complaints("a set-uid program", run([*launcher, other], {}),
                              [other, "as another user", "leave hca out"],
                              False)


def no_libmlx5(launcher, folder):
    with open(os.path.join(folder, "libmlx5.so.1"), "wb"):
        pass
    yield from complaints("without libmlx5",
                          run([*launcher, *DEVINFO],
                              {"LD_LIBRARY_PATH": folder}),
                          ["libmlx5.so.1", "ibverbs-providers"], False)


def in_namespace(command):
    return ["unshare", "--mount", "--map-root-user", "sh", "-ec", command]


def real_hca(launcher):
    """An HCA that this machine has, as far as /sys/class says."""
    has = ("mount -t tmpfs none /sys/class\n"
           "mkdir -p /sys/class/infiniband/mlx5_7\n")
    if run(in_namespace(has), {}).returncode != 0:
        print("not seen: a machine with an HCA (no mount namespace)")
        return
    done = run(in_namespace(has + " ".join([*launcher, *DEVINFO])), {})
    yield from complaints("a real HCA", done,
                          ["mlx5_7", "would hide", "leave hca out"], False)


def main():
    table, program, *launcher = sys.argv[1:]
    if not shutil.which(DEVINFO[0]):
        print("no ibv_devinfo: install ibverbs-utils")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        found = [*settings_without_a_row(table),
                 *wrong_settings(launcher), *wrong_folders(launcher),
                 *wrong_control(launcher, program, folder),
                 *wrong_programs(launcher, folder),
                 *no_libmlx5(launcher, folder), *real_hca(launcher)]
    print(*found or ["one line each"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
