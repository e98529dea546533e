"""An installation that was moved still works, and programs can be built on
it by pkg-config and by CMake's find_package."""

import os
import re
import shutil
import unittest

import readme
import setup_case
from setup_case import BUILD, SOURCE, install, keep_manifest, run

MPICC = os.environ["MGDS_MPICC"]
MPIEXEC = os.environ["MGDS_MPIEXEC"]
VERSION = os.environ["MGDS_VERSION"]
CLIENT = SOURCE / "tests/setup/client.c"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(client LANGUAGES C)
find_package({package} {version} REQUIRED)
add_executable(client {source})
target_link_libraries(client {package}::mpix_gds)
"""


class Install(setup_case.SetupCase):

    @classmethod
    def setUpClass(cls):
        """Installed once, for all tests, and moved."""
        first = BUILD / "tests/installed"
        cls.prefix = BUILD / "tests/installed-and-moved"
        for folder in (first, cls.prefix):
            shutil.rmtree(folder, ignore_errors=True)
        keep_manifest(cls)
        install(first)
        first.rename(cls.prefix)
        cls.lib = next(cls.prefix.rglob("libmpix_gds.so")).parent
        cls.addClassCleanup(shutil.rmtree, cls.prefix)

    def test_no_text_names_the_old_place_or_the_build(self):
        texts = [path for path in self.prefix.rglob("*")
                 if path.suffix in (".pc", ".cmake", ".h")]
        self.assertGreaterEqual(len(texts), 5)
        for path in texts:
            text = path.read_text(encoding="utf-8")
            self.assertNotIn(str(BUILD), text, path)
            self.assertNotIn(str(SOURCE), text, path)

    def objects(self):
        """Every ELF file that was installed, with its dynamic section."""
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF":
                yield path, self.ok("readelf", "-d", path)

    @unittest.skipUnless(shutil.which("readelf"), "no readelf here")
    def test_only_what_links_the_library_has_a_runpath(self):
        linked = 0
        for path, dynamic in self.objects():
            found = re.findall(r"(?:RUN|R)PATH.*\[(.*)\]", dynamic)
            links = re.search(r"NEEDED.*libmpix_gds", dynamic) is not None
            linked += links
            self.assertEqual(found, ["$ORIGIN/../../lib"] if links else [],
                             path)
        self.assertGreaterEqual(linked, 5)

    @unittest.skipUnless(shutil.which("readelf"), "no readelf here")
    def test_library_has_its_minor_version_in_its_soname(self):
        soname = "libmpix_gds.so." + VERSION.rpartition(".")[0]
        said = self.ok("readelf", "-d", self.lib / "libmpix_gds.so")
        self.assertIn(f"SONAME)             Library soname: [{soname}]", said)
        self.assertEqual((self.lib / "libmpix_gds.so").readlink().name, soname)
        self.assertEqual((self.lib / soname).readlink().name,
                         "libmpix_gds.so." + VERSION)

    def test_folders_of_others_hold_nothing_but_ours(self):
        named = {path.name for folder in ("bin", "lib")
                 for path in (self.prefix / folder).iterdir()}
        self.assertEqual(named, {
            "mpix-gds-bench", "mpix-gds-cc", "mpix-gds-doctor",
            "mpix-gds-plot", "mpix-gds-probe", "mpix-gds-run", "mpix-gds-trace",
            "mpix-gds-verify-hca",
            "libmpix_gds.so",
            "libmpix_gds.so." + VERSION.rpartition(".")[0],
            "libmpix_gds.so." + VERSION, "cmake", "mpix-gds", "pkgconfig"})

    def test_changelog_begins_with_this_version(self):
        text = (self.prefix / "share/doc/mpix-gds/CHANGELOG.md").read_text()
        self.assertEqual(re.search(r"(?m)^## \[(.*?)\] - 20\d\d-\d\d-\d\d$",
                                   text)[1], VERSION)

    def test_launcher_finds_the_library(self):
        said = self.ok(self.prefix / "bin/mpix-gds-run", "--version")
        self.assertIn(VERSION, said)

    def test_doctor_finds_the_installation_in_order(self):
        done = run(self.prefix / "bin/mpix-gds-doctor",
                   "--launcher", f"{MPIEXEC} -n 2")
        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"ok +installation +.*{VERSION}")

    def test_two_ranks_run_a_benchmark_on_the_software_gpu(self):
        said = self.ok(MPIEXEC, "-n", "2", self.prefix / "bin/mpix-gds-bench",
                       "--sim=gpu", "latency_enqueue", "-m", "8:8", "-i", "10", "-x", "1")
        self.assertRegex(said, r"(?m)^8\s")

    def test_compiler_wrapper_takes_sources_with_mpi_h_alone(self):
        program = self.folder / "only_mpi"
        self.ok(self.prefix / "bin/mpix-gds-cc", "-o", program,
                SOURCE / "tests/api/only_mpi.c")
        said = self.ok(MPIEXEC, "-n", "2", program)
        self.assertIn("only_mpi: all well", said)

    def test_readme_says_how_to_build_by_pkg_config(self):
        """What README says, run as it stands there."""
        recipe = readme.commands("cmake --install")
        self.assertTrue(recipe[-1].startswith("mpiexec"), recipe)
        # No blank in its path, as README demands of installations.
        home = BUILD / "tests/installed-by-readme"
        shutil.rmtree(home, ignore_errors=True)
        self.addCleanup(shutil.rmtree, home)
        home.mkdir()
        (home / "build").symlink_to(BUILD)
        shutil.copy2(CLIENT, home / "app.c")
        said = self.ok("bash", "-e", "-c", "\n".join(recipe), cwd=home,
                       env={"HOME": home, "LD_LIBRARY_PATH": None})
        self.assertEqual(len(re.findall(r"library (\d+) header \1 active 1",
                                        said)), 2, said)
        said = self.ok("pkg-config", "--modversion", "mpix-gds", env={
            "PKG_CONFIG_PATH": next(home.rglob("mpix-gds.pc")).parent})
        self.assertEqual(said.strip(), VERSION)

    def find_package(self, package, version):
        (self.folder / "CMakeLists.txt").write_text(PROJECT.format(
            package=package, version=version, source=CLIENT))
        return run("cmake", "-G", "Ninja",
                   "-S", self.folder, "-B", self.folder / package,
                   f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   f"-DCMAKE_C_COMPILER={MPICC}")

    def test_client_builds_by_find_package(self):
        for package in ("mpix-gds", "mpix_gds"):
            done = self.find_package(package, VERSION)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.ok("cmake", "--build", self.folder / package)
            self.check_client(self.folder / package / "client")

    def test_find_package_refuses_another_minor_version(self):
        major, minor, _ = VERSION.split(".")
        for package in ("mpix-gds", "mpix_gds"):
            done = self.find_package(package, f"{major}.{int(minor) + 1}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("compatible with requested version", done.stderr)

    def check_client(self, program):
        """Alone, and under the launcher, which must not load it twice."""
        for words in ([program], [self.prefix / "bin/mpix-gds-run", program]):
            said = self.ok(MPIEXEC, "-n", "1", *words)
            self.assertRegex(said, r"library (\d+) header \1 active 1")

    def uninstall(self):
        return run("cmake", "--build", BUILD, "--target", "uninstall")

    def test_uninstalling_leaves_what_is_not_of_the_installation(self):
        prefix = self.folder / "usr[1]"  # and no pattern
        theirs = {prefix / "bin/theirs", prefix / "share/doc/theirs",
                  prefix / "lib/pkgconfig/mpix-gds.pc.old"}
        empty = prefix / "libexec"
        for path in theirs:
            path.parent.mkdir(parents=True)
        empty.mkdir()
        install(prefix)
        theirs.add(prefix / "include/mpix_gds/theirs.h")
        for path in theirs:
            path.write_text("theirs")
        (prefix / "bin/mpix-gds-cc").unlink()
        self.assertEqual(self.uninstall().returncode, 0)
        left = set(prefix.rglob("*"))
        self.assertEqual(left, theirs | {empty} | {
            parent for path in theirs for parent in path.parents
            if prefix in parent.parents})

        done = self.uninstall()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("it is uninstalled already",
                      " ".join((done.stdout + done.stderr).split()))

    def test_moved_installation_is_not_uninstalled(self):
        prefix = self.folder / "usr"
        install(prefix)
        prefix.rename(self.folder / "elsewhere")
        done = self.uninstall()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("an installation that was moved is removed as a folder",
                      " ".join((done.stdout + done.stderr).split()))

    @unittest.skipUnless(shutil.which("readelf"), "no readelf here")
    def test_library_needs_the_c_library_only(self):
        said = self.ok("readelf", "-d", self.lib / "libmpix_gds.so")
        needed = re.findall(r"NEEDED.*\[(.*)\]", said)
        self.assertEqual(needed, ["libc.so.6"])


setup_case.main()
