#!/usr/bin/env python3
"""A program of mpi4py whose arrays are in GPU memory, unmodified.

mpi4py asks an array for `__cuda_array_interface__` and hands its address to
MPI, as it does for cupy's and torch's. Where cupy is installed its arrays are
used, else those of the small class here, over the driver's API. Any number of
ranks from two on; each result is compared byte for byte.

usage: mpiexec -n 2 python3 arrays.py

Exit status: 0 all well, 1 a wrong byte or a failed call, 77 no GPU, or no
mpi4py for MPICH.
"""
import ctypes
import sys

SKIPPED = 77
try:
    from mpi4py import MPI
except ImportError as missing:
    print(f"arrays: no mpi4py for MPICH, which ./check --all fetches: {missing}")
    sys.exit(SKIPPED)
if "MPICH" not in MPI.Get_library_version():
    print("arrays: this mpi4py is not for MPICH; ./check --all fetches one")
    sys.exit(SKIPPED)

WORLD = MPI.COMM_WORLD
RANK, RANKS = WORLD.rank, WORLD.size
SIZES = (1, 1000, 65536, 1 << 20, 16 << 20)


class Driver:
    """The calls of libcuda.so.1 that arrays need."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGetCount", ctypes.byref(count))
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context),
                  RANK % count.value)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.library, name)(*args)
        if code:
            raise OSError(f"{name}: CUDA error {code}")

    def alloc(self, size):
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        return at.value

    def free(self, at):
        self.call("cuMemFree_v2", ctypes.c_uint64(at))

    def write(self, at, data):
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(at), data,
                  ctypes.c_size_t(len(data)))

    def read(self, at, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(at),
                  ctypes.c_size_t(size))
        return data.raw


class OwnArray:
    """Elements in GPU memory; what a library of arrays has, and no more."""

    driver = None

    def __init__(self, data, kind):
        self.size, self.at = len(data), self.driver.alloc(len(data))
        self.kind, self.width = kind, int(kind[2:])
        self.driver.write(self.at, data)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.size // self.width,), "typestr": self.kind,
                "data": (self.at, False), "version": 3, "strides": None,
                "stream": None}

    def bytes(self):
        return self.driver.read(self.at, self.size)

    def __del__(self):
        self.driver.free(self.at)


def cupy_array(cupy):
    """The same, of cupy's."""

    class CupyArray:
        def __init__(self, data, kind):
            self.array = cupy.frombuffer(data, dtype=kind).copy()
            cupy.cuda.get_current_stream().synchronize()

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

        def bytes(self):
            return self.array.get().tobytes()

    return CupyArray


def find_arrays():
    """The class of arrays, and its name; None where there is no GPU."""
    try:
        import cupy
        cupy.cuda.Device(RANK % cupy.cuda.runtime.getDeviceCount()).use()
        return cupy_array(cupy), f"cupy {cupy.__version__}"
    except Exception:  # of any kind: not installed, or of no use here
        pass
    try:
        OwnArray.driver = Driver()
    except OSError as error:
        print(f"arrays: no GPU: {error}", file=sys.stderr)
        return None, ""
    return OwnArray, "a class over the driver's API"


def pattern(size, source):
    unit = bytes((i * 131 + source * 29 + 1) & 0xff for i in range(251))
    return (unit * (size // len(unit) + 1))[:size]


def expect(array, data, what):
    if array.bytes() == data:
        return
    print(f"arrays: rank {RANK}: {what}, {len(data)} bytes: wrong",
          file=sys.stderr)
    WORLD.Abort(1)


def round_the_ring(make, size):
    """Nonblocking, blocking, combined and persistent messages."""
    right, left = (RANK + 1) % RANKS, (RANK - 1) % RANKS
    mine, due = pattern(size, RANK), pattern(size, left)
    out, into = make(mine, "|u1"), make(bytes(size), "|u1")

    MPI.Request.Waitall([WORLD.Irecv(into, left, 1), WORLD.Isend(out, right, 1)])
    expect(into, due, "Isend and Irecv")
    into = make(bytes(size), "|u1")
    WORLD.Sendrecv(out, right, 2, into, left, 2)
    expect(into, due, "Sendrecv")
    into = make(bytes(size), "|u1")
    if RANK % 2:
        WORLD.Recv(into, left, 3)
        WORLD.Send(out, right, 3)
    else:
        WORLD.Send(out, right, 3)
        WORLD.Recv(into, left, 3)
    expect(into, due, "Send and Recv")
    into = make(bytes(size), "|u1")
    requests = [WORLD.Recv_init(into, left, 4), WORLD.Send_init(out, right, 4)]
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    expect(into, due, "Send_init and Recv_init")
    for request in requests:
        request.Free()


def together(make, count):
    """Collectives, of doubles."""
    import array

    mine = array.array("d", [RANK + i % 7 for i in range(count)]).tobytes()
    total = array.array("d", [RANKS * (RANKS - 1) / 2 + RANKS * (i % 7)
                              for i in range(count)]).tobytes()
    ours, sums = make(mine, "<f8"), make(bytes(8 * count), "<f8")
    WORLD.Allreduce(ours, sums)
    expect(sums, total, "Allreduce")
    WORLD.Bcast(ours, RANKS - 1)
    expect(ours, array.array("d", [RANKS - 1 + i % 7
                                   for i in range(count)]).tobytes(), "Bcast")


def main():
    make, name = find_arrays()
    if not make:
        return SKIPPED
    for size in SIZES:
        round_the_ring(make, size)
    for count in (1, 5000):
        together(make, count)
    WORLD.Barrier()
    if RANK == 0:
        print(f"arrays: all well, arrays of {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
