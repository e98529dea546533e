"""What the set-up tests share: places, running a command, folders that go
away, and ctest's exit statuses (77: skipped, the last line says why)."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from no_input import NO_INPUT  # noqa: E402 (the path comes first)

SOURCE = pathlib.Path(os.environ["MGDS_SOURCE"])
BUILD = pathlib.Path(os.environ["MGDS_BUILD"])


def run(*command, env=None, cwd=None, timeout=60):
    """Both outputs as text, the status in .returncode. An env of None for a
    name takes the variable away."""
    full = dict(os.environ)
    for name, value in (env or {}).items():
        full.pop(name, None)
        if value is not None:
            full[name] = str(value)
    return subprocess.run([str(word) for word in command], env=full, cwd=cwd,
                          stdin=NO_INPUT, capture_output=True,
                          text=True, timeout=timeout, check=False)


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def keep_manifest(case):
    """The target uninstall goes by the last installation; what a developer
    has installed from this build tree is to stay the last one."""
    for name in ("install_manifest.txt", "install_folders.txt"):
        path = BUILD / name
        old = path.read_bytes() if path.exists() else None
        if old is None:
            case.addClassCleanup(path.unlink, missing_ok=True)
        else:
            case.addClassCleanup(path.write_bytes, old)
            path.unlink()


def install(prefix):
    """Installs this build; at most one test at a time (RESOURCE_LOCK)."""
    done = run("cmake", "--install", BUILD, "--prefix", prefix)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


class SetupCase(unittest.TestCase):
    """A test with a folder of its own, in self.folder."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mgds setup "))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def ok(self, *command, **how):
        """Runs it, fails the test with what it said unless it returns 0."""
        done = run(*command, **how)
        self.assertEqual(done.returncode, 0,
                         f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout


def main():
    result = unittest.main(exit=False, verbosity=2).result
    sys.stderr.flush()
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped:
        print(result.skipped[0][1])
        sys.exit(77)
