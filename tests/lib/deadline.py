"""When ./check begins no more tests (--minutes N): it says so to them in
MGDS_DEADLINE, in seconds since the epoch. Without it there is no such time."""
import os
import time

REASON = "the time given to ./check (--minutes) was over before it"


def is_over():
    return time.time() >= float(os.environ.get("MGDS_DEADLINE", "inf"))
