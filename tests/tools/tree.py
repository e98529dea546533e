"""An installation in a scratch folder: the programs under test beside a
library made for the test, so that every test also shows that it may move."""

import os
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["MGDS_BUILD_DIR"]
STUB = os.environ["MGDS_STUB_LIBRARY"]
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
        os.makedirs(os.path.join(root, "lib", "sim"))
        for name in self.programs:
            shutil.copy2(os.path.join(BUILD, "bin", name),
                         os.path.join(root, "bin", name))
        shutil.copy2(STUB, os.path.join(root, "lib", "libmpix_gds.so"))
        shutil.copy2(os.path.join(BUILD, "lib", "sim", "libmpix_sim_mpi.so"),
                     os.path.join(root, "lib", "sim"))

    def lib(self, *names):
        return os.path.join(self.root, "lib", *names)

    def bin(self, name):
        return os.path.join(self.root, "bin", name)

    def call(self, *command, env=None, drop=(), limit=LIMIT):
        """Runs command with env added to, and drop taken from, ours."""
        full = {k: v for k, v in os.environ.items()
                if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "UCX_MEM_EVENTS",
                             "MPIX_GDS_REQUIRE") and k not in drop}
        full.update(env or {})
        return subprocess.run(command, env=full, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=limit)

    def assert_one_line(self, done, status, *words):
        """done ended with status and said one line with all words in it."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
