#!/usr/bin/env python3
"""lapi_perf as a user runs it.   lapi_perf_test.py LAPIRUN LAPI_PERF"""
import html
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

LAPIRUN, LAPI_PERF = sys.argv[1:3]
FAST = ["--quick", "--iterations", "20"]


def run(*arguments, tasks=2, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MP_", "LAPI_"))}
    start = [LAPIRUN, "-n", str(tasks), LAPI_PERF] if tasks else [LAPI_PERF]
    return subprocess.run([*start, *arguments], capture_output=True, text=True, timeout=240, env={**clean, **environment})


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def table_rows(output):
    """First words of the table's rows."""
    names = ("put", "get", "am", "rate", "rmw", "wake")
    return [line.split() for line in output.splitlines() if line.startswith(names)]


class LapiPerf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name):
        return str(pathlib.Path(self.folder.name) / name)

    def check(self, result):
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_both_transports_all_operations(self):
        result = run(*FAST, "--sizes", "8,1K,64K", "--json", self.file("a.json"))
        self.check(result)
        self.assertIn("Shared memory, polling mode", result.stdout)
        self.assertIn("UDP, polling mode", result.stdout)
        rows = json.loads(pathlib.Path(self.file("a.json")).read_text())["rows"]
        self.assertEqual(len(table_rows(result.stdout)), len(rows))
        for wire in ("shm", "udp"):
            seen = {row["operation"] for row in rows if row["transport"] == wire}
            self.assertLessEqual({"put", "put-complete", "get", "am", "am-untouched", "am-inline", "am-thread", "put-both",
                                  "rate", "rmw"}, seen)
            variants = {(row["variant"], row["size"]) for row in rows
                        if row["operation"] == "rmw" and row["transport"] == wire}
            self.assertEqual(len(variants), 8)

    def test_direct_rows_are_beside_those_of_messages(self):
        result = run(*FAST, "--transport", "shm", "--sizes", "8,64K", "--ops", "get,rmw", OPENLAPI_DIRECT="auto")
        self.check(result)
        rows = [row[:2] for row in table_rows(result.stdout)]
        if "none directly (OPENLAPI_DIRECT): " in result.stdout:
            self.assertNotIn("message", result.stdout.split("F, half")[1].replace("all by message", ""))
            return
        self.assertEqual(rows[:3], [["get", "8"], ["get", "message"], ["get", "64K"]])
        self.assertEqual(rows[3:], [["rmw", kind] for kind in ("add", "or", "swap", "cas") for way in range(2)] * 2)
        self.assertEqual(result.stdout.count(" message "), 9, result.stdout)

    def test_why_nothing_goes_directly_is_said(self):
        limit = "ulimit -f 1000000; exec \"$@\""
        command = ["bash", "-c", limit, "bash", LAPIRUN, "-n", "2", LAPI_PERF, *FAST, "--transport", "shm", "--ops", "rmw"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=240,
                                env={**os.environ, "OPENLAPI_DIRECT": "auto"})
        self.check(result)
        self.assertIn("all by message, none directly (OPENLAPI_DIRECT): files may have 1024000000 bytes only", result.stdout)
        self.assertEqual(len(table_rows(result.stdout)), 8)

    def test_json_figures_fit_together(self):
        self.check(run(*FAST, "--transport", "shm", "--ops", "put,rate", "--sizes", "8,64K", "--json", self.file("a.json")))
        document = json.loads(pathlib.Path(self.file("a.json")).read_text())
        self.assertEqual(document["mode"], "polling")
        self.assertEqual(len(document["cores"]), 2)
        self.assertGreater(document["flag_us"], 0)
        self.assertEqual(document["schema"], "lapi_perf/1")
        self.assertEqual(f"lapi_perf {document['version']}\n", run("--version", tasks=0).stdout)
        self.assertEqual((document["processor"], document["kernel"]), (processor(), "Linux " + os.uname().release))
        self.assertEqual(document["units"], {"size": "bytes", "*_us": "microseconds", "*bandwidth": "bytes per second",
                                             "rate": "operations per second", "ratio": "library / floor"})
        # What else is in a row has no unit.
        self.assertEqual({name for name in document["rows"][0] if not name.endswith(("_us", "bandwidth"))},
                         {"transport", "operation", "variant", "size", "rate", "floor", "ratio", "samples", "repeats",
                          "unusual_state"})
        low, high = document["flag_bounds_us"]
        self.assertLess(low, document["flag_us"])
        self.assertGreater(high, document["flag_us"])
        for row in document["rows"]:
            self.assertGreater(row["median_us"], 0)
            self.assertGreaterEqual(row["p99_us"], row["median_us"])
            self.assertGreater(row["floor_us"], 0)
            self.assertGreater(row["ratio"], 0)
            self.assertTrue(row["floor"])
            if row["operation"] == "put":
                self.assertAlmostEqual(row["bandwidth"], row["size"] / row["median_us"] * 1e6, delta=row["bandwidth"] / 1e6)
            else:
                self.assertAlmostEqual(row["rate"], 1e6 / row["median_us"], delta=row["rate"] / 1e6)

    def test_plot(self):
        self.check(run(*FAST, "--ops", "put,get,am", "--sizes", "8,1K,64K", "--plot", self.file("a.svg")))
        text = pathlib.Path(self.file("a.svg")).read_text()
        xml.etree.ElementTree.fromstring(text)
        version = run("--version", tasks=0).stdout.split()[1]
        for word in ("Latency", "Bandwidth", "Ratio to the floor", "library / floor", "microseconds", "GB/s", "shm put",
                     "udp put", "udp put: floor", f"openlapi {version} between two tasks, polling mode",
                     "99th percentiles dotted", processor(), os.uname().release):
            self.assertIn(word, html.unescape(text))
        for colour in ("rgb(0,63,127)", "rgb(196,81,10)", "rgb(47,168,138)"):  # one for each operation
            self.assertIn(colour, text.replace(" ", ""))

    def test_plot_without_gnuplot(self):
        result = run("--plot", self.file("a.svg"), tasks=0, PATH="/nowhere")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--plot needs gnuplot", result.stderr)

    def test_interrupt_mode_gets_from_a_task_that_computes(self):
        result = run(*FAST, "--mode", "interrupt", "--ops", "get-computing")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("get-computing", result.stdout)

    def test_interrupt_mode_wakes_a_sleeper(self):
        result = run(*FAST, "--mode", "interrupt", "--ops", "wake")
        self.check(result)
        self.assertEqual([row[:2] for row in table_rows(result.stdout)],
                         [["wake", "spinning"], ["wake", "asleep"]] * 2)

    def test_pairs_of_more_tasks_than_cores(self):
        for pattern, pairs in (("adjacent", ["0 - 1", "2 - 3"]), ("halves", ["0 - 2", "1 - 3"])):
            result = run("--quick", "--pairs", pattern, tasks=4)
            self.check(result)
            for pair in pairs:
                self.assertEqual(result.stdout.count(pair), 2, result.stdout)

    def test_wrong_number_of_tasks(self):
        result = run("--transport", "shm", "--json", self.file("a.json"), tasks=3)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse(pathlib.Path(self.file("a.json")).exists(), "nothing was measured")
        self.assertIn("needs 2 tasks, this job has 3", result.stderr)
        result = run("--transport", "shm", "--pairs", tasks=3)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("even number of tasks, not 3", result.stderr)

    def test_operations_without_a_row_are_named_before_anything_is_measured(self):
        result = run(*FAST, "--transport", "shm", "--ops", "put,put-warm,am-inline", "--sizes", "8", "--json",
                     self.file("a.json"))
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("lapi_perf: --ops put-warm: nothing to measure with these sizes (--sizes)\n", result.stderr)
        self.assertFalse(pathlib.Path(self.file("a.json")).exists())

    def test_contradicting_environment(self):
        result = run("--transport", "shm", LAPI_USE_SHM="no")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("contradicts LAPI_USE_SHM=no"), 1, "one task complains, not both")
        result = run(*FAST, "--ops", "put", "--sizes", "8", LAPI_USE_SHM="only")
        self.check(result)
        self.assertNotIn("UDP", result.stdout)

    def test_unwritable_json(self):
        for option, name in (("--json", "no/such/folder.json"), ("--plot", "no/such/folder.svg")):
            result = run(*FAST, "--ops", "put", "--sizes", "8", option, self.file(name))
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("cannot be written", result.stderr)
            self.assertEqual(result.stdout, "", "nothing was measured in vain")

    def test_help_and_version_need_no_job(self):
        for option in ("--help", "--version"):
            result = run(option, tasks=0)
            self.check(result)
            self.assertIn("lapi_perf", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
