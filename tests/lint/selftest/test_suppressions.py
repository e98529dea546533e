"""lint/suppressions finds records without a reason, and of nothing of ours."""
import unittest

from sample import LintCase

SOURCES = {"shim/gds/cuda/driver.def": "X(cuB, 1000, (int x))\n"}
FILE = "tools/compute-sanitizer.xml"


def tree(*lines):
    return {**SOURCES, FILE: "\n".join(["<o>", *lines, "</o>"])}


def record(tag, *names):
    inner = "".join(f"<{tag}>{name}</{tag}>" for name in names)
    return f"<record>{inner}</record>"


class Suppressions(LintCase):
    lint = "suppressions"

    def test_a_call_with_a_reason_passes(self):
        self.accept(tree("<!-- why -->", record("api", "cuB_v2")))

    def test_what_has_no_reason(self):
        self.refuse(tree(record("api", "cuB")), [f"{FILE} reason"])

    def test_a_reason_is_of_one_record(self):
        self.refuse(tree("<!-- why -->", record("api", "cuB"),
                         record("api", "cuB")), [f"{FILE} reason"])

    def test_what_is_not_ours(self):
        self.refuse(tree("<!-- why -->", record("api", "cuGone")),
                    [f"{FILE} name"])

    def test_a_kernel_which_is_not_suppressed(self):
        self.refuse(tree("<!-- why -->", record("func", "mgds_a")),
                    [f"{FILE} name"])

    def test_what_names_nothing_suppresses_all(self):
        self.refuse(tree("<!-- why -->", record("api")), [f"{FILE} name"])


if __name__ == "__main__":
    unittest.main()
