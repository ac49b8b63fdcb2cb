#!/usr/bin/env python3
"""A task that is killed by another's wrong address says whose it was.   wrong_address_test.py LAPIRUN PROGRAM"""
import os
import subprocess
import sys
import unittest

LAPIRUN, PROGRAM = sys.argv[1:3]
# Where the program, or a sanitizer, has a handler, that one speaks.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "handle_segv=0", "TSAN_OPTIONS": "handle_segv=0"}
TEXTS = {"put": "LAPI_Put of 8 bytes to {}\n", "long": "LAPI_Put of 1048576 bytes to {}\n",
         "get": "LAPI_Get of 8 bytes from {}\n", "rmw": "LAPI_Rmw of {}\n"}


def run(operation, **variables):
    result = subprocess.run([LAPIRUN, "-n", "2", PROGRAM, operation], capture_output=True, text=True, timeout=60,
                            stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **variables})
    return result, result.stdout.strip()


class WrongAddress(unittest.TestCase):
    def check(self, operation, **variables):
        result, address = run(operation, **variables)
        self.assertEqual(result.returncode, 128 + 11, result.stderr)
        text = f"openlapi: task 1: memory fault at {address} while it carries out for task 0: " + \
            TEXTS[operation].format(address)
        self.assertIn(text, result.stderr)

    def test_over_shared_memory(self):
        for operation in ("put", "get", "rmw"):
            self.check(operation, LAPI_USE_SHM="only")

    def test_over_udp(self):
        for operation in TEXTS:
            self.check(operation, LAPI_USE_SHM="no")

    def test_it_can_be_turned_off(self):
        result, _ = run("put", OPENLAPI_EXPLAIN_FAULTS="no")
        self.assertEqual(result.returncode, 128 + 11, result.stderr)
        self.assertNotIn("memory fault", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
