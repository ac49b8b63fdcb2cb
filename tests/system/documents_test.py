#!/usr/bin/env python3
"""What documents name of the build and of the sources is there.

usage: documents_test.py SOURCE_FOLDER BUILD_FOLDER"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
CONTRIBUTING = (SOURCE / "CONTRIBUTING.md").read_text(encoding="utf-8")


def introspected(what):
    return json.loads(subprocess.run(["meson", "introspect", f"--{what}", BUILD], check=True, capture_output=True,
                                     text=True).stdout)


class DocumentsTest(unittest.TestCase):
    def test_the_tests_that_contributing_runs_are_there(self):
        named = re.findall(r"^    meson test -C build (?!--)(\S+)", CONTRIBUTING, re.M)
        self.assertTrue(named)
        self.assertEqual(set(named) - {test["name"] for test in introspected("tests")}, set())

    def test_the_programs_that_contributing_runs_are_there(self):
        named = re.findall(r"^    build/(\S+)", CONTRIBUTING, re.M)
        self.assertTrue(named)
        built = {path for target in introspected("targets") for path in target["filename"]}
        self.assertEqual({name for name in named if str(BUILD / name) not in built}, set())

    def test_the_cases_that_contributing_runs_are_there(self):
        cases = re.findall(r"^    build/tests/unit/(\w+?)_\S+ --gtest_filter='(\w+)\.", CONTRIBUTING, re.M)
        self.assertTrue(cases)
        for folder, suite in cases:
            sources = "".join(path.read_text() for path in (SOURCE / "tests/unit" / folder).glob("*_test.cc"))
            self.assertIn(f"TEST({suite}, ", sources)

    def test_lapi_names_what_lapirun_sets_for_open_mpi(self):
        page = (SOURCE / "deploy/man/man7/lapi.7").read_text(encoding="utf-8")
        set_by_lapirun = set(re.findall(r"\bOMPI_MCA_\w+", (SOURCE / "control/launch/pmix_server.cc").read_text()))
        self.assertTrue(set_by_lapirun)
        self.assertEqual(set_by_lapirun - set(re.findall(r"\bOMPI_MCA_\w+", page)), set())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
