#!/usr/bin/env python3
"""Prints the rows of the matrix of groups (group_matrix.c): a covering array of
what a send and a receive may be, where they are called and completed, and what
happens beside them, each array going on with the one before: every value, every
pair of values, every triple.

    group_rows.py > group_rows.inc

A line is a struct row, its first member the strength of the array that it
belongs to. The names are the enumerators of group_matrix.c.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import matrix_rows  # noqa: E402 (the path comes first)

FACTORS = {
    "send": ("ISEND", "SEND", "START", "SSTART", "BSTART"),
    "receive": ("IRECV", "RECV", "RSTART"),
    "first": ("RECEIVE_FIRST", "SEND_FIRST"),
    "sent": ("INSIDE", "OUTSIDE"),
    "received": ("INSIDE", "OUTSIDE"),
    "complete": ("STREAM", "STREAM_ALL", "HOST_WAIT", "HOST_TEST", "MIXED",
                 "FREED"),
    "completed": ("INSIDE", "OUTSIDE"),
    "depth": ("1", "2"),
    "beside": ("NOTHING", "CANCELLED", "REFUSED", "ORDINARY", "PROBED"),
    "peer": ("NEIGHBOUR", "ITSELF", "ANYBODY"),
    "laps": ("1", "3"),
    "bytes": ("0", "96", "40000", "300000"),
    "memory": ("DEVICE", "PINNED"),
    "gate": ("OPEN", "HELD"),
}


def possible(row):
    """Whether some allowed case has these values: a stream that stands at one
    of two that cross comes to the other only inside of a group; requests that
    blocking calls do not have are not completed by the host."""
    if row.get("send") == "SEND" or row.get("receive") == "RECV":
        return "OUTSIDE" not in (row.get("sent"), row.get("received"))
    return True


if __name__ == "__main__":
    matrix_rows.print_rows(FACTORS, possible)
