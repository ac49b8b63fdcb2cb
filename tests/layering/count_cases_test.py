#!/usr/bin/env python3
"""tests/count_cases.py counts what real logs of meson hold: no failure may be counted as a success."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT = pathlib.Path(__file__).resolve().parents[1] / "count_cases.py"
GTEST = """[==========] Running 3 tests from 1 test suite.
[ RUN      ] Shm.Opens
[       OK ] Shm.Opens (0 ms)
[ RUN      ] Shm.Closes/1
[  FAILED  ] Shm.Closes/1, where GetParam() = (2, "a b") (3 ms)
[ RUN      ] Shm.Talks
[  SKIPPED ] Shm.Talks (0 ms)
[==========] 3 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Shm.Talks
[  FAILED  ] 1 test, listed below:
[  FAILED  ] Shm.Closes/1, where GetParam() = (2, "a b")

 1 FAILED TEST
"""


def count(*tests):
    """What is printed for a log of these tests, as lines."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as log:
        for test in tests:
            log.write(json.dumps({"name": "t", "returncode": 0, **test}) + "\n")
        log.flush()
        done = subprocess.run([sys.executable, COUNT, log.name], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()


class CountCases(unittest.TestCase):
    def test_counts_the_cases_of_googletest(self):
        self.assertEqual(count({"result": "FAIL", "stdout": GTEST}),
                         ["1 1 1", "  failed: t: Shm.Closes/1", "  skipped: t: Shm.Talks"])

    def test_counts_the_cases_of_tasks_whose_output_is_tagged(self):
        log = "[0] [       OK ] A.B (1 ms)\n[1] [       OK ] A.B (1 ms)\n"
        self.assertEqual(count({"result": "OK", "stdout": log}), ["2 0 0"])

    def test_counts_tap(self):
        tap = "1..4\nok 1 - opens\nnot ok 2 - closes\nok 3 # SKIP no device\nok 4\n"
        self.assertEqual(count({"result": "FAIL", "stdout": tap}),
                         ["2 1 1", "  failed: t: closes", "  skipped: t: # SKIP no device"])

    def test_a_plain_program_is_one_case(self):
        self.assertEqual(count({"result": "OK", "stdout": "hello\n"}, {"result": "OK"}), ["2 0 0"])
        self.assertEqual(count({"result": "FAIL", "returncode": 3}), ["0 1 0", "  failed: t: fail (exit status 3)"])
        self.assertEqual(count({"result": "SKIP", "returncode": 77}), ["0 0 1", "  skipped: t: whole test"])

    def test_a_crash_counts_besides_what_passed_before_it(self):
        log = "[       OK ] A.B (1 ms)\n[ RUN      ] A.C\n"
        self.assertEqual(count({"result": "FAIL", "returncode": -11, "stdout": log}),
                         ["1 1 0", "  failed: t: fail (exit status -11)"])
        self.assertEqual(count({"result": "TIMEOUT", "returncode": -15, "stdout": log})[0], "1 1 0")
        self.assertEqual(count({"result": "ERROR", "returncode": 127})[0], "0 1 0")


if __name__ == "__main__":
    unittest.main()
