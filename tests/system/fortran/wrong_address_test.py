#!/usr/bin/env python3
"""Fortran's run-time library tells where a program dies; before it does, the line of the library's own is there.

    wrong_address_test.py LAPIRUN PROGRAM"""
import os
import subprocess
import sys
import unittest

ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "handle_segv=0", "TSAN_OPTIONS": "handle_segv=0"}
LINE = "openlapi: task 1: memory fault at 0x1000 while it carries out for task 0: LAPI_Put of 8 bytes to 0x1000\n"


class WrongAddress(unittest.TestCase):
    def test_the_line_comes_before_the_backtrace(self):
        for shared_memory in "only", "no":
            result = subprocess.run([sys.argv[1], "-n", "2", sys.argv[2]], capture_output=True, text=True, timeout=60,
                                    env={**ENVIRONMENT, "LAPI_USE_SHM": shared_memory}, check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(LINE, result.stderr)
            self.assertGreater(result.stderr.find("SIGSEGV", result.stderr.find(LINE)), 0, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
