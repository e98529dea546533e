"""lint/names: prefixes of visible functions, typedefs, include order."""
import unittest

from sample import LintCase


class Names(LintCase):
    lint = "names"

    def test_clean_files_pass(self):
        self.accept({
            "shim/gds/qp.c": '#include "qp.h"\n\n#include <errno.h>\n\n'
                             '#include "shim/base/log.h"\n'
                             "static int helper(void)\n{\n}\n"
                             "int mgds_qp_init(void)\n{\n}\n",
            "sim/cuda/abi.h": "typedef struct {\n    struct { int x; } a;\n"
                              "} CUuuid;\n",
            "shim/gds/qp.h": "typedef struct mgds_qp *mgds_handle;\n"
                             "typedef void (*mgds_cb)(struct mgds_qp *);\n"
                             "#ifdef A\n#include \"x.h\"\n#endif\n"
                             "#include <stdint.h>\n",
            "tools/probe/gpu.c": '#include "tools/probe/probe.h"\n'
                                 "#include <errno.h>\n",
            "tools/qp.c": '#include <errno.h>\n#include "shim/gds/qp.h"\n',
            "shim/gds/qp_test.c": '#include <errno.h>\n#include "qp.h"\n',
            "shim/pmpi/wrap.c": "int MPI_Send(void)\n{\n}\n",
            "device/ring.h": "void mpix_gds_put(void)\n{\n}\n",
            "tools/run.c": "int anything(void)\n{\n}\n"})

    def test_visible_function_without_prefix(self):
        self.refuse({"shim/gds/qp.c": "int qp_init(void)\n{\n}\n",
                     "shim/gds/mr.c": "int MPI_Send(void)\n{\n}\n",
                     "device/ring.h": "void put(void)\n{\n}\n"},
                    ["shim/gds/qp.c:1 prefix", "shim/gds/mr.c:1 prefix",
                     "device/ring.h:1 prefix"])

    def test_function_without_object(self):
        self.refuse({"shim/gds/wire/bell.c": "static void look(void)\n{\n}\n"
                     "static void look_at_bell(void)\n{\n}\n",
                     "shim/base/log.c": "static void look(void)\n{\n}\n"},
                    ["shim/gds/wire/bell.c:1 object"])

    def test_struct_typedef(self):
        self.refuse({"a.h": "typedef struct { int x; } pair;\n"
                            "typedef struct q q;\n"
                            "typedef union { struct { int y; } z; } u[2];\n"
                            "typedef struct r *handle;\n"},
                    ["a.h:1 typedef", "a.h:2 typedef", "a.h:3 typedef"])

    def test_include_order(self):
        self.refuse({"a.c": '#include <errno.h>\n#include "a.h"\n'
                            '#include "log.h"\n#include <mpi.h>\n'},
                    ["a.c:2 order", "a.c:4 order"])


if __name__ == "__main__":
    unittest.main()
