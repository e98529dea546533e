"""One door per outside dependency; dependencies point downwards only.

CONTENT is the table of doors: a rule says where it holds, who is allowed, and
what may not appear. LAYERS is the table of folders: which layers each may
include. Tests may include anything. docs/design.md gives the reasons.
"""
import posixpath
import re

import csource
import lintlib

PRODUCT = r"(shim|device)/"
OWN_CODE = r"(shim|device|include|sim|tools|osu-extensions)/"

# (rule, governed paths, allowed paths, kind, pattern, what to do instead)
CONTENT = [
    ("mpi-door", r"shim/", r"shim/pmpi/", "include", r"mpio?\.h|mpi_.*",
     "only shim/pmpi knows mpi.h: pass plain values down"),
    ("cuda-door", PRODUCT, r"shim/gds/cuda/", "include",
     r"(cuda|cuda_\w+|cudart\w*|driver_types)\.h|cuda/std/.*",
     "only shim/gds/cuda knows CUDA headers"),
    ("cuda-door", r"include/", r"", "include", r"cuda.*\.h",
     "public headers pass CUDA streams as void *"),
    ("cuda-door", r"shim/", r"shim/gds/cuda/", "code",
     r"\b(cu[A-Z]\w+|CU[a-z]\w+|cuda[A-Z]\w+|CUDA_(SUCCESS|ERROR_\w+))\b",
     "only shim/gds/cuda names CUDA calls and types"),
    ("libcuda-name", r"shim/", r"shim/gds/cuda/", "string",
     r"libcuda|libnvidia|libnvrtc",
     "only shim/gds/cuda names CUDA libraries"),
    ("hca-door", PRODUCT, r"shim/gds/hca/", "include",
     r"infiniband/.*|rdma/.*", "only shim/gds/hca knows verbs and mlx5dv"),
    ("hca-door", r"shim/", r"shim/gds/hca/", "code",
     r"\b(ibv_|mlx5dv_)\w+", "only shim/gds/hca names verbs calls"),
    ("hca-door", r"shim/", r"shim/gds/hca/", "string",
     r"libibverbs|libmlx5", "only shim/gds/hca names verbs libraries"),
    ("hca-never", r"shim/", r"", "code",
     r"\b(ibv_(post_(srq_)?(send|recv)|poll_cq|req_notify_cq)|ibv_wr_\w+)\b",
     "queues are filled, rung and polled by hand: shim/gds/hca/sendq.h"),
    ("hca-never", r"shim/", r"", "code",
     r"\b(IBV_ACCESS_RELAXED_ORDERING|MLX5DV_QP_CREATE_OOO_DP)\b",
     "a word behind data tells of it: nothing is to be placed out of order"),
    ("hca-never", r"shim/", r"", "string", r"\bMLX5_[A-Z_]+=",
     "the environment of libmlx5 is the program's, and UCX's"),
    ("ucx-door", PRODUCT, r"shim/gds/wire/", "include",
     r"uc[pst]/.*", "only shim/gds/wire includes UCX"),
    ("ucx-door", r"shim/", r"shim/gds/wire/", "code",
     r"\b(ucp|ucs|uct)_\w+", "only shim/gds/wire names UCX calls"),
    ("ucx-door", r"shim/", r"shim/gds/wire/", "string",
     r"libuc[pstm]\b", "only shim/gds/wire names UCX libraries"),
    ("mpi-door", r"shim/", r"shim/pmpi/", "code", r"\bP?MPIX?_[A-Z][a-z]\w*",
     "only shim/pmpi names MPI calls and handles"),
    ("env-door", PRODUCT, r"shim/base/config\.c$", "code",
     r"\b(secure_getenv|getenv|environ|__environ)\b",
     "only config.c reads the environment: add a row to config.def"),
    ("print-door", PRODUCT, r"shim/base/log\.c$", "code",
     r"\b(v?printf|puts|putchar|perror|psignal|v?syslog)\s*\("
     r"|\b(stderr|stdout|STDERR_FILENO|STDOUT_FILENO)\b"
     r"|\b(write|writev|v?dprintf)\s*\(\s*[12]\s*,",
     "only log.c prints: use mgds_err/warn/info/debug, or take a FILE *"),
    ("engine-door", r"sim/hca/", r"sim/hca/front/", "include",
     r"infiniband/.*|rdma/.*|mlx5.*|cuda.*",
     "the engine of the software HCA needs the C library alone"),
    ("transport", r"shim/gds/proto/", r"", "code",
     r"\bmgds_(self|p2p|host|ib_gpu|ib_cpu)\b|\bMGDS_PATH_\w+",
     "a protocol asks for no transport by name: struct mgds_transport"),
    ("engine-door", r"sim/hca/", r"sim/hca/(front/|wire/map\.c$)", "include",
     r"pthread\.h",
     "the engine of the software HCA has no lock but that of wire/map.c"),
    ("asm-door", OWN_CODE, r"device/impl/mem\.h$", "code",
     r"\b(asm|__asm|__asm__)\b", "inline asm lives in device/impl/mem.h"),
]

BELOW_GDS = ["hca", "cuda", "wire", "base", "device"]
# driver-abi is the CUDA driver's interface, restated for the software GPU too
# (layer, paths, layers it may include besides itself); the first match counts
LAYERS = [
    ("device", r"device/", []),
    ("include", r"include/", []),
    ("pmpi", r"shim/pmpi/", ["ctx", "gds", "include"] + BELOW_GDS),
    ("hca", r"shim/gds/hca/", ["base", "device"]),
    ("driver-abi", r"shim/gds/cuda/driver_\w+\.(h|def)$", []),
    ("cuda", r"shim/gds/cuda/", ["driver-abi", "base", "device"]),
    ("wire", r"shim/gds/wire/", ["base", "device"]),
    ("gds", r"shim/gds/", ["ctx"] + BELOW_GDS),
    ("settings", r"shim/base/(config|host|log)\.(h|def)$", ["base", "device"]),
    ("base", r"shim/base/", ["settings", "device"]),
    ("ctx", r"shim/[^/]+$", ["gds"] + BELOW_GDS),
    ("sim-doc", r"sim/settings_doc\.c$", ["sim", "sim-hca-front", "settings"]),
    ("sim-hooks", r"sim/cuda/hooks\.h$", []),
    ("sim-handler", r"sim/handler\.[ch]$", []),
    ("sim-hca-front", r"sim/hca/front/",
     ["sim-hca", "sim-hca-mover", "sim-hooks", "sim-handler", "settings",
      "device", "driver-abi"]),
    ("sim-hca-mover", r"sim/hca/mover/", ["driver-abi"]),
    ("sim-hca", r"sim/hca/", ["device"]),
    ("sim", r"sim/",
     ["sim-hooks", "sim-handler", "settings", "base", "device",
      "driver-abi"]),
    ("tools", r"tools/", ["include", "settings", "cuda", "hca", "driver-abi"]),
    ("bench", r"osu-extensions/",
     ["include", "settings", "device", "driver-abi"]),
    ("tests", r"tests/", None),
]


def layer_of(path):
    for name, pattern, allowed in LAYERS:
        if re.match(pattern, path):
            if allowed is not None and "base" in allowed:
                allowed = allowed + ["settings"]
            return name, allowed
    return None, None


def resolve(path, name, known):
    """The file of the tree that `#include "name"` in path means, or None."""
    folder = posixpath.dirname(path)
    tries = [posixpath.join(folder, name), name,
             posixpath.join("include", name)]
    parts = folder.split("/")
    tries += [posixpath.join(*parts[:n], name)
              for n in range(len(parts) - 1, 0, -1)]
    for candidate in map(posixpath.normpath, tries):
        if candidate in known:
            return candidate
    # include/mpix_gds/ stands in front of an installed header of the same name.
    ends = [k for k in known if k.endswith("/" + name)
            and not k.startswith("include/mpix_gds/")]
    return ends[0] if len(ends) == 1 else None


def occurrences(kind, masked):
    """(line, text) of what rules of this kind look at."""
    if kind == "include":
        return [(line, name) for line, name, _ in csource.includes(masked)]
    if kind == "string":
        return list(csource.strings(masked))
    code = csource.INCLUDE.sub("", masked.code)
    return list(enumerate(code.split("\n"), 1))


def check_content(report, path, masked):
    cache = {}
    for rule, governed, allowed, kind, pattern, remedy in CONTENT:
        if not re.match(governed, path) or (
                allowed and re.match(allowed, path)):
            continue
        if kind not in cache:
            cache[kind] = occurrences(kind, masked)
        find = re.fullmatch if kind == "include" else re.search
        for line, text in cache[kind]:
            match = find(pattern, text)
            if match:
                report.add(rule, path, line, f"'{match.group()}': {remedy}")


def check_layers(report, path, masked, known):
    layer, allowed = layer_of(path)
    if allowed is None:
        return
    for line, name, _ in csource.includes(masked):
        target = resolve(path, name, known)
        if target is None:
            continue
        other = layer_of(target)[0]
        if other != layer and other not in allowed:
            report.add("layers", path, line,
                       f"includes {target}: {layer} may include only "
                       f"{', '.join(sorted(set([layer] + allowed)))}")


def check():
    args = lintlib.parse_arguments(__doc__)
    report = lintlib.Report("boundaries", args.root)
    known = set(lintlib.list_files(args.root))
    paths = [p for p in known if p.endswith(lintlib.C_SUFFIXES + (".def",))]
    for path in paths:
        masked = csource.mask(lintlib.read(args.root, path))
        if not path.endswith(".def"):
            check_content(report, path, masked)
        check_layers(report, path, masked, known)
    return report.finish(len(paths), "files")


if __name__ == "__main__":
    lintlib.main(check)
