"""A build carried to another place is tested there with its own test list."""

import setup_case
from setup_case import SOURCE, write_program

LIST = """subdirs("sub")
add_test([=[one]=] "{build}/tests/one" "{source}/data")
set_tests_properties([=[one]=] PROPERTIES  LABELS "quick" \
ENVIRONMENT "A={build}/lib;B={build}-other/lib")
"""
SUB = """add_test([=[two]=] "/old/bin/mpiexec.mpich" "-n" "2" "/no/where/bash" \
"--tool" "/no/where/mgds-no-such-tool")
set_tests_properties([=[two]=] PROPERTIES  LABELS "all")
"""
CACHE = """CMAKE_HOME_DIRECTORY:INTERNAL={source}
CMAKE_CACHEFILE_DIR:INTERNAL={build}
MGDS_MPIEXEC:FILEPATH=/old/bin/mpiexec.mpich
SHELL:FILEPATH=/no/where/bash
MGDS_TOOL:FILEPATH=/no/where/mgds-no-such-tool
"""


class Carried(setup_case.SetupCase):

    def setUp(self):
        super().setUp()
        old = {"source": "/old/src", "build": "/old/src/build"}
        self.build = self.folder / "build"
        (self.build / "sub").mkdir(parents=True)
        for name, text in (("CMakeCache.txt", CACHE),
                           ("CTestTestfile.cmake", LIST),
                           ("sub/CTestTestfile.cmake", SUB)):
            (self.build / name).write_text(text.format(**old))

    def carried(self):
        out = self.build / "logs/carried"
        self.ok("python3", SOURCE / "tools/setup/carried.py", self.build,
                "/new src", "/new/mpiexec", out)
        return out

    def test_paths_are_those_of_the_new_place(self):
        text = (self.carried() / "CTestTestfile.cmake").read_text()
        self.assertIn(f'"{self.build}/tests/one" "/new src/data"', text)
        self.assertIn(f"A={self.build}/lib;B=/new src/build-other/lib", text)

    def test_programs_come_from_this_machine(self):
        text = (self.carried() / "sub/CTestTestfile.cmake").read_text()
        self.assertIn('"/new/mpiexec" "-n" "2"', text)
        self.assertRegex(text, r'"/(usr/)?bin/bash"')

    def test_programs_that_are_nowhere_are_not_found(self):
        text = (self.carried() / "sub/CTestTestfile.cmake").read_text()
        self.assertIn('"--tool" "MGDS_TOOL-NOTFOUND"', text)

    def build_against_a_library_that_goes_away(self):
        library = self.folder / "libmgdsgone.so"
        source = self.folder / "x.c"
        (self.build / "tests").mkdir()
        source.write_text("int gone(void) { return 0; }")
        self.ok("cc", "-shared", source, "-o", library,
                f"-Wl,-soname,{library.name}")
        source.write_text("int gone(void); int main(void) { return gone(); }")
        self.ok("cc", source, "-o", self.build / "tests/one", library)
        library.unlink()

    def test_program_that_cannot_be_loaded_is_skipped_with_the_reason(self):
        self.build_against_a_library_that_goes_away()
        (self.build / "CTestTestfile.cmake").write_text(
            LIST.format(source="/old/src", build="/old/src/build")
            .replace('LABELS "quick"', 'LABELS "quick" SKIP_RETURN_CODE 77'))
        said = self.ok("ctest", "--test-dir", self.carried(), "-L", "^quick$",
                       "-V")
        self.assertIn("needs libmgdsgone.so: not on this machine", said)
        self.assertRegex(said, r"one .*\*\*\*Skipped")

    def test_a_second_time_changes_nothing(self):
        first = (self.carried() / "CTestTestfile.cmake").read_text()
        again = self.carried()
        self.assertEqual((again / "CTestTestfile.cmake").read_text(), first)
        self.assertFalse((again / "logs").exists())

    def test_ctest_runs_the_list(self):
        write_program(self.build / "tests/one", "#!/bin/sh\nexit 0\n")
        said = self.ok("ctest", "--test-dir", self.carried(), "-L", "^quick$",
                       "--no-tests=error")
        self.assertRegex(said, r"1/1 Test +#\d+: one .* Passed")


setup_case.main()
