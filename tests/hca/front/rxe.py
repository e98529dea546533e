#!/usr/bin/env python3
"""The referee's program on a kernel's provider, and on the software HCA.

rxe.py FOLDER REFEREE LAUNCHER..

Boots the distribution's kernel under QEMU, without KVM or privileges, with the
file systems of this machine and the kernel's software RoCE (rdma_rxe), runs the
program (referee.c) there and here, and compares what it says, line by line.
DIFFERENCES are those that are known, each with its reason. The kernel's package
is downloaded to FOLDER and unpacked there, not installed. Skipped where QEMU or
the package cannot be had."""
import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

SKIPPED = 77
SECONDS = 400  # of a machine
PASSED = 41    # QEMU's status for 20, which the guest says: 0 is a crash
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static",
         "cpio": "cpio", "depmod": "kmod", "modprobe": "kmod",
         "dpkg-deb": "dpkg", "apt-get": "apt"}
MODULES = ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_rng",
           "crc32_generic", "dummy", "rdma_rxe", "ib_uverbs"]

FLUSHED = "then Work Request Flushed Error, "
SUMS = ", a e2100000, b e2100000 85961100"

# By the case, what the kernel's provider says, and what the software HCA says.
DIFFERENCES = {
    # A wrong lkey is a local protection error by InfiniBand, and of mlx5.
    "wrong lkey": (
        f"local QP operation error, {FLUSHED}ERR RTS{SUMS}",
        f"local protection error, {FLUSHED}ERR RTS{SUMS}"),
    # rxe looks at addresses when a request is posted, and libmlx5 does not.
    "atomic that is not aligned": (
        "refused, when it is posted",
        f"remote invalid request error, {FLUSHED}ERR ERR{SUMS}"),
    # InfiniBand has a length error for the responder, and no operation error.
    "send that is too long": (
        f"remote operation error, {FLUSHED}receive local QP operation error, "
        f"ERR ERR{SUMS}",
        f"remote invalid request error, {FLUSHED}receive local length error, "
        f"ERR ERR{SUMS}"),
}

INIT = """#!/bin/sh
b=/bin/busybox
$b mount -t proc none /proc
$b mount -t sysfs none /sys
$b mount -t devtmpfs none /dev
for module in $($b cat /modules); do $b insmod /$module.ko; done
share() { $b mount -t 9p -o "trans=virtio,version=9p2000.L,msize=1048576,$3" \\
    "$1" "$2"; }
share machine /machine ro,cache=loose
$b mount -t tmpfs none /over
$b mkdir /over/upper /over/work
$b mount -t overlay -o lowerdir=/machine,upperdir=/over/upper,workdir=/over/work \\
    none /root
for kept in proc sys dev; do $b mount -o move /$kept /root/$kept; done
for fresh in tmp run; do $b mount -t tmpfs none /root/$fresh; done
share given /root/run rw
exec $b chroot /root /bin/sh /run/guest
"""

GUEST = """
say() { printf "\\\\$(printf %03o "$1")" |
    dd of=/dev/port bs=1 seek=244 conv=notrunc 2>/dev/null; }
cd /
ip link set lo up
ip link add dum0 type dummy
ip link set dum0 mtu 4200 up
ip address add 10.77.0.1/24 dev dum0
rdma link add rxe0 type rxe netdev dum0
ulimit -l unlimited
n=0 # a link-local address takes its time
until grep -q fe80 /sys/class/infiniband/rxe0/ports/1/gids/0 || [ $n -ge 100 ]
do sleep 0.1; n=$((n + 1)); done
sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
/run/referee >/run/said 2>/run/errors && [ "$(cat $sent)" -gt 0 ] && say 20
say 1
"""


def missing():
    for tool, package in TOOLS.items():
        if not shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
            return f"no {tool}: install {package}"
    if os.uname().machine != "x86_64":
        return "QEMU is asked for an x86_64 machine alone"
    return None


def run(command, **keywords):
    return subprocess.run(command, stdin=NO_INPUT, check=True,
                          stdout=subprocess.PIPE, text=True, **keywords).stdout


def module_paths(root, version):
    """In the order in which they are loaded."""
    paths = []
    run(["/usr/sbin/depmod", "-b", root, version])
    for name in MODULES:
        said = run(["/usr/sbin/modprobe", "-d", root, "-S", version,
                    "--show-depends", name])
        for path in re.findall(r"^insmod (\S+)", said, re.MULTILINE):
            if path not in paths:
                paths.append(path)
    return paths


def keep_kernel(root, target):
    """What is needed of a package that is unpacked: a few megabytes of 400."""
    version = os.listdir(os.path.join(root, "lib/modules"))[0]
    names = []
    os.makedirs(target)
    shutil.copy(f"{root}/boot/vmlinuz-{version}", f"{target}/vmlinuz")
    for path in module_paths(root, version):
        names.append(os.path.basename(path).removesuffix(".ko"))
        shutil.copy(path, target)
    write(os.path.join(target, "modules"), "\n".join(names) + "\n")


def fetch_kernel(folder):
    """A folder with the kernel and its modules; None: there is no package."""
    target = os.path.join(folder, "kernel")
    if os.path.isdir(target):
        return target
    with tempfile.TemporaryDirectory(dir=folder) as root:
        try:
            said = run(["apt-cache", "depends", "linux-image-amd64"])
            package = re.search(r"Depends: (\S+)", said).group(1)
            run(["apt-get", "download", package], cwd=root, timeout=SECONDS)
        except (subprocess.SubprocessError, OSError, AttributeError) as why:
            print(why)
            return None
        archive, = glob.glob(os.path.join(root, package + "_*.deb"))
        run(["dpkg-deb", "-x", archive, root])
        keep_kernel(root, os.path.join(root, "kept"))
        os.rename(os.path.join(root, "kept"), target)
    return target


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, stat.S_IRWXU)


def make_initramfs(kernel, folder):
    root = os.path.join(folder, "initramfs")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(kernel, root, ignore=shutil.ignore_patterns("vmlinuz"))
    for name in ("bin", "proc", "sys", "dev", "machine", "over", "root"):
        os.makedirs(os.path.join(root, name))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin"))
    os.symlink("busybox", os.path.join(root, "bin/sh"))
    write(os.path.join(root, "init"), INIT)
    packed = os.path.join(folder, "initramfs.gz")
    subprocess.run(f"find . | cpio -o -H newc 2>/dev/null | gzip -1 > {packed}",
                   shell=True, cwd=root, check=True, stdin=NO_INPUT)
    return packed


def kilohertz():
    with open("/proc/cpuinfo", encoding="ascii") as file:
        found = re.search(r"cpu MHz\s*: ([0-9.]+)", file.read())
    return int(float(found.group(1)) * 1000) if found else 2000000


def boot(folder, kernel, referee):
    """What the program says in the guest; None: it did not get there."""
    given = os.path.join(folder, "given")
    shutil.rmtree(given, ignore_errors=True)
    os.makedirs(given)
    shutil.copy(referee, os.path.join(given, "referee"))
    write(os.path.join(given, "guest"), GUEST)
    # The clock is not measured: a machine that is busy would have it wrong.
    words = ("console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr "
             f"tsc=reliable tsc_early_khz={kilohertz()} no_timer_check "
             "lpj=10000000")
    done = subprocess.run(
        ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi",
         "-cpu", "max", "-smp", "2", "-m", "512", "-nodefaults",
         "-display", "none", "-serial", "stdio", "-no-reboot",
         "-kernel", f"{kernel}/vmlinuz",
         "-initrd", make_initramfs(kernel, folder), "-append", words,
         "-fsdev", "local,id=m,path=/,security_model=none,readonly=on,"
         "multidevs=remap", "-device", "virtio-9p-pci,fsdev=m,mount_tag=machine",
         "-fsdev", f"local,id=g,path={given},security_model=none",
         "-device", "virtio-9p-pci,fsdev=g,mount_tag=given",
         "-device", "virtio-rng-pci",
         "-device", "isa-debug-exit,iobase=0xf4,iosize=4"],
        stdin=NO_INPUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", timeout=SECONDS)
    if done.returncode == PASSED:
        with open(os.path.join(given, "said"), encoding="ascii") as file:
            return file.read()
    print(f"QEMU's status is {done.returncode}, and not {PASSED}:", done.stdout)
    for name in ("said", "errors"):
        path = os.path.join(given, name)
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                print(name, file.read(), sep=":\n")
    return None


def cases(said):
    return dict(line.split(": ", 1) for line in said.splitlines())


def compare(there, here):
    if list(there) != list(here):
        yield f"cases differ: {set(there) ^ set(here)}"
        return
    for case, outcome in there.items():
        known = DIFFERENCES.get(case)
        if known and known[:2] != (outcome, here[case]):
            yield (f"{case}: known is\n  {known[0]}\n  {known[1]}\nfound is\n"
                   f"  {outcome}\n  {here[case]}")
        elif not known and outcome != here[case]:
            yield f"{case}:\n  rxe:  {outcome}\n  here: {here[case]}"


def main():
    folder, referee, *launcher = sys.argv[1:]
    why = missing()
    os.makedirs(folder, exist_ok=True)
    kernel = None if why else fetch_kernel(folder)
    if not kernel:
        print(why or "no kernel's package: apt-get download does not get "
              "linux-image-amd64's")
        return SKIPPED
    there = boot(folder, kernel, referee)
    if there is None:
        return 1
    here = run([*launcher, referee], timeout=SECONDS,
               env=dict(os.environ, MPIX_SIM_HCA_LINK="roce"))
    found = list(compare(cases(there), cases(here)))
    print(*found or [f"{len(cases(here))} cases, {len(DIFFERENCES)} of them "
                     "with a known difference"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
