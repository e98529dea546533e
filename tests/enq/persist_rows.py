#!/usr/bin/env python3
"""Prints the rows of the matrix of persistent requests (persist_matrix.c): a
covering array of what their lives may differ in, each array going on with the
one before: every value, every pair of values, every triple.

    persist_rows.py > persist_rows.inc

A line is a struct row, its first member the strength of the array that it
belongs to. The names are the enumerators of persist_matrix.h.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "lib"))
import matrix_rows  # noqa: E402 (the path comes first)

FACTORS = {
    "kind": ("SEND", "SSEND", "RSEND", "BSEND"),
    "first": ("RECEIVE_FIRST", "SEND_FIRST"),
    "sent": ("BY_HOST", "BY_STREAM"),
    "received": ("BY_HOST", "BY_STREAM"),
    "together": ("EACH", "TOGETHER"),
    "complete": ("WAIT", "TEST", "WAITALL", "TESTALL", "WAITANY", "TESTANY",
                 "WAITSOME", "TESTSOME", "GET_STATUS", "STREAM", "STREAM_ALL",
                 "SENT_BY_STREAM", "RECEIVED_BY_STREAM"),
    "laps": ("1", "3"),
    "end": ("INACTIVE", "FREE_ACTIVE", "CANCEL", "TWICE"),
    "bytes": ("0", "96", "40000", "300000"),
    "memory": ("DEVICE", "PINNED", "FROM_PINNED"),
    "gate": ("OPEN", "HELD"),
}


def possible(row):
    """Whether some allowed case has these values: a ready send is started
    behind its receive, alone."""
    return row.get("kind") != "RSEND" or (
        row.get("first") != "SEND_FIRST" and row.get("together") != "TOGETHER")


if __name__ == "__main__":
    matrix_rows.print_rows(FACTORS, possible)
