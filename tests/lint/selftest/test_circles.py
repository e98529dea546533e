"""lint/circles: files that call each other are found."""
import os
import subprocess
import unittest

from sample import LintCase

CC = os.environ.get("CC", "cc")


def source(own, *called):
    """A file that defines own() and calls the others."""
    return ("".join(f"void {name}(void);\n" for name in (own, *called))
            + f"void {own}(void) {{"
            + "".join(f" {name}();" for name in called) + " }\n")


class Circles(LintCase):
    lint = "circles"

    def compile(self, **files):
        """Objects of shim/gds/x/NAME.c, as ninja lays them out."""
        folder = os.path.join(self.root, "build/shim/CMakeFiles/m.dir/gds/x")
        os.makedirs(folder)
        for name, called in files.items():
            subprocess.run([CC, "-c", "-x", "c", "-", "-o",
                            os.path.join(folder, name + ".c.o")],
                           input=source(name, *called), text=True, check=True)
        return ["--build", os.path.join(self.root, "build")]

    def test_layers_are_no_circle(self):
        self.accept({}, *self.compile(a=("b", "c"), b=("c",), c=("foreign",)))

    def test_circle_of_three(self):
        output = self.refuse(
            {}, ["shim/gds/x/a.c circle"],
            *self.compile(a=("b",), b=("c",), c=("a",), d=("a",)))
        self.assertIn("gds/x/b calls c of gds/x/c", output)
        self.assertNotIn("gds/x/d", output)

    def test_circles_apart(self):
        self.refuse({}, ["shim/gds/x/a.c circle", "shim/gds/x/c.c circle"],
                    *self.compile(a=("b",), b=("a", "c"), c=("d",), d=("c",)))

    def test_nothing_built(self):
        status, output = self.run_lint({}, "--build",
                                       os.path.join(self.root, "build"))
        self.assertEqual(status, 1, output)


if __name__ == "__main__":
    unittest.main()
