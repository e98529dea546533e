"""lint/comments: openings, work left to do, banners and white space."""
import unittest

from sample import LintCase

OPENING = "/* A queue of requests, one for each peer. */\n"


class Comments(LintCase):
    lint = "comments"

    def test_clean_files_pass(self):
        self.accept({
            "a.c": OPENING + "/* TODO(#12) and FIXME #7 name issues */\n"
                             'const char *s = "TO" "DO";\nint dash = 1 - 2;\n',
            "b.h": "/* The ring that sender and receiver share. */\n"
                   "/* see https://a.b/c */\n/* +--------+--------+\n *   ^ head           */\n",
            "c.py": '#!/usr/bin/env python3\n"""Prints what tables say."""\n',
            "d.sh": "#!/bin/sh\n# Starts the ranks of one job.\n",
            "CMakeLists.txt": "add_subdirectory(shim)\n"})

    def test_missing_opening(self):
        self.refuse({"a.c": "int x;\n", "b.h": "/* b.h */\nint x;\n",
                     "c.cu": "/* Copyright 2024 of some people we know */\n",
                     "d.py": "import os\n", "e.sh": "#!/bin/sh\necho\n"},
                    ["a.c:1 opening", "b.h:1 opening", "c.cu:1 opening",
                     "d.py:1 opening", "e.sh:1 opening"])

    def test_work_left_to_do_names_its_issue(self):
        mark = "TO" + "DO"
        self.refuse({"a.c": OPENING + f"int x; /* {mark}: better */\n",
                     "CMakeLists.txt": f"# {mark} later\n"},
                    ["a.c:2 todo", "CMakeLists.txt:1 todo"])

    def test_comments_of_slashes(self):
        self.refuse({"a.c": OPENING + 'char *s = "//"; // x\nint y; /* // */\n',
                     "b.cu": "// The kernels that tests launch.\n"},
                    ["a.c:2 slashes", "b.cu:1 slashes"])

    def test_banner(self):
        self.refuse({"a.c": OPENING + "/" + "*" * 40 + "/\n// ---------- x\n"},
                    ["a.c:2 banner", "a.c:3 banner", "a.c:3 slashes"])

    def test_white_space(self):
        self.refuse({"a.c": OPENING + "\tint x;\nint y; \n" + "x" * 81},
                    ["a.c:2 tab", "a.c:3 trailing", "a.c:4 columns",
                     "a.c trailing"])


if __name__ == "__main__":
    unittest.main()
