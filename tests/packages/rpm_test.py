#!/usr/bin/env python3
"""The RPM packages: built by rpmbuild from a copy of the tree, installed into an empty folder, used there, and removed. This
is Debian: what they require of other packages is not looked at.

usage: rpm_test.py"""
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from package_sources import PROGRAM, VERSION, copy_of_the_tree, run

NAMES = {"openlapi", "openlapi-devel", "openlapi-doc", "openlapi-dpdk", "openlapi-libs", "openlapi-verbs"}


class RpmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="openlapi-rpm-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        copy_of_the_tree(cls.folder / "openlapi")
        for name in ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"):
            (cls.folder / "openlapi" / name).chmod(0o600)  # as of a checkout with umask 077
        run("rpmbuild", "-bb", "--build-in-place", "--nodeps", "--with", "quick", "--define",
            f"_topdir {cls.folder}/rpmbuild", "deploy/openlapi.spec", cwd=cls.folder / "openlapi")
        built = (cls.folder / "rpmbuild/RPMS").glob("*/*.rpm")
        cls.packages = {run("rpm", "-qp", "--queryformat", "%{NAME}", path): path for path in built}
        cls.root = cls.folder / "root"
        cls.root.mkdir()

    def rpm(self, *words):
        return run("rpm", "--root", self.root, "--dbpath", "/database", *words)

    def test_the_version_is_that_of_the_sources(self):
        for path in self.packages.values():
            self.assertEqual(run("rpm", "-qp", "--queryformat", "%{VERSION}", path), VERSION)

    def test_no_file_is_in_two_packages(self):
        files = [name for path in self.packages.values()
                 for name in run("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", path).splitlines()
                 if not name.startswith("d")]
        self.assertEqual(len(files), len(set(files)))

    def test_everybody_can_read_all_files(self):
        for path in self.packages.values():
            lines = run("rpm", "-qp", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", path).splitlines()
            self.assertEqual([line for line in lines if line[7] != "r"], [])

    def test_they_are_installed_used_and_removed(self):
        self.assertEqual(set(self.packages) - {f"{name}-debuginfo" for name in NAMES}, NAMES)
        self.rpm("--install", "--nodeps", *(self.packages[name] for name in sorted(NAMES)))
        self.rpm("--verify", "--nodeps", *sorted(NAMES))
        (self.folder / "program.c").write_text(PROGRAM)
        program, tools = self.folder / "program", self.root / "usr/bin"
        run(tools / "lapicc", self.folder / "program.c", "-o", program)
        self.assertEqual(sorted(run(tools / "lapirun", "-n", "2", program).splitlines()), ["0 got 1", "1 got 0"])
        universe = {"LAM_MPI_SESSION_PREFIX": str(self.folder)}
        schemas = self.root / "etc/openlapi"
        run(tools / "lamboot", "-H", "-c", schemas / "lam-conf.lamd", schemas / "lam-bhost.def", **universe)
        try:
            self.assertIn("n0", run(tools / "lamnodes", **universe))
        finally:
            run(tools / "lamhalt", "-H", **universe)
        self.rpm("--erase", "--nodeps", *sorted(NAMES))
        left = [path for path in self.root.rglob("*") if not path.is_dir() and "database" not in path.parts]
        self.assertEqual(left, [])


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("rpmbuild"):
        print("only root can install packages into a folder, and there has to be an rpmbuild")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
