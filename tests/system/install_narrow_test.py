#!/usr/bin/env python3
"""The 32-bit library beside the ordinary one: what `meson install` of its build gives, and that the compiler wrappers
choose it with -m32. Programs built so run from the installed tree alone.

usage: install_narrow_test.py ORDINARY_BUILD NARROW_BUILD"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ORDINARY, NARROW = sys.argv[1:3]
sys.argv[1:] = [ORDINARY]  # the programs' texts come from the test of the ordinary installation
from install_test import FORTRAN_PROGRAM, MODULE_PROGRAM, PROGRAM, run  # noqa: E402
from narrow_programs import narrow_command  # noqa: E402

os.environ.pop("LD_LIBRARY_PATH", None)  # programs find the installed library by themselves
WRAPPERS = ["lapicc", "lapicxx", "lapifort"]


def install_some(build, names, root):
    """What of an ordinary build is needed here; most of it need not be built."""
    places = json.loads(run("meson", "introspect", "--installed", build))
    for source, place in places.items():
        if os.path.basename(place) in names:
            target = root / place.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            target.chmod(0o755)


def fortran_links():
    done = subprocess.run(["gfortran", "-m32", "-x", "f95", "-", "-o", "/dev/null"], input="end\n", text=True,
                          capture_output=True, check=False) if shutil.which("gfortran") else None
    return done is not None and done.returncode == 0


class InstallNarrowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="openlapi-install-")
        cls.root = pathlib.Path(cls.folder.name)
        os.chmod(cls.root, 0o755)
        run("meson", "install", "--no-rebuild", "--quiet", "-C", NARROW, "--destdir", cls.root)
        install_some(ORDINARY, [*WRAPPERS, "lapirun"], cls.root)
        cls.prefix = next(path.parent.parent for path in cls.root.rglob("lapi.h"))
        cls.libdir = cls.prefix / "lib32"
        for name, text in {"program.c": PROGRAM, "program.cc": PROGRAM, "program.f": FORTRAN_PROGRAM,
                           "module.f": MODULE_PROGRAM}.items():
            (cls.root / name).write_text(text)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_runs(self, program, **environment):
        self.assertIn("ELF32", run("readelf", "-h", program))
        output = run(self.prefix / "bin/lapirun", "--standalone", "-n", "3", *narrow_command(program),
                     env=dict(os.environ, **environment))
        self.assertEqual(sorted(output.splitlines()), ["0 got 2", "1 got 0", "2 got 1"])

    def build(self, wrapper, source, *options, **environment):
        program = self.root / f"{source}.{wrapper}"
        run(self.prefix / "bin" / wrapper, "-m32", *options, self.root / source, "-o", program,
            env=dict(os.environ, **environment))
        return program

    def test_lapicc_builds_programs_that_run(self):
        self.check_runs(self.build("lapicc", "program.c", "-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"))

    def test_lapicxx_builds_programs_that_run(self):
        self.check_runs(self.build("lapicxx", "program.cc", "-std=c++17", "-Wall"))

    @unittest.skipUnless(fortran_links(), "no Fortran compiler for 32-bit programs")
    def test_lapifort_builds_programs_that_run(self):
        self.check_runs(self.build("lapifort", "program.f"))
        self.check_runs(self.build("lapifort", "module.f"))

    def test_the_tracing_library_writes_what_is_called(self):
        program = self.build("lapicc", "program.c", LAPI_TRACE_LIBRARY="yes")
        done = subprocess.run([self.prefix / "bin/lapirun", "--standalone", "-n", "2", *narrow_command(program)],
                              timeout=60, env=dict(os.environ, MP_LAPI_TRACE_LEVEL="2"), capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, r"(?m)^lapi-trace [01] .* LAPI_Put\(.* = 0 LAPI_SUCCESS$")

    def check_pkg_config(self, package, compiler, source):
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.libdir / "pkgconfig"),
                           PKG_CONFIG_SYSROOT_DIR=str(self.root))
        flags = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
        program = self.root / f"{source}.{package}"
        run(*compiler, "-m32", self.root / source, "-o", program, *flags)
        self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    def test_pkg_config_builds_programs_that_run(self):
        self.check_pkg_config("lapi", ["cc"], "program.c")

    @unittest.skipUnless(fortran_links(), "no Fortran compiler for 32-bit programs")
    def test_pkg_config_builds_fortran_programs_that_run(self):
        self.check_pkg_config("lapif", ["gfortran", "-no-pie"], "program.f")

    def test_the_last_word_size_counts(self):
        shown = run(self.prefix / "bin/lapicc", "--show", "-m32", "-m64", "program.o")
        self.assertNotIn("lib32", shown)
        shown = run(self.prefix / "bin/lapicc", "--show", "-m64", "-m32", "program.o")
        self.assertIn(f"-L{self.libdir} ", shown)

    def test_wrappers_find_the_library_of_debians_folders(self):
        prefix = self.root / "debian"
        (prefix / "lib/i386-linux-gnu").mkdir(parents=True)
        (prefix / "lib/i386-linux-gnu/liblapi.so").touch()
        (prefix / "bin").mkdir()
        shutil.copy(self.prefix / "bin/lapicc", prefix / "bin")
        self.assertIn(f"-L{prefix}/lib/i386-linux-gnu ", run(prefix / "bin/lapicc", "--show", "-m32", "program.o"))

    def test_wrappers_say_that_there_is_no_32_bit_library(self):
        bare = self.root / "bare"
        (bare / "bin").mkdir(parents=True)
        for wrapper in WRAPPERS:
            shutil.copy(self.prefix / "bin" / wrapper, bare / "bin")
            done = subprocess.run([bare / "bin" / wrapper, "-m32", "program.o"], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(done.stderr, f"{wrapper}: -m32: there is no 32-bit liblapi.so below {bare}; looked in: "
                                          "lib32 lib/i386-linux-gnu\n")
        shown = run(bare / "bin/lapicc", "--show", "-m32", "-c", "program.c")  # nothing is linked
        self.assertIn("-m32 -c program.c", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
