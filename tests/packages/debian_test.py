#!/usr/bin/env python3
"""The Debian packages: built by Debian's tools from a copy of the tree, installed into a bare Debian as deploy/Containerfile
does it, used there as a new user would, and purged.

usage: debian_test.py"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from bare_debian import ACCOUNT, BareDebian
from package_sources import PROGRAM, SOURCE, VERSION, container_stages, copy_of_the_tree, run

INSTALL = "apt-get install --yes --no-install-recommends"


class DebianTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="openlapi-debian-")
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.bare = BareDebian(cls.folder / "root", ["gcc-multilib", "systemd"])
        cls.addClassCleanup(cls.bare.stop)
        copy_of_the_tree(cls.folder / "openlapi")
        run("dpkg-buildpackage", "-b", "-us", "-uc", "-Ppkg.openlapi.quick", cwd=cls.folder / "openlapi",
            DEB_BUILD_OPTIONS="noautodbgsym")
        cls.packages = {path.name.split("_")[0]: path for path in cls.folder.glob("*.deb")}
        cls.bare.finish()

    def test_all_packages_are_built(self):
        control = (SOURCE / "debian/control").read_text()
        self.assertEqual(set(self.packages), set(re.findall(r"^Package: (\S+)", control, re.M)))

    def test_lintian_finds_no_errors(self):
        run("lintian", "--fail-on", "error", "--allow-root", *self.folder.glob("*.changes"))

    def test_the_version_is_that_of_the_sources(self):
        package = run("dpkg-parsechangelog", "--show-field", "Version", cwd=SOURCE).strip()
        self.assertEqual(package.rpartition("-")[0], VERSION)

    def test_they_are_installed_used_and_purged(self):
        (self.bare.folder / "packages").mkdir()
        for path in self.packages.values():
            shutil.copy(path, self.bare.folder / "packages")
        wanted = self.bare.run(f"{INSTALL} --simulate /packages/*.deb")
        needed = set(re.findall(r"^Inst (\S+)", wanted, re.M)) - set(self.packages)
        self.bare.run(f"{INSTALL} {' '.join(needed)}")
        before = self.bare.files()
        for line in container_stages()[-1]:
            self.bare.run(line)
        home = self.bare.folder / "home" / ACCOUNT
        (home / "program.c").write_text(PROGRAM)
        with self.subTest("programs"):
            self.use_library()
        with self.subTest("universe"):
            self.use_universe()
        with self.subTest("unit"):
            self.use_unit()
        with self.subTest("purged"):
            self.bare.run(f"apt-get purge --yes {' '.join(self.packages)}")
            left = self.bare.files() - before
            self.assertEqual({path for path in left if not path.startswith(f"/home/{ACCOUNT}/")}, set())

    def use_library(self):
        for line in ("lapicc program.c -o program", "cc program.c -llapi -o program"):
            output = self.bare.run(f"{line} && lapirun -n 2 ./program", ACCOUNT)
            self.assertEqual(sorted(output.splitlines()), ["0 got 1", "1 got 0"])
        self.bare.run("lapicc -m32 program.c -o program32", ACCOUNT)
        self.bare.run("LAPI_TRACE_LIBRARY=yes lapicc -m32 program.c -o traced32", ACCOUNT)
        if self.kernel_runs_32_bits():
            output = self.bare.run("lapirun --standalone -n 2 ./program32", ACCOUNT)
            self.assertEqual(sorted(output.splitlines()), ["0 got 1", "1 got 0"])
        modules = json.loads(self.bare.run("lapi_info --json", ACCOUNT))["transports"]
        self.assertEqual({module["name"] for module in modules if module["built"]} & {"verbs", "dpdk"}, {"verbs", "dpdk"})

    def kernel_runs_32_bits(self):
        """Some refuse all such programs; tests/run --suite narrow runs them in an emulator there."""
        self.bare.run("echo 'int main(void) { return 0; }' >empty.c; gcc -m32 empty.c -o empty", ACCOUNT)
        return "runs" in self.bare.run("./empty && echo runs || true", ACCOUNT)

    def use_universe(self):
        output = self.bare.run("lamboot -H; lamnodes; lapirun -n 2 ./program; lamhalt -H; ! grep -sx lamd /proc/[0-9]*/comm",
                               ACCOUNT)
        self.assertRegex(output, r"(?s)n0\b.*got.*got")

    def use_unit(self):
        output = self.bare.run_with_services("""
            mkdir -p ~/.config/openlapi
            hostname >~/.config/openlapi/hosts
            systemctl --user enable --now lamd
            export LAM_MPI_SESSION_PREFIX=$XDG_RUNTIME_DIR
            lamnodes
            lapirun -n 2 ./program
            systemctl --user stop lamd
            ! systemctl --user is-failed lamd
            ! grep -sx lamd /proc/[0-9]*/comm
            """)
        self.assertRegex(output, r"(?s)n0\b.*got.*got.*inactive")


if __name__ == "__main__":
    if BareDebian.obstacle():
        print(f"no bare Debian here: {BareDebian.obstacle()}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
