"""The scripts parse, and shellcheck finds nothing in them."""

import shutil
import unittest

import setup_case
from setup_case import SOURCE, run

FOLDERS = [".", ".ci", "tools/setup", "tests/setup"]


def is_shell(path):
    if not path.is_file():
        return False
    with open(path, "rb") as script:
        first = script.readline(80)
    return path.suffix == ".sh" or first.startswith(
        (b"#!/usr/bin/env bash", b"#!/bin/sh", b"#!/bin/bash"))


def scripts():
    return sorted(path for folder in FOLDERS
                  for path in (SOURCE / folder).iterdir() if is_shell(path))


class Scripts(setup_case.SetupCase):

    def test_the_two_commands_and_ci_are_executable(self):
        for name in ("check", "demo", ".ci/run"):
            path = SOURCE / name
            self.assertIn(path, scripts())
            self.assertTrue(path.stat().st_mode & 0o111, name)

    def test_every_script_parses(self):
        for script in scripts():
            with self.subTest(script=script.name):
                self.ok("bash", "-n", script)

    @unittest.skipUnless(shutil.which("shellcheck"), "no shellcheck here")
    def test_shellcheck_finds_nothing(self):
        # The parts in .sh are read where they are sourced.
        entries = [path for path in scripts() if path.suffix != ".sh"]
        done = run("shellcheck", "-x", "-a", *entries, cwd=SOURCE)
        self.assertEqual(done.returncode, 0, done.stdout)


setup_case.main()
