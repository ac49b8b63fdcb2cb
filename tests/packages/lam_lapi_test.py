#!/usr/bin/env python3
"""MPI programs over the rpi module `lapi` in an untouched LAM/MPI 7.1.4: what they print is what they print over LAM's
own modules.

    lam_lapi_test.py LAPI_INFO FOLDER    where ssi_rpi_lapi.so is"""
import pathlib
import re
import shutil
import sys
import time
import unittest

from unpacked_lam import FAILS_BY_ITSELF, LENGTHS, UnpackedLam, output_of, run

HERE = pathlib.Path(__file__).resolve().parent
BUILT, INFO = pathlib.Path(sys.argv.pop()), sys.argv.pop()
PATHS = {"shared memory": ["LAPI_USE_SHM=only"], "UDP": ["LAPI_USE_SHM=no"]}
SECONDS = 30  # until a process must know of another one's death


class LamLapiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lam = UnpackedLam()
        cls.addClassCleanup(cls.lam.__exit__)
        cls.lam.__enter__()
        cls.modules = cls.lam.home / "modules"
        cls.modules.mkdir()
        shutil.copy(BUILT / "ssi_rpi_lapi.so", cls.modules)

    def tearDown(self):
        # LAM keeps what was said to processes that died, and would give it to later ones.
        run(*self.lam.command("lamclean"))

    def words(self, processes, *program, variables=(), options=()):
        exported = ["-x", ",".join(variables)] if variables else []
        return [*options, "-np", processes, *exported, "-ssi", "base_module_path", self.modules, "-ssi", "rpi", "lapi",
                *program]

    def test_programs_print_the_same_as_over_other_modules(self):
        program = self.lam.compile(HERE / "lam_messages.c", "lam_messages")
        for processes in (1, 2, 4, 8):
            expected = self.lam.mpirun(processes, program, rpi="tcp")
            for path, variables in PATHS.items():
                with self.subTest(path=path, processes=processes):
                    done = self.lam.started(self.words(processes, program, variables=variables))
                    self.assertEqual(output_of(done), expected)

    def test_processes_that_are_spawned(self):
        program = self.lam.compile(HERE / "lam_spawn.c", "lam_spawn")
        for processes in (1, 3):
            with self.subTest(processes=processes):
                expected = self.lam.mpirun(processes, program, rpi="tcp")
                self.assertEqual(output_of(self.lam.started(self.words(processes, program))), expected)

    def test_all_hear_each_other_where_they_are_told_to(self):
        program = self.lam.compile(HERE / "lam_messages.c", "lam_messages")
        for path, name in (("shared memory", "shm"), ("UDP", "udp")):
            with self.subTest(path):
                done = self.lam.started(self.words(2, program, variables=[*PATHS[path], "MP_INFOLEVEL=2"]))
                self.assertEqual(done.returncode, 0, done.stderr)
                told = done.stderr
                for own in (0, 1):
                    self.assertIn(f"openlapi: task {own} reaches task {1 - own} over {name}", told)

    def test_a_process_that_has_finalised_is_not_dead(self):
        program = self.lam.compile(HERE / "lam_leaving.c", "lam_leaving")
        for path, variables in PATHS.items():
            with self.subTest(path=path):
                done = self.lam.started(self.words(3, program, variables=variables))
                self.assertEqual(output_of(done), "from 2: 20\nfrom 1: 21010\nfrom 2, which has left: -21\n"
                                                  "from anybody, when all have left: -21\n")

    def test_a_killed_process_is_an_error_of_mpi(self):
        program = self.lam.compile(HERE / "lam_killed.c", "lam_killed")
        for path, variables in PATHS.items():
            for kind in "rsai":
                with self.subTest(path=path, kind=kind):
                    said = next(said for length in LENGTHS
                                if FAILS_BY_ITSELF not in (said := self.survivor_says(program, kind, variables, length)))
                    self.assertRegex(said, r"openlapi: process 0 of its MPI_COMM_WORLD: process 1 \(pid \d+ on node n0 of "
                                           r"LAM\) is lost: it has ended")
                    self.assertTrue(said.endswith("class 21\n"), said)  # MPI_ERR_LOCALDEAD

    def survivor_says(self, program, kind, variables, length):
        """Task 0's first words, or what there is after the time that it may take."""
        said = self.lam.home / f"said.{time.monotonic_ns()}"
        script = self.lam.home / "script"
        script.write_text(f"#!/bin/sh\nexec {program} {kind} >{said}.$LAMRANK 2>&1\n")
        script.chmod(0o755)
        # Without waiting: mpirun would end the survivor.
        run(*self.lam.mpirun_command(length, self.words(2, script, variables=variables, options=["-nw"])))
        survivor, text = pathlib.Path(f"{said}.0"), ""
        until = time.monotonic() + SECONDS
        while not re.search(f"class .*\n|{FAILS_BY_ITSELF}", text) and time.monotonic() < until:
            time.sleep(0.05)
            text = survivor.read_text() if survivor.exists() else ""
        return text

    def test_lapi_info_asks_lam_for_the_module(self):
        told = run(*self.lam.command("env", f"OPENLAPI_LIBRARY_FOLDER={self.modules}", INFO))
        self.assertIn(f"  {self.lam.tree}/bin/laminfo finds the rpi module lapi: mpirun -ssi base_module_path {self.modules} "
                      "-ssi rpi lapi\n", told)

    def test_a_wrong_parameter_is_named(self):
        program = self.lam.compile(HERE / "lam_self.c", "lam_self")
        for name, value, allowed in (("short", "-5", "it is a number of bytes, 0 to 2147483647"),
                                     ("timeout", "9", "it is a number of seconds, 10 to 86400"),
                                     ("timeout", "86401", "it is a number of seconds, 10 to 86400")):
            with self.subTest(name=name, value=value):
                done = self.lam.started(self.words(1, "-ssi", f"rpi_lapi_{name}", value, program))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"rpi_lapi_{name}={value} is not allowed: {allowed}", done.stderr)

    def test_a_negative_priority_declines_the_module(self):
        program = self.lam.compile(HERE / "lam_self.c", "lam_self")
        words = ["-np", 1, "-ssi", "base_module_path", self.modules, "-ssi", "rpi_verbose", "stderr,level:10"]
        self.assertIn("selected RPI module lapi", self.lam.started([*words, program]).stderr)
        done = self.lam.started([*words, "-ssi", "rpi_lapi_priority", -1, program])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lapi: not usable: rpi_lapi_priority is negative", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
