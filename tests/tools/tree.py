"""An installation in a scratch folder: the programs under test beside a
library made for the test, so that every test also shows that it may move."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

BUILD = os.environ["MGDS_BUILD_DIR"]
STUB = os.environ["MGDS_STUB_LIBRARY"]
LIBRARY = os.environ["MGDS_LIBRARY_NAME"]
SIM = os.path.join("mpix-gds", "sim")
RUNTIME = os.environ.get("MGDS_SANITIZER_RUNTIME", "")
MPIEXEC = os.environ["MGDS_MPIEXEC"]
LIMIT = 60  # seconds; nothing here takes more than a few


class TreeTest(unittest.TestCase):
    """self.root holds bin/ and lib/ as an install does."""

    programs = ("mpix-gds-run",)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="mpix tools.")
        self.addCleanup(scratch.cleanup)
        # A blank in the scratch folder, none in the tree: the loader could
        # not preload from there.
        self.scratch = scratch.name
        tree = tempfile.TemporaryDirectory(prefix="mpix-tree.")
        self.addCleanup(tree.cleanup)
        self.root = os.path.realpath(tree.name)
        self.install(self.root)

    def install(self, root):
        os.makedirs(os.path.join(root, "bin"))
        os.makedirs(os.path.join(root, "lib", SIM))
        for name in self.programs:
            shutil.copy2(os.path.join(BUILD, "bin", name),
                         os.path.join(root, "bin", name))
        shutil.copy2(STUB, os.path.join(root, "lib", LIBRARY))
        shutil.copy2(os.path.join(BUILD, "lib", SIM, "libmpix_sim_mpi.so"),
                     os.path.join(root, "lib", SIM))

    def lib(self, *names):
        return os.path.join(self.root, "lib", *names)

    def bin(self, name):
        return os.path.join(self.root, "bin", name)

    def call(self, *command, env=None, drop=(), limit=LIMIT):
        """Runs command with env added to, and drop taken from, ours."""
        full = {k: v for k, v in os.environ.items()
                if k not in ("LD_PRELOAD", "UCX_MEM_EVENTS",
                             "MPIX_GDS_REQUIRE") and k not in drop}
        # The tool itself is sanitized too, and tests preload before it.
        full["ASAN_OPTIONS"] = (full.get("ASAN_OPTIONS", "") +
                                ":verify_asan_link_order=0")
        full.update(env or {})
        return subprocess.run(command, env=full, stdin=NO_INPUT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=limit)

    def assert_one_line(self, done, status, *words):
        """done ended with status and said one line with all words in it."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
