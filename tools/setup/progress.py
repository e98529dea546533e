#!/usr/bin/env python3
"""Passes on what ctest prints, and says how far it is and when it may end:

    release: 300/654 tests, 6 min, about 5 more

on a terminal in the last line, which is refreshed each second; elsewhere as a
line a minute.

    ctest ... | progress.py NAME TESTS COSTS [SECONDS]

TESTS holds what `ctest -N` prints. COSTS is ctest's own record of earlier runs
(Testing/Temporary/CTestCostData.txt): where it knows the tests, what is left is
estimated by their seconds, and by their number where there is none."""

import os
import re
import select
import signal
import sys
import time

LISTED = re.compile(r"^\s*Test\s+#\d+: (\S+)$", re.M)
ENDED = re.compile(r"^\s*\d+/\d+ Test\s+#\d+: (\S+) ")
MINUTE = 60
# Too little is known before: no estimate.
LEAST_SECONDS = 5
LEAST_SHARE = 0.01


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_costs(text):
    """Name -> mean seconds: lines of name, runs and seconds, then ---."""
    costs = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) != 3:
            break
        costs[words[0]] = float(words[2])
    return costs


class Progress:
    """Which tests have ended, since when."""

    def __init__(self, name, tests, costs, begin):
        known = [costs[test] for test in tests if test in costs]
        mean = sum(known) / len(known) if known else 1.0
        self.name = name
        # a test that takes no time at all is still one
        self.left = {test: max(costs.get(test, mean), 0.01) for test in tests}
        self.tests = len(self.left)
        self.whole = sum(self.left.values())
        self.begin = begin

    def take(self, line):
        """A line of ctest's, which may say that a test has ended."""
        found = ENDED.match(line)
        if found:
            self.left.pop(found[1], None)

    def seconds_left(self, now):
        """None: not known yet."""
        left = sum(self.left.values())
        done = 1 - left / self.whole if self.whole else 0
        passed = now - self.begin
        if passed < LEAST_SECONDS or done < LEAST_SHARE:
            return None
        return passed * (1 - done) / done

    def line(self, now):
        words = [f"{self.name}: {self.tests - len(self.left)}/{self.tests} "
                 "tests", f"{int(now - self.begin) // MINUTE} min"]
        left = self.seconds_left(now)
        if left is not None:
            words.append(f"about {round(left / MINUTE)} more"
                         if left >= MINUTE / 2 else "less than 1 more")
        return ", ".join(words)


class Screen:
    """Whole lines of ctest's, and the line of progress among them."""

    def __init__(self, out, terminal, every):
        self.out = out
        self.terminal = terminal
        self.every = every
        self.shown = time.monotonic()

    def write(self, text):
        # the next line takes the place of the one about progress
        self.out.write(("\r\033[K" if self.terminal and text else "") + text)
        self.out.flush()

    def show(self, progress):
        now = time.monotonic()
        if self.terminal:
            width = os.get_terminal_size(self.out.fileno()).columns or 80
            self.write(progress.line(now)[:width - 1])
        elif now - self.shown >= self.every:
            self.write(f"-- {progress.line(now)}\n")
            self.shown = now


def follow(source, progress, screen):
    """Until the end of the input; a last line without an end is passed on."""
    rest = ""
    while True:
        ready, _, _ = select.select([source], [], [], min(screen.every, 1))
        if ready:
            chunk = os.read(source, 1 << 16)
            if not chunk:
                break
            whole, end, rest = (rest + chunk.decode("utf-8", "replace")
                                ).rpartition("\n")
            for line in whole.splitlines():
                progress.take(line)
            screen.write(whole + end)
        screen.show(progress)
    screen.write(rest)
    if screen.terminal:
        screen.write("\r\033[K")


def main(name, tests, costs, every=MINUTE):
    # the terminal's interrupt is for ctest, which says how far it came
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    progress = Progress(name, LISTED.findall(read(tests)),
                        read_costs(read(costs)), time.monotonic())
    follow(sys.stdin.fileno(), progress,
           Screen(sys.stdout, sys.stdout.isatty(), float(every)))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    main(*sys.argv[1:])
