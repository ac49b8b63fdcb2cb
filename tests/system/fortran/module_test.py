#!/usr/bin/env python3
"""The module lapi against lapif(7): every call is there with its arguments, one that is forgotten or of another kind is
refused, and programs that were written for lapif.h compile with the module and run.

    module_test.py LAPIRUN HEADERS BUILT_API_FOLDER MAN_PAGE_FOLDER GFORTRAN
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LAPIRUN, API, BUILT, MAN = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
GFORTRAN = sys.argv[5]
PROGRAMS = pathlib.Path(__file__).resolve().parent
SOURCE = re.sub(r"&\n *", "", (API / "lapi.f90").read_text(encoding="utf-8"))
PAGE = (MAN / "man7" / "lapif.7").read_text(encoding="utf-8")
CALLS = dict(re.findall(r"^(LAPI_\w+)\((.*ierror)\)$", PAGE, re.MULTILINE))
EITHER = ("_of_", "_to_")  # procedures of a generic call are named after it, and after what they take

DECLARATIONS = """program statement
  use lapi
  implicit none
  integer :: handle, task, error, rest, numbers(4)
  integer(kind=LAPI_ADDR_TYPE) :: there, table(8)
  integer(kind=8) :: wide
  real, volatile :: data(10, 10)
  type(LAPI_CNTR_T) :: counter
  type(LAPI_VEC_T) :: vector
  type(LAPI_INFO_T) :: info
  external :: handler
"""
RIGHT = [
    "LAPI_INIT(handle, info, error)",
    "LAPI_QENV(handle, QUERY_SHM_TASKS, numbers, error)",
    "LAPI_ADDRESS(data, there, error)",
    "LAPI_ADDRESS(handler, there, error)",
    "LAPI_ADDRESS_INIT(handle, LAPI_ADDR_NULL, table, error)",
    "LAPI_ADDR_SET(handle, there, 5, error)",
    "LAPI_ADDR_SET(handle, handler, 5, error)",
    "LAPI_PUT(handle, 1, 4_LAPI_LONG_TYPE, there, data, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)",
    "PLAPI_PUT(handle, 1, 4_LAPI_LONG_TYPE, there, data(:, 2), there, LAPI_ADDR_NULL, counter, error)",
    "LAPI_AMSEND(handle, 1, handler, numbers, 4, task, 4_LAPI_LONG_TYPE, there, counter, counter, error)",
    "LAPI_AMSEND(handle, 1, 5, 0, 0, LAPI_ADDR_NULL, 0_LAPI_LONG_TYPE, there, counter, counter, error)",
    "LAPI_AMSENDV(handle, 1, there, numbers, 4, vector, there, counter, counter, error)",
    "PLAPI_AMSENDV(handle, 1, handler, numbers, 4, vector, there, counter, counter, error)",
    "LAPI_RMW64(handle, SWAP, 1, there, wide, LAPI_ADDR_NULL, counter, error)",
    "LAPI_WAITCNTR(handle, counter, 1, rest, error)",
    "LAPI_WAITCNTR(handle, counter, 1, LAPI_ADDR_NULL, error)",
]
WRONG = [
    "LAPI_PUT(handle, 1, 4_LAPI_LONG_TYPE, there, data, LAPI_ADDR_NULL, LAPI_ADDR_NULL, error)",  # a counter too few
    "LAPI_PUT(handle, 1, 4, there, data, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)",  # a short length
    "LAPI_PUT(handle, 1, 4_LAPI_LONG_TYPE, data, data, LAPI_ADDR_NULL, counter, LAPI_ADDR_NULL, error)",  # no address
    "LAPI_AMSEND(handle, 1, handler, numbers, 4, task, 4_LAPI_LONG_TYPE, there, counter, error)",
    "LAPI_AMSEND(handle, 1, 5, 0, 0, LAPI_ADDR_NULL, 0, there, counter, counter, error)",
    "LAPI_WAITCNTR(handle, counter, 1, error)",
    "LAPI_WAITCNTR(handle, numbers, 1, LAPI_ADDR_NULL, error)",
    "LAPI_GFENCE(handle)",
]


def gfortran(folder, *words):
    """How the compiler ends, and how many errors it finds. As lapifort calls it."""
    command = [GFORTRAN, "-fallow-argument-mismatch", "-fmax-errors=0", f"-I{BUILT}", "-J", folder, *words]
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, len(re.findall("^Error:", done.stderr, re.MULTILINE)), done.stderr


class ModuleTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="openlapi-module-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def check(self, text, *options):
        source = self.folder / "program.f90"
        source.write_text(text, encoding="utf-8")
        return gfortran(self.folder, "-fsyntax-only", *options, source)

    def run_with_module(self, sources, *arguments):
        """What a job of two tasks prints."""
        status, _, errors = gfortran(self.folder, "-no-pie", *sources, "-o", "program", f"-L{BUILT}", "-llapi",
                                     f"-Wl,-rpath,{BUILT}")
        self.assertEqual(status, 0, errors)
        done = subprocess.run([LAPIRUN, "-n", "2", self.folder / "program", *arguments], capture_output=True, text=True,
                              timeout=60, env=dict(os.environ, LAPI_USE_SHM="only"), check=False)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout.splitlines()

    def test_every_call_has_the_arguments_of_the_page(self):
        self.assertGreater(len(CALLS), 30)
        procedures = re.findall(r"^ +subroutine (\w+)\((.*?)\)", SOURCE, re.MULTILINE)
        for name, arguments in CALLS.items():
            begins = tuple(name.lower() + word for word in EITHER)
            found = {given for procedure, given in procedures
                     if procedure == name or procedure.startswith(begins)}
            self.assertEqual(found, {arguments}, name)

    def test_every_call_and_every_twin_has_an_interface(self):
        names = [*CALLS, *("P" + name for name in CALLS)]
        calls = "\n".join(f"  call {name}()" for name in names)
        status, errors, text = self.check(f"{DECLARATIONS}{calls}\nend program\n")
        self.assertEqual((status != 0, errors), (True, len(names)), text)

    def test_right_calls_compile(self):
        calls = "\n".join("  call " + call for call in RIGHT)
        strict = ["-Wall", "-Wextra", "-pedantic", "-std=f2018", "-Werror", "-Wno-unused-variable",
                  "-Wno-uninitialized", "-ffree-line-length-none"]
        status, _, errors = self.check(f"{DECLARATIONS}{calls}\nend program\n", *strict)
        self.assertEqual(status, 0, errors)

    def test_a_forgotten_argument_and_one_of_another_kind_do_not_compile(self):
        for call in WRONG:
            status, errors, text = self.check(f"{DECLARATIONS}  call {call}\nend program\n", "-ffree-line-length-none")
            self.assertEqual((status != 0, errors), (True, 1), call + text)

    def test_the_program_of_the_page_runs(self):
        program = re.search(r"^\.EX\n(.*?)^\.EE", PAGE, re.MULTILINE | re.DOTALL)[1].replace("\\-", "-")
        self.assertIn("use lapi\n", program)
        source = self.folder / "neighbours.f90"
        source.write_text(program, encoding="utf-8")
        lines = [line.split() for line in self.run_with_module([source])]
        self.assertEqual(sorted(lines), [["0", "got", "1"], ["1", "got", "0"]])

    def test_programs_written_for_lapif_h_run_with_the_module(self):
        frame = (PROGRAMS / "case.f90").read_text(encoding="utf-8")
        changed = frame.replace("  include 'lapif.h'\n", "").replace("  use, ", "  use lapi\n  use, ", 1)
        self.assertEqual(changed.count("use lapi\n"), 1)
        (self.folder / "case.f90").write_text(changed, encoding="utf-8")
        for name in ("messages", "programs", "transfer", "util", "xfer"):
            with self.subTest(program=name):
                output = self.run_with_module([self.folder / "case.f90", PROGRAMS / f"{name}.f90"], "interrupt")
                self.assertRegex(output[-1], r"^1\.\.\d$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
