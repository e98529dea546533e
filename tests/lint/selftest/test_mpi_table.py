"""lint/mpi_table: gaps, wrong arity and unknown names are found."""
import os
import sys
import unittest

from sample import LINT, LintCase

sys.path.insert(0, LINT)
import mpitables  # noqa: E402

TABLE = "shim/pmpi/mpi_table.def"
HEADER = """/* int MPI_Ignored(int a); */
int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag,
             MPI_Comm comm) MPICH_ATTR_POINTER_WITH_TYPE_TAG(1,3) PUBLIC;
int MPI_Send_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
               int tag, MPI_Comm comm)
               MPICH_ATTR_POINTER_WITH_TYPE_TAG(1,3) MPICH_API_PUBLIC;
int MPI_Finalize(void) MPICH_API_PUBLIC;
int MPI_Op_create(int (*fn)(int, int), int commute, MPI_Op *op) MPICH_API;
double MPI_Wtime(void) MPICH_API_PUBLIC;
int PMPI_Finalize(void) MPICH_API_PUBLIC;
"""
ROWS = "MGDS_CALL_C(Send, 6, P2P, BUFFER)\nMGDS_CALL(Finalize, 0, X, PASS)\n"


class MpiTable(LintCase):
    lint = "mpi_table"

    def tree(self, rows, header=HEADER):
        return {TABLE: rows, "shim/pmpi/mpix_table.def": "",
                "proto.h": header}

    def header(self):
        return ["--proto", os.path.join(self.root, "proto.h")]

    def test_prototypes_are_read_right(self):
        self.write({"proto.h": HEADER})
        found = mpitables.read_prototypes(os.path.join(self.root, "proto.h"))
        self.assertEqual(found, {"MPI_Send": 6, "MPI_Send_c": 6,
                                 "MPI_Finalize": 0, "MPI_Op_create": 3,
                                 "MPI_Wtime": 0})

    def test_complete_table_passes(self):
        self.accept(self.tree(ROWS), *self.header())

    def test_missing_row_and_missing_twin(self):
        self.refuse(self.tree("MGDS_CALL(Send, 6, P2P, BUFFER)\n"),
                    [f"{TABLE} absent", f"{TABLE} absent"], *self.header())

    def test_wrong_arity(self):
        self.refuse(self.tree(ROWS.replace("0", "1")),
                    [f"{TABLE}:2 arity"], *self.header())

    def test_misspelt_and_double_rows(self):
        self.refuse(self.tree(ROWS + "MGDS_CALL(Sned, 6, P2P, BUFFER)\n"
                              "MGDS_CALL(Finalize, 0, X, PASS)\n"),
                    [f"{TABLE}:3 unknown", f"{TABLE}:4 twice"],
                    *self.header())

    def test_row_that_groups_leave_out(self):
        self.refuse(self.tree(ROWS + "MGDS_CALL(Wtime, 0, X, PASS)\n"),
                    [f"{TABLE}:3 left-out"], *self.header())

    def test_name_of_a_newer_mpi_is_not_overlooked(self):
        newer = HEADER + "int MPI_Frobnicate(int a) MPICH_API_PUBLIC;\n"
        output = self.refuse(self.tree(ROWS, newer),
                             [f"{self.root}/proto.h unclassified"],
                             *self.header())
        self.assertIn("MPI_Frobnicate", output)


if __name__ == "__main__":
    unittest.main()
