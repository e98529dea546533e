"""lint/sleeps finds sleeping tests in each language we write tests in."""
import unittest

from sample import LintCase

NAP = "sle" + "ep"


class Sleeps(LintCase):
    lint = "sleeps"

    def test_waiting_for_events_passes(self):
        self.accept({
            "tests/unit/a.c": f"/* no {NAP}(1) here */\n"
                              f'const char *s = "{NAP}(1)";\n'
                              "void f(void) { poll(fds, 1, 10); }\n",
            "tests/lib/a.py": f"# time.{NAP}(1) would be wrong\n",
            "tests/a.sh": f"# {NAP} 1\ngrep {NAP} file\n",
            "shim/base/nap.c": f"void f(void) {{ u{NAP}(20); }}\n"})

    def test_sleeping_tests(self):
        self.refuse({
            "tests/unit/a.c": f"void f(void) {{\n{NAP}(1);\nu{NAP}(1);\n"
                              f"nano{NAP}(&t, 0);\npoll(NULL, 0, 5);\n}}\n",
            "tests/lib/a.py": f"import time\ntime.{NAP}(1)\n",
            "tests/a.sh": f"start & {NAP} 1\n",
            "tests/b": f"#!/bin/bash\nwhile x; do {NAP} 0.1; done\n"},
            [f"tests/unit/a.c:{n} sleep" for n in (2, 3, 4, 5)]
            + ["tests/lib/a.py:2 sleep", "tests/a.sh:1 sleep",
               "tests/b:2 sleep"])


if __name__ == "__main__":
    unittest.main()
