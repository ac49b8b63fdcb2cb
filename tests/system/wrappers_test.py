#!/usr/bin/env python3
"""What the compiler wrappers answer by themselves; that they compile is shown by install_test.py.

usage: wrappers_test.py WRAPPER_FOLDER VERSION"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER, VERSION = pathlib.Path(sys.argv[1]), sys.argv[2]
COMPILERS = {"lapicc": "cc", "lapicxx": "c++", "lapifort": "gfortran"}


def run(wrapper, *words, **environment):
    return subprocess.run(["sh", FOLDER / wrapper, *words], capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, **environment))


def answer(wrapper, *words, **environment):
    done = run(wrapper, *words, **environment)
    assert (done.returncode, done.stderr) == (0, ""), f"{wrapper} {words}: {done}"
    return done.stdout


class WrappersTest(unittest.TestCase):
    def test_help_says_which_options_are_the_wrappers(self):
        for wrapper in COMPILERS:
            text = answer(wrapper, "--help")
            self.assertTrue(text.startswith(f"usage: {wrapper} "), text)
            for word in ("--show", "--showme", "--version", "-m32", "LAPI_TRACE_LIBRARY"):
                self.assertIn(word, text)
            self.assertNotIn("@", text)

    def test_version_is_the_compilers_and_then_ours(self):
        for wrapper, compiler in COMPILERS.items():
            if not shutil.which(compiler):
                continue
            lines = answer(wrapper, "--version").splitlines(keepends=True)
            self.assertEqual(lines[-1], f"{wrapper} (openlapi) {VERSION}\n")
            self.assertEqual("".join(lines[:-1]), subprocess.check_output([compiler, "--version"], text=True))

    def test_showme_is_show(self):
        for wrapper, compiler in COMPILERS.items():
            shown = answer(wrapper, "--showme", "-O2", "program.o")
            self.assertEqual(shown, answer(wrapper, "--show", "-O2", "program.o"))
            self.assertTrue(shown.startswith(compiler + " "), shown)
            self.assertIn(" -llapi", shown)

    def test_the_habits_of_mpis_wrappers_are_answered(self):
        for wrapper in COMPILERS:
            self.assertEqual(answer(wrapper, "-show", "-O2", "program.o"), answer(wrapper, "--show", "-O2", "program.o"))
            compiling, linking = (answer(wrapper, f"--showme:{part}").split() for part in ("compile", "link"))
            self.assertTrue(any(word.startswith("-I") for word in compiling), compiling)
            self.assertFalse(any(word.startswith(("-L", "-l")) for word in compiling), compiling)
            self.assertIn("-llapi", linking)
            self.assertFalse(any(word.startswith("-I") for word in linking), linking)
            words = shlex.split(answer(wrapper, "-compile-info")), shlex.split(answer(wrapper, "-link-info"))
            self.assertEqual([any(word.startswith("-I") for word in command) for command in words], [True, True])
            self.assertEqual(["-llapi" in command for command in words], [False, True])
            done = run(wrapper, "--showme:libs")
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"{wrapper}: --showme:libs: allowed behind the colon is compile or link\n"))

    def test_what_is_shown_can_be_pasted_into_a_shell(self):
        words = ["sp ace/it's.c", "-o", "o u t", "", "-DX=$HOME", "-O2"]
        shown = shlex.split(answer("lapicc", "--show", *words))
        self.assertEqual([word for word in shown if word in words], words)

    def test_what_is_not_there_is_named(self):
        for wrapper, variable in (("lapicc", "LAPI_CC"), ("lapicxx", "LAPI_CXX"), ("lapifort", "LAPI_FC")):
            done = run(wrapper, "x.c", **{variable: "no-such-compiler -O1"})
            self.assertEqual(done.returncode, 127)
            self.assertEqual(done.stderr, f"{wrapper}: there is no compiler no-such-compiler here; {variable} names another\n")

    def test_a_wrong_value_is_refused(self):
        done = run("lapicc", "x.c", LAPI_TRACE_LIBRARY="1")
        self.assertEqual((done.returncode, done.stderr), (1, "lapicc: LAPI_TRACE_LIBRARY=1: allowed is yes or no\n"))

    def test_a_tracing_library_that_is_not_there_is_named(self):
        for wrapper in COMPILERS:  # beside these in the build folder there is none
            done = run(wrapper, "--show", "x.o", LAPI_TRACE_LIBRARY="yes")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, rf"^{wrapper}: LAPI_TRACE_LIBRARY=yes: there is no library that traces; "
                                          r"looked for: /\S+/openlapi/liblapi\.so\n$")
            self.assertIn(" -c ", answer(wrapper, "--show", "-c", "x.c", LAPI_TRACE_LIBRARY="yes"))

    def test_another_fortran_compiler_gets_no_options_of_gfortrans(self):
        self.assertIn(" -fallow-argument-mismatch ", answer("lapifort", "--show", "x.f90", LAPI_FC="gfortran-12 -g"))
        for compiler in ("flang", "ifx -g"):
            shown = answer("lapifort", "--show", "x.f90", LAPI_FC=compiler)
            self.assertTrue(shown.startswith(compiler + " "), shown)
            self.assertNotIn("argument-mismatch", shown)

    @unittest.skipUnless(shutil.which("gfortran"), "there is no gfortran here")
    def test_gfortran_gets_them_by_whatever_name_it_is_called(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("gfortran"), f"{folder}/f95")
            for compiler in (f"{folder}/f95 -g", "env gfortran"):
                shown = answer("lapifort", "--show", "x.f90", LAPI_FC=compiler)
                self.assertTrue(shown.startswith(compiler + " -fallow-argument-mismatch "), shown)

    def test_version_is_told_without_a_compiler_too(self):
        self.assertEqual(answer("lapifort", "--version", LAPI_FC="no-such-compiler"), f"lapifort (openlapi) {VERSION}\n")

    def test_a_variable_names_the_compiler(self):
        self.assertTrue(answer("lapicc", "--showme", "program.c", LAPI_CC="clang -O1").startswith("clang -O1 "))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
