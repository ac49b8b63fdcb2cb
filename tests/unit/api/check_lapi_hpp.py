#!/usr/bin/env python3
"""lapi.hpp has all of lapi.h, and says what it needs when a compiler is not told C++20.

    check_lapi_hpp.py HEADERS CXX_COMPILER...
"""
import pathlib
import re
import subprocess
import sys
import unittest

API, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2:]

C = (API / "lapi.h").read_text(encoding="utf-8")
CXX = re.sub(r"//.*", "", "".join(file.read_text(encoding="utf-8") for file in sorted(API.glob("lapi*.hpp"))))
PAGE = (API.parents[1] / "deploy/man/man7/lapi.hpp.7").read_text(encoding="utf-8")
# What lapi.hpp leaves out, and why.
LEFT_OUT = {
    "LAPI_Address": "C++ takes addresses itself",
    "LAPI_Address_init": "LAPI_Address_init64 does the same for tasks of every word size",
    "plapi_init": "Fortran's",
}


def missing(names, left_out=()):
    return {name for name in names if not re.search(rf"\b{name}\b", CXX)} - set(left_out)


def complaints(standard):
    """Each error line of the compiler for a program that includes lapi.hpp."""
    command = [*COMPILER, f"-std={standard}", "-fsyntax-only", f"-I{API}", "-x", "c++", "-"]
    done = subprocess.run(command, input="#include <lapi.hpp>\n", capture_output=True, text=True, timeout=60, check=False)
    return [line for line in done.stderr.splitlines() if "error:" in line]


class CoverageTest(unittest.TestCase):
    functions = set(re.findall(r"^LAPI_PUBLIC [^;(]*?(\w+)\(", C, re.MULTILINE))

    def test_every_function_is_used(self):
        self.assertGreater(len(self.functions), 60)
        twins = {name for name in self.functions if "P" + name in self.functions}
        self.assertEqual({name for name in self.functions if name.startswith("PLAPI_")}, {"P" + name for name in twins})
        self.assertEqual(missing(twins, LEFT_OUT), set())
        self.assertEqual(self.functions - twins - {"P" + name for name in twins} - set(LEFT_OUT), set())

    def test_what_is_left_out_exists_and_is_not_used(self):
        self.assertEqual(set(LEFT_OUT) - self.functions, set())
        self.assertEqual(missing(LEFT_OUT), set(LEFT_OUT))

    def test_every_transfer_and_every_command_of_lapi_util_is_used(self):
        for type_name in ("lapi_xfer_type_t", "lapi_util_type_t"):
            body = re.search(r"typedef enum \{([^}]*)\} " + type_name, C)[1]
            names = re.findall(r"(\w+) = ", body)
            self.assertGreater(len(names), 7)
            self.assertEqual(missing(names), set())


class PageTest(unittest.TestCase):
    """Nobody should have to read the header to write a handler."""

    def test_every_member_of_a_structure_is_named(self):
        structures = re.findall(r"^struct (\w+) \{\n(.*?)^\};", CXX, re.MULTILINE | re.DOTALL)
        self.assertGreaterEqual({name for name, _ in structures},
                                {"Arrival", "BasicDelivery", "Fault", "Blocks", "RemoteSpan", "Signals"})
        for name, body in structures:
            members = re.findall(r"^  [\w:<>,* ]+?[ *](\w+)(?: = [^;]*|\{\})?;", body, re.MULTILINE)
            self.assertTrue(members, name)
            for member in members:
                self.assertRegex(PAGE, rf"\b{member}\b", f"{name}::{member} is not on the page")


class LanguageTest(unittest.TestCase):
    def test_an_older_language_is_refused_in_words(self):
        for standard in ("c++11", "c++17"):
            with self.subTest(standard=standard):
                self.assertIn("lapi.hpp needs C++20", "".join(complaints(standard)[:1]))

    def test_cxx20_and_its_gnu_form_are_enough(self):
        self.assertEqual(complaints("c++20") + complaints("gnu++20"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
