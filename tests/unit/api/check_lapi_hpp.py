#!/usr/bin/env python3
"""What a compiler says of lapi.hpp when it is not told C++20.

    check_lapi_hpp.py API_FOLDER CXX_COMPILER...
"""
import pathlib
import subprocess
import sys
import unittest

API, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2:]


def complaints(standard):
    """Each error line of the compiler for a program that includes lapi.hpp."""
    command = [*COMPILER, f"-std={standard}", "-fsyntax-only", f"-I{API}", "-x", "c++", "-"]
    done = subprocess.run(command, input="#include <lapi.hpp>\n", capture_output=True, text=True, timeout=60, check=False)
    return [line for line in done.stderr.splitlines() if "error:" in line]


class LanguageTest(unittest.TestCase):
    def test_an_older_language_is_refused_in_words(self):
        for standard in ("c++11", "c++17"):
            with self.subTest(standard=standard):
                self.assertIn("lapi.hpp needs C++20", "".join(complaints(standard)[:1]))

    def test_cxx20_and_its_gnu_form_are_enough(self):
        self.assertEqual(complaints("c++20") + complaints("gnu++20"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
