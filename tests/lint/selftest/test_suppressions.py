"""lint/suppressions finds records without a reason, and of nothing of ours."""
import unittest

from sample import LintCase

SOURCES = {"device/kernels.c": "    MGDS_KERNEL_ROW(mgds_a, struct a),\n",
           "shim/gds/cuda/driver.def": "X(cuB, 1000, (int x))\n"}
FILE = "tools/compute-sanitizer.xml"


def tree(*lines):
    return {**SOURCES, FILE: "\n".join(["<o>", *lines, "</o>"])}


def record(tag, *names):
    inner = "".join(f"<{tag}>{name}</{tag}>" for name in names)
    return f"<record>{inner}</record>"


class Suppressions(LintCase):
    lint = "suppressions"

    def test_a_kernel_and_a_call_with_reasons_pass(self):
        self.accept(tree("<!-- why -->", record("func", "mgds_a"),
                         record("api", "cuB_v2")))

    def test_what_has_no_reason(self):
        self.refuse(tree(record("func", "mgds_a")), [f"{FILE} reason"])

    def test_what_is_not_ours(self):
        self.refuse(tree("<!-- why -->", record("func", "mgds_gone")),
                    [f"{FILE} name"])

    def test_what_names_nothing_suppresses_all(self):
        self.refuse(tree("<!-- why -->", record("func")), [f"{FILE} name"])


if __name__ == "__main__":
    unittest.main()
