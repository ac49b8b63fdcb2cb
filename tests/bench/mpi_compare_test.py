#!/usr/bin/env python3
"""What bench/mpi_compare makes of what programs print.   mpi_compare_test.py MPI_COMPARE"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
PATH = str(pathlib.Path(sys.argv[1]).resolve())
LOADER = importlib.machinery.SourceFileLoader("mpi_compare", PATH)
COMPARE = importlib.util.module_from_spec(importlib.util.spec_from_loader("mpi_compare", LOADER))
LOADER.exec_module(COMPARE)
SHM, USYSV = COMPARE.SHM, COMPARE.USYSV
LAPIRUN = """#!/bin/sh
while [ "$1" != --json ]; do shift; done
cp "$(dirname "$0")/../rows.json" "$2"
"""


class FakeLam:
    """Prints for every measure the time of the path, in ns, and 50 for a bare flag."""

    def __init__(self, times):
        self.times, self.ran = times, []

    def compile(self, _, program):
        return f"./{program}"

    def mpirun(self, processes, program, *words, rpi):
        self.ran.append((rpi, processes, program, *words))
        rows = [f"{name} {number}" for name, number in zip(words[::2], words[1::2])]
        return "".join(f"{row} {50 if row == COMPARE.FLAG else self.times[rpi]}\n" for row in rows)

    def run_lapi(self, processes, *words, variables):
        return subprocess.CompletedProcess([], 0, self.mpirun(processes, *words, rpi=variables[0]), "")


class Compare(unittest.TestCase):
    def judged(self, taken):
        return {goal.title: (round(fastest, 3), round(median, 3), goal.verdict(median))
                for goal, fastest, median in COMPARE.judged(taken)}

    def test_paths_take_turns_and_begin_in_turn(self):
        lam = FakeLam({"LAPI_USE_SHM=only": 100, "LAPI_USE_SHM=no": 900, "usysv": 400, "tcp": 1000})
        bench = COMPARE.Bench(pathlib.Path("build"), lam)
        options = types.SimpleNamespace(rounds=2, runs=[(COMPARE.UNEXPECTED, COMPARE.MPI)])
        with contextlib.redirect_stderr(io.StringIO()):
            taken = COMPARE.measure(bench, options)
        there = ["LAPI_USE_SHM=only", "usysv", "LAPI_USE_SHM=no", "tcp"]
        self.assertEqual([run[0] for run in lam.ran], there + there[::-1])
        self.assertEqual(lam.ran[0][1:], (2, "./mpi_bench", "unexpected", "1000", "unexpected", "10000",
                                          "bare_flag", "1000"))
        self.assertEqual(list(taken), [(row, path) for row in COMPARE.UNEXPECTED for path in COMPARE.MPI])
        self.assertEqual(taken["unexpected 1000", COMPARE.UDP], [900, 900])
        self.assertEqual(list(bench.flags), [(row, path) for path in COMPARE.MPI for row in COMPARE.UNEXPECTED])
        self.assertEqual(bench.flags["unexpected 1000", COMPARE.UDP], [50, 50])

    def test_what_a_flag_took_stands_beside_a_time(self):
        taken, flags = {(COMPARE.B8, SHM): [300, 500, 400]}, {(COMPARE.B8, SHM): [40, 240, 60]}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            COMPARE.report(taken, flags, [])
        self.assertRegex(out.getvalue(), r"8 B, half round trip +lapi, shared memory +0.300 +0.400  0.040 to 0.240\n")

    def test_a_bare_copy_is_no_message(self):
        lam = FakeLam({"usysv": 400})
        taken = COMPARE.Bench(pathlib.Path("build"), lam).take((COMPARE.MIB,), COMPARE.COPY)
        self.assertEqual(taken, {(COMPARE.MIB, COMPARE.COPY): 400})
        self.assertEqual(lam.ran, [("usysv", 2, "./mpi_bench", "bare_copy", "1048576", "bare_flag", "1000")])

    def test_the_active_message_and_its_floor_are_lapi_perfs(self):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            (build / "control").mkdir()
            (build / "rows.json").write_text(json.dumps({"rows": [{"median_us": 0.25, "floor_us": 0.125}]}))
            lapirun = build / "control/lapirun"
            lapirun.write_text(LAPIRUN)
            lapirun.chmod(0o755)
            taken = COMPARE.Bench(build, FakeLam({})).take((COMPARE.B8,), COMPARE.MESSAGE)
        self.assertEqual(taken, {(COMPARE.B8, COMPARE.MESSAGE): 250, (COMPARE.B8, COMPARE.FLOOR): 125})

    def test_goals_are_judged_by_the_median_of_the_rounds(self):
        taken = {(COMPARE.B8, SHM): [400, 500, 800], (COMPARE.B8, USYSV): [1000, 1000, 1600],
                 (COMPARE.B8, COMPARE.MESSAGE): [200, 200, 200]}
        self.assertEqual(self.judged(taken), {"8 B: times usysv": (0.4, 0.5, "missed"),
                                              "8 B: us more than the active message": (0.2, 0.3, "missed")})

    def test_of_bandwidths_and_rates_more_is_better(self):
        taken = {(COMPARE.RATE, SHM): [100], (COMPARE.RATE, USYSV): [310]}
        self.assertEqual(self.judged(taken), {"rate / usysv's": (3.1, 3.1, "reached")})
        taken = {(COMPARE.MIB, SHM): [100], (COMPARE.MIB, COMPARE.COPY): [89]}
        self.assertEqual(self.judged(taken), {"1 MiB: bandwidth / process_vm_readv's": (0.89, 0.89, "missed")})

    def test_overlap_is_what_is_done_and_what_computing_hides(self):
        times = {COMPARE.TRANSFER: 2000, COMPARE.WAIT: 100, COMPARE.ALONE: 10000, COMPARE.ALL: 11000}
        taken = {(row, path): [time] for row, time in times.items() for path in (COMPARE.SHM_THREAD, SHM, USYSV)}
        judged = self.judged(taken)
        self.assertEqual(judged[f"overlap: done before MPI_Wait, {COMPARE.SHM_THREAD}"], (0.95, 0.95, "reached"))
        for path in (SHM, USYSV):
            self.assertEqual(judged[f"overlap: done before MPI_Wait, {path}"], (0.95, 0.95, ""), "it has no bound")
        self.assertEqual(judged[f"overlap: not added to computing, {SHM}"], (0.5, 0.5, ""))

    def test_every_goal_is_made_of_rows_that_are_measured(self):
        measured = {(row, path) for rows, paths in COMPARE.RUNS for row in rows for path in paths}
        for goal in COMPARE.GOALS:
            self.assertLessEqual(set(goal.times), measured, goal.title)
        self.assertEqual({row for row, _ in measured}, set(COMPARE.TITLES))

    def test_what_is_wrong_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            for options, text in (([], "it has no api/rpi/lapi/ssi_rpi_lapi.so: ninja -C"),
                                  (["--rounds", "0"], "--rounds 0: allowed: 1 and more"),
                                  (["--only", "alltoall"], "--only alltoall: allowed are words of: 8 B, half")):
                with self.subTest(options=options):
                    done = subprocess.run([PATH, empty, *options], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
