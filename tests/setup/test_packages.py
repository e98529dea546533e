"""The package table, and how apt is driven from it."""

import re

import setup_case
from setup_case import SOURCE, run, write_program

TABLE = SOURCE / "tools/setup/packages.tsv"
ROW = re.compile(r"^([a-z0-9][a-z0-9+.-]+) +(build|test|all|long) +(\S.*)$")


def rows():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


class Table(setup_case.SetupCase):

    def test_every_row_is_package_when_and_purpose(self):
        for row in rows():
            self.assertRegex(row, ROW)

    def test_no_package_is_listed_twice(self):
        names = [row.split()[0] for row in rows()]
        self.assertEqual(len(names), len(set(names)))

    def test_packages_are_selected_by_when(self):
        script = (f'top="{SOURCE}"; . "$top/tools/setup/packages.sh"; '
                  'packages_for build; echo ==; packages_for build test all; '
                  'echo ==; packages_for long')
        build, usual, late = self.ok("bash", "-c", script).split("==\n")
        self.assertIn("cmake\n", build)
        self.assertNotIn("valgrind", build)
        self.assertNotIn("qemu-system-x86", usual)
        self.assertEqual((usual + late).split(), [r.split()[0] for r in rows()])


class Apt(setup_case.SetupCase):
    """Against a fake apt-get and dpkg-query that keep their state in files."""

    APT = """#!/bin/bash
state='{folder}'
echo "$*" >>"$state/calls"
case " $* " in
*" update "*) touch "$state/updated" ;;
*" --print-uris "*) [ -e "$state/updated" ] ;;
*" install "*)
    if [ -e "$state/stale" ] && [ ! -e "$state/updated" ]; then exit 100; fi
    for word in "$@"; do
        case $word in alpha|beta) echo "$word" >>"$state/installed" ;; esac
    done ;;
esac
"""
    DPKG = """#!/bin/bash
state='{folder}'
while read -r name; do
    printf 'install ok installed\\t%s\\n' "$name"
done <"$state/installed"
exit 1
"""

    def setUp(self):
        super().setUp()
        for name, text in (("apt-get", self.APT), ("dpkg-query", self.DPKG),
                           ("id", "#!/bin/sh\necho 0\n")):
            write_program(self.folder / "bin" / name,
                          text.replace("{folder}", str(self.folder)))
        (self.folder / "installed").touch()
        table = self.folder / "tools/setup/packages.tsv"
        table.parent.mkdir(parents=True)
        table.write_text("# comment\n\nalpha build a\nbeta test b\n"
                         "gamma all c\n", encoding="utf-8")

    def need(self, *when):
        script = (f'top="{self.folder}"; . "{SOURCE}/tools/setup/common.sh"; '
                  f'. "{SOURCE}/tools/setup/packages.sh"; need_packages "$@"')
        return run("bash", "-c", script, "bash", *when,
                   env={"PATH": f"{self.folder}/bin:/usr/bin:/bin"})

    def calls(self):
        return (self.folder / "calls").read_text(encoding="utf-8")

    def test_lists_are_fetched_when_there_are_none(self):
        done = self.need("build", "test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls().count(" update"), 1)
        self.assertIn("alpha beta", self.calls())

    def test_lists_are_left_alone_when_they_serve(self):
        (self.folder / "updated").touch()
        self.assertEqual(self.need("build").returncode, 0)
        self.assertNotIn(" update", self.calls())
        self.assertNotIn("beta", self.calls())

    def test_installed_packages_are_not_touched(self):
        (self.folder / "installed").write_text("alpha\n", encoding="utf-8")
        self.assertEqual(self.need("build").returncode, 0)
        self.assertFalse((self.folder / "calls").exists())

    def test_package_that_stays_missing_is_named(self):
        done = self.need("build", "all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("still missing: gamma", done.stderr)

    def test_a_locked_dpkg_is_waited_for_with_a_limit(self):
        self.need("build")
        self.assertRegex(self.calls(), r"DPkg::Lock::Timeout=\d+")


setup_case.main()
