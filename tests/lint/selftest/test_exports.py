"""lint/exports: symbols beside the tables and foreign libraries are found."""
import os
import subprocess
import unittest

from sample import LintCase

CC = os.environ.get("CC", "cc")
TABLES = {
    "shim/pmpi/mpi_table.def": "/* Send(1, 2) in words is no row. */\n"
                               "MGDS_CALL(Barrier, 1, COLL,\n    BUFFER)\n"
                               "MGDS_CALL_C(Send, 6, P2P, BUFFER)\n",
    "shim/pmpi/mpix_table.def": "MGDS_MPIX(Gds_query, 2)\n"}
NAMES = ["MPI_Barrier", "MPI_Send", "MPI_Send_c", "MPIX_Gds_query"]
ALL = NAMES + ["P" + n for n in NAMES]


class Exports(LintCase):
    lint = "exports"

    def library(self, names, *flags):
        """A shared library that defines these functions; its path."""
        path = os.path.join(self.root, "lib.so")
        source = "".join(f"int {n}(void);\nint {n}(void) {{ return 0; }}\n"
                         for n in names)
        subprocess.run([CC, "-shared", "-fPIC", "-o", path, "-x", "c", "-",
                        "-x", "none"] + list(flags),
                       input=source, text=True, check=True)
        return path

    def test_tables_and_symbols_agree(self):
        path = self.library(ALL)
        self.accept(TABLES, "--library", path)

    def test_symbol_versions_do_not_matter(self):
        self.write({"a.map": "MGDS_1 { global: *MPI*; local: *; };\n"})
        path = self.library(ALL + ["hidden"],
                            f"-Wl,--version-script={self.root}/a.map")
        self.accept(TABLES, "--library", path)

    def test_extra_and_missing_symbols(self):
        path = self.library(ALL[1:] + ["mgds_leak"])
        output = self.refuse(TABLES, [f"{path} extra", f"{path} missing"],
                             "--library", path)
        self.assertIn("mgds_leak", output)
        self.assertIn("MPI_Barrier", output)

    def test_foreign_library_is_linked(self):
        path = self.library(ALL, "-Wl,--no-as-needed", "-lm")
        self.refuse(TABLES, [f"{path} needed"], "--library", path)

    def test_sanitizer_runtime_only_in_sanitizer_builds(self):
        stub = os.path.join(self.root, "stub.so")
        os.rename(self.library(["__ubsan_stub"], "-Wl,-soname,libubsan.so.1"),
                  stub)
        path = self.library(ALL + ["__odr_asan_gen_x"],
                            "-Wl,--no-as-needed", stub)
        self.refuse(TABLES, [f"{path} extra", f"{path} needed"], "--library",
                    path)
        self.accept(TABLES, "--library", path, "--sanitize", "address")

    def test_library_or_table_not_there(self):
        self.assertIn("not built",
                      self.run_lint(TABLES, "--library", "/none.so")[1])
        path = self.library(ALL)
        os.remove(os.path.join(self.root, "shim/pmpi/mpi_table.def"))
        status, output = self.run_lint({}, "--library", path)
        self.assertEqual(status, 1)
        self.assertIn("not found", output)

    def test_row_of_an_unknown_kind(self):
        tree = dict(TABLES)
        tree["shim/pmpi/mpi_table.def"] += "MGDS_CAL(Recv, 7, P2P, BUFFER)\n"
        status, output = self.run_lint(tree, "--library", self.library(ALL))
        self.assertEqual(status, 1)
        self.assertIn("mpi_table.def:5: row kind MGDS_CAL", output)


if __name__ == "__main__":
    unittest.main()
