"""lint/boundaries sees each door broken, and nothing in a clean tree."""
import unittest

from sample import LintCase

CLEAN = {
    "shim/pmpi/p2p.c": '#include <mpi.h>\n#include "shim/gds/match.h"\n'
                       "int MPI_Send(void) { return 0; }\n",
    "shim/gds/match.h": '#include "shim/gds/cuda/driver.h"\n'
                        '#include "device/abi.h"\n',
    "shim/gds/cuda/driver.h": '#include <cuda.h>\n'
                              "CUresult cuInit(unsigned);\n",
    "shim/gds/cuda/driver.c": 'const char *n = "libcuda.so.1";\n',
    "shim/gds/hca/qp.c": "#include <infiniband/mlx5dv.h>\n"
                         "void *q(void) { return ibv_alloc_pd(0); }\n",
    "shim/gds/wire/ucx.h": "#include <ucp/api/ucp.h>\n",
    "shim/base/config.c": 'char *c(void) { return getenv("A"); }\n',
    "shim/base/log.c": "void l(void) { write(2, 0, 0); }\n",
    "shim/base/config.h": "struct c { int depth; };\n",
    "shim/base/stats.c": '#include "config.h"\n'
                         'void d(FILE *f) { fprintf(f, "x"); }\n',
    "device/abi.h": "/* asm, getenv and <mpi.h> in words are fine */\n",
    "device/impl/mem.h": 'void f(void) { __asm__("nop"); }\n',
    "shim/gds/cuda/driver_abi.h": "enum { MGDS_ABI };\n",
    "sim/cuda/stream.c": '#include "shim/gds/cuda/driver_abi.h"\n'
                         '#include <cuda.h>\n#include "device/abi.h"\n',
    "tools/doctor.c": '#include "shim/gds/cuda/driver.h"\n'
                      '#include "shim/base/config.h"\n'
                      'int main(void) { printf("%s", getenv("A")); }\n',
    "tests/unit/match.c": '#include <mpi.h>\n#include "shim/gds/match.h"\n',
}


class Boundaries(LintCase):
    lint = "boundaries"

    def broken(self, path, text, *expected):
        tree = dict(CLEAN)
        tree[path] = text
        return self.refuse(tree, [f"{path}:{e}" for e in expected])

    def test_clean_tree_passes(self):
        self.accept(CLEAN)

    def test_looking_at_nothing_is_no_pass(self):
        status, output = self.run_lint({"README.md": "no code\n"})
        self.assertEqual(status, 1)
        self.assertIn("no files found", output)

    def test_mpi_outside_pmpi(self):
        self.broken("shim/gds/req.c", "#include <mpi.h>\nMPI_Comm c;\n",
                    "1 mpi-door", "2 mpi-door")

    def test_cuda_outside_its_door(self):
        self.broken("shim/gds/req.c", "#include <cuda.h>\nCUstream s;\n"
                    "void f(void) { cuStreamSynchronize(s); }\n"
                    'const char *n = "libcuda.so";\n',
                    "1 cuda-door", "2 cuda-door", "3 cuda-door",
                    "4 libcuda-name")

    def test_cuda_in_device_and_public_headers(self):
        self.broken("device/ring.h", "#include <cuda_runtime.h>\n",
                    "1 cuda-door")
        self.refuse({"include/mpix_gds.h": "#include <cuda.h>\n"},
                    ["device/ring.h:1 cuda-door",
                     "include/mpix_gds.h:1 cuda-door"])

    def test_transports_by_name_in_a_protocol(self):
        self.broken("shim/gds/proto/rget.c", "void *t = &mgds_p2p;\n"
                    "int p = MGDS_PATH_SELF;\n",
                    "1 transport", "2 transport")

    def test_verbs_outside_hca(self):
        self.broken("shim/gds/req.c", "#include <infiniband/verbs.h>\n"
                    "struct ibv_qp *q;\n"
                    'const char *n = "libmlx5.so.1";\n',
                    "1 hca-door", "2 hca-door", "3 hca-door")

    def test_what_is_never_done_with_an_hca(self):
        self.broken("shim/gds/hca/qp.c", "void f(void) {\n"
                    "ibv_post_send(q, w, b);\nibv_wr_start(q);\n"
                    "ibv_poll_cq(c, 1, w);\n"
                    "int a = IBV_ACCESS_RELAXED_ORDERING;\n"
                    "int b = MLX5DV_QP_CREATE_OOO_DP;\n}\n",
                    "2 hca-never", "3 hca-never", "4 hca-never",
                    "5 hca-never", "6 hca-never")
        self.broken("shim/gds/hca/qp.c",
                    'const char *n = "MLX5_POST_SEND_PREFER_BF=0";\n',
                    "1 hca-never")
        self.accept({**CLEAN, "shim/gds/hca/qp.c":
                     "int f(void) { return IBV_ACCESS_LOCAL_WRITE; }\n"})

    def test_ucx_outside_wire(self):
        self.broken("shim/gds/wire_util.c", "#include <ucp/api/ucp.h>\n"
                    "ucp_worker_h w;\n", "1 ucx-door", "2 ucx-door")

    def test_environment_read_outside_config(self):
        self.broken("shim/base/lock.c",
                    'char *a = 0; char *f(void) { return getenv("X"); }\n'
                    "extern char **environ;\n", "1 env-door", "2 env-door")

    def test_printing_outside_log(self):
        self.broken("shim/gds/req.c", "void f(void) {\n"
                    'printf("x");\nfprintf(stderr, "x");\nwrite(2, "", 0);\n'
                    'perror("");\ndprintf(2, "");\n}\n',
                    "2 print-door", "3 print-door", "4 print-door",
                    "5 print-door", "6 print-door")

    def test_assembler_outside_mem_h(self):
        self.broken("sim/cuda/spin.c", 'void f(void) { asm("pause"); }\n',
                    "1 asm-door")

    def test_base_may_not_look_up(self):
        self.broken("shim/base/lock.c", '#include "shim/gds/match.h"\n',
                    "1 layers")

    def test_doors_may_not_see_each_other(self):
        self.broken("shim/gds/hca/mr.c", '#include "../cuda/driver.h"\n',
                    "1 layers")

    def test_device_depends_on_nothing(self):
        self.broken("device/ring.h", '#include "shim/base/config.h"\n',
                    "1 layers")

    def test_tools_may_not_use_the_engine(self):
        self.broken("tools/run.c", '#include "shim/gds/match.h"\n'
                    '#include "shim/base/stats.c"\n', "1 layers", "2 layers")

    def test_sim_may_not_use_the_engine(self):
        self.broken("sim/hca/engine.c", '#include "shim/gds/match.h"\n'
                    '#include "shim/gds/cuda/driver.h"\n', "1 layers",
                    "2 layers")

    def test_hca_engine_needs_the_c_library_alone(self):
        self.broken("sim/hca/engine.c", '#include <infiniband/verbs.h>\n'
                    '#include "shim/base/config.h"\n', "1 engine-door",
                    "2 layers")

    def test_conditional_code_is_seen(self):
        self.broken("shim/gds/req.c", "#if 0\n#include <mpi.h>\n#endif\n",
                    "2 mpi-door")

    def test_exception_needs_a_reason_and_a_use(self):
        tree = dict(CLEAN)
        tree["shim/gds/req.c"] = "MPI_Comm c;\n"
        row = "boundaries/mpi-door | shim/gds/req.c | because\n"
        tree["tests/lint/exceptions.txt"] = row
        self.accept(tree)
        tree["tests/lint/exceptions.txt"] = row.replace("because", "")
        self.assertEqual(self.run_lint(tree)[0], 1)
        tree["tests/lint/exceptions.txt"] = row
        tree["shim/gds/req.c"] = "int c;\n"
        status, output = self.run_lint(tree)
        self.assertEqual(status, 1)
        self.assertIn("excuses nothing", output)


if __name__ == "__main__":
    unittest.main()
