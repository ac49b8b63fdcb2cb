#!/usr/bin/env python3
"""What bench/compare_builds makes of what programs print.   compare_builds_test.py COMPARE_BUILDS"""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PATH = sys.argv[1]
LOADER = importlib.machinery.SourceFileLoader("compare", PATH)
COMPARE = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", LOADER))
LOADER.exec_module(COMPARE)

LAPIRUN = """#!/bin/sh
while [ "$1" != --json ]; do shift; done
cp "$(dirname "$0")/../rows.json" "$2"
"""


class Compare(unittest.TestCase):
    def build(self, put, bench):
        """A build whose programs print these times, in ns."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        row = {"transport": "shm", "operation": "put", "variant": "", "size": 8, "median_us": put / 1000}
        (root / "rows.json").write_text(json.dumps({"rows": [row, {**row, "size": 64, "median_us": None}]}))
        printed = json.dumps({"benchmarks": [{"name": "get", "real_time": bench, "time_unit": "ns"}]})
        programs = {"control/lapirun": LAPIRUN, "bench/lapi_perf": "#!/bin/sh\n"}
        programs.update({f"bench/{name}": f"#!/bin/sh\necho '{printed}'\n" for name in COMPARE.BENCHMARKS})
        for name, text in programs.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        return root

    def compare(self, before, after, *options):
        return subprocess.run([PATH, before, after, "--rounds", "2", *options], capture_output=True, text=True)

    def test_what_is_no_slower_passes(self):
        result = self.compare(self.build(300, 80), self.build(304, 84))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("no row is worse", result.stdout)
        self.assertRegex(result.stdout, r"shm put 8 +300\.0 +304\.0 +1\.013\n")
        self.assertEqual(len(result.stdout.splitlines()), 2 + len(COMPARE.BENCHMARKS))

    def test_what_is_slower_is_named(self):
        result = self.compare(self.build(300, 80), self.build(307, 80), "--only", "put")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("1.023  worse\n1 rows are worse", result.stdout)

    def test_both_bounds_must_be_passed(self):
        self.assertFalse(COMPARE.slower(100, 104.9), "5 ns")
        self.assertFalse(COMPARE.slower(1000, 1019), "2 %")
        self.assertTrue(COMPARE.slower(100, 106))
        self.assertTrue(COMPARE.slower(1000, 1021))

    def test_instructions_are_those_of_an_operation(self):
        text = ("fn=(1) put(benchmark::State&)\n1 10\ncfn=(2) openlapi::ShmTransport::send_burst(unsigned)\ncalls=3 0\n1 5\n"
                "cfn=(3) other()\ncalls=9 0\n1 5\ncfn=(2)\ncalls=1 0\n1 5\n\ntotals: 800\n")
        self.assertEqual(COMPARE.instructions(text, 1), 200)
        self.assertEqual(COMPARE.instructions(text, 2), 400)

    def test_a_row_without_packets_is_said(self):
        with self.assertRaisesRegex(SystemExit, "no packet"):
            COMPARE.instructions("fn=(1) put(benchmark::State&)\n1 10\n\ntotals: 0\n", 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
