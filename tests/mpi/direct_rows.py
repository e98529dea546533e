#!/usr/bin/env python3
"""Prints the rows of the matrix of messages that may go by header
(gpu/direct.c): covering arrays of how a message is sent, found, received and
completed, into which memory, each array going on with the one before: every
value, every pair of values, every triple. Messages that go by header have an
array of their own, for few of all do, and partitioned ones, since both ends
must be.

    direct_rows.py > direct_rows.inc

A line is a struct row, its first member the strength of the array that it
belongs to. The names are the enumerators of gpu/direct_plan.h.
"""
import functools
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import matrix_rows  # noqa: E402 (the path comes first)

ENDS = ("WAIT", "TEST", "WAITANY", "TESTANY", "WAITALL", "TESTALL", "WAITSOME",
        "TESTSOME", "GET_STATUS")
KINDS = tuple("MGDS_TEST_" + kind for kind in (
    "HOST", "DEVICE", "ASYNC", "VMM", "MANAGED", "PINNED", "REGISTERED"))
SHAPES = ("BYTES", "INTS", "GAPS", "VECTOR", "STRUCT", "SHIFTED")
# A header has 160 bytes; 4096 is the least of jobs with a threshold.
FACTORS = {
    "send": ("SEND", "SSEND", "RSEND", "BSEND", "SENDRECV_TO", "REPLACE_TO",
             "ISEND", "ISSEND", "IRSEND", "IBSEND", "ISENDRECV_TO",
             "IREPLACE_TO", "SEND_INIT", "SSEND_INIT", "RSEND_INIT",
             "BSEND_INIT"),
    "receive": ("RECV", "IRECV", "RECV_INIT", "SENDRECV_FROM", "REPLACE_FROM",
                "ISENDRECV_FROM", "IREPLACE_FROM", "MRECV", "IMRECV"),
    "probe": ("NO_PROBE", "PROBE", "IPROBE", "MPROBE", "IMPROBE"),
    "sent": ENDS,
    "received": ENDS,
    "out": KINDS,
    "in": KINDS,
    "GPUs": ("SAME_GPU", "OTHER_GPU"),
    "out shape": SHAPES,
    "in shape": SHAPES,
    "bytes": ("0", "8", "156", "160", "4092", "4096", "300000"),
    "room": ("EXACT", "MORE", "HALF", "NOTHING"),
    "source": ("NAMED", "ANY_SOURCE", "ANY_TAG"),
    "communicator": ("WORLD", "DUPLICATE", "REVERSED"),
    "first": ("RECEIVE_FIRST", "SEND_FIRST"),
    "order": ("FORWARDS", "BACKWARDS"),
    "depth": ("1", "3"),
    "laps": ("1", "2"),
    "way": ("ONE_WAY", "BOTH_WAYS", "ITSELF"),
}
# What goes by header, between ranks that have met.
HEADERS = FACTORS | {
    "send": ("SEND", "SSEND", "RSEND", "SENDRECV_TO", "ISEND", "ISSEND",
             "IRSEND"),
    "out": ("MGDS_TEST_DEVICE",),
    "out shape": ("BYTES", "INTS", "SHIFTED"),
    "bytes": ("160", "4096", "300000"),
    "way": ("ONE_WAY", "BOTH_WAYS"),
}
# MPICH's MPI_Request_get_status leaves the status of those as it is.
PARTITIONED = FACTORS | {
    "send": ("PSEND",),
    "receive": ("PRECV",),
    "probe": ("NO_PROBE",),
    "sent": ("WAIT", "TESTANY", "WAITSOME"),
    "received": ("WAIT", "TESTALL", "WAITANY"),
    "room": ("EXACT",),
    "source": ("NAMED",),
}
BLOCKING = FACTORS["send"][:6]
TIED = ("send", "receive", "probe", "first", "way")


def is_allowed(send, receive, probe, first, way):
    """Ready sends need a receive that stands, and one that stands is met by no
    probe. Who sends to itself, or to one that sends too, may not block ahead of
    the receive."""
    posted = first == "RECEIVE_FIRST"
    matched = receive in ("MRECV", "IMRECV")
    if send in ("RSEND", "IRSEND", "RSEND_INIT") and not posted:
        return False
    if posted and (probe != "NO_PROBE"
                   or receive not in ("IRECV", "RECV_INIT", "PRECV")):
        return False
    if matched != (probe in ("MPROBE", "IMPROBE")):
        return False
    if posted or way == "ONE_WAY" or send not in BLOCKING:
        return True
    return (send, receive, probe) == ("SENDRECV_TO", "SENDRECV_FROM",
                                      "NO_PROBE")


def possible_of(factors):
    """Of some of a row's values, by name: whether an allowed row has them."""
    allowed = [tied for tied in itertools.product(*(factors[name]
                                                    for name in TIED))
               if is_allowed(*tied)]

    @functools.cache
    def has(fixed):
        return any(all(want in (None, value) for want, value in
                       zip(fixed, tied)) for tied in allowed)

    return lambda row: has(tuple(row.get(name) for name in TIED))


if __name__ == "__main__":
    for array in (HEADERS, FACTORS, PARTITIONED):
        matrix_rows.print_rows(array, possible_of(array))
