#!/usr/bin/env python3
"""MPI programs over the rpi module `lapi` in an untouched LAM/MPI 7.1.4: what they print is what they print over LAM's
own modules.

    lam_lapi_test.py LAPI_INFO LATER FOLDER    FOLDER: where ssi_rpi_lapi.so is; LATER: where one of a later version is"""
import pathlib
import re
import shutil
import sys
import unittest

from lam_lapi_jobs import HERE, LapiLam, Stream, side_by_side
from unpacked_lam import output_of, run

BUILT, LATER, INFO = (pathlib.Path(sys.argv.pop()).resolve() for _ in range(3))
PATHS = {"shared memory": ["LAPI_USE_SHM=only"], "UDP": ["LAPI_USE_SHM=no"]}
THREAD = ["-ssi", "rpi_lapi_progress", 1]
SELF = ["-ssi", "cr", "self"]  # LAM's module for checkpoints
NETPIPE = [[], ["-a"], ["-a", "-2"], ["-S"]]  # both ways at once, synchronous sends


def rows_of(done):
    """NetPIPE's lines without the times; raises if it has failed."""
    output_of(done)
    return re.findall(r"^ *\d+: +\d+ bytes +\d+ times|.*(?:rror|nvalid|ail|sage).*", done.stdout + done.stderr, re.M)


class LamLapiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lam = LapiLam(BUILT, packages=["netpipe-lam"])
        cls.addClassCleanup(cls.lam.__exit__)
        cls.lam.__enter__()

    def tearDown(self):
        # LAM keeps what was said to processes that died, and would give it to later ones.
        run(*self.lam.command("lamclean"))

    def over_each_path(self, processes, *program, options=()):
        """The paths' names, and the finished jobs, which run side by side."""
        jobs = [(variables,) for variables in PATHS.values()]
        return zip(PATHS, side_by_side(lambda variables: self.lam.run_lapi(processes, *program, variables=variables,
                                                                           options=options), *jobs))

    def test_programs_print_the_same_as_over_other_modules(self):
        for source in ("lam_messages.c", "lam_fortran.f90"):
            program = self.lam.compile_program(source)
            for processes in (1, 2, 4, 8):
                expected, of_other = side_by_side(lambda rpi: self.lam.mpirun(processes, program, rpi=rpi), ("tcp",), ("usysv",))
                with self.subTest(program, rpi="usysv", processes=processes):
                    self.assertEqual(of_other, expected)
                for options in ([], THREAD):
                    for path, done in self.over_each_path(processes, program, options=options):
                        with self.subTest(program, path=path, processes=processes, options=options):
                            self.assertEqual(output_of(done), expected)

    def test_a_thread_receives_while_both_compute(self):
        """Neither calls MPI until both have seen that the data of a long message are there, and its sender is told."""
        program = self.lam.compile_program("lam_overlap.c")
        for path, variables in PATHS.items():
            with self.subTest(path=path):
                done = self.lam.run_lapi(2, program, variables=variables, options=THREAD)
                self.assertEqual(output_of(done), "the data have come without a call\n")

    def test_a_thread_receives_what_could_be_cancelled(self):
        program = self.lam.compile_program("lam_overlap_cancel.c")
        for path, variables in PATHS.items():
            with self.subTest(path=path):
                done = self.lam.run_lapi(2, program, variables=variables, options=THREAD)
                self.assertEqual(output_of(done), "the data have come without a call\n")

    def test_cancelled_receives_lose_nothing(self):
        program = self.lam.compile_program("lam_cancel.c")
        expected = "1000 messages, wrong 0\n"
        self.assertEqual(self.lam.mpirun(2, program, rpi="tcp"), expected)
        for options in ([], THREAD):
            for path, done in self.over_each_path(2, program, options=options):
                with self.subTest(path=path, options=options):
                    self.assertEqual(output_of(done), expected)

    def test_netpipe_runs_to_its_end(self):
        """Debian's, unmodified; what it prints, but for the times."""
        shutil.copy(self.lam.tree / "bin/NPlam", self.lam.home)
        for options in NETPIPE:
            program = ["./NPlam", "-n", "3", "-u", "150000", *options]
            expected = rows_of(self.lam.started(["-np", 2, "-ssi", "rpi", "tcp", *program]))
            self.assertGreater(len(expected), 80)
            for thread in ([], THREAD):
                for path, done in self.over_each_path(2, *program, options=thread):
                    with self.subTest(path=path, options=options, thread=thread):
                        self.assertEqual(rows_of(done), expected)

    def test_processes_that_are_spawned(self):
        program = self.lam.compile_program("lam_spawn.c")
        for processes in (1, 3):
            with self.subTest(processes=processes):
                expected = self.lam.mpirun(processes, program, rpi="tcp")
                self.assertEqual(output_of(self.lam.run_lapi(processes, program)), expected)
                self.assertEqual(output_of(self.lam.run_lapi(processes, program, options=THREAD)), expected)

    def test_jobs_that_connect(self):
        program = self.lam.compile_program("lam_connect.c")
        for sizes, letters in (((3, 2), "ccccccccccj"), ((1, 1), "cj")):
            expected = self.lam.connected_jobs(sizes, program, letters, ["-ssi", "rpi", "tcp"])
            self.assertEqual([len(said.splitlines()) for said in expected], [len(letters)] * 2)
            for path, variables in PATHS.items():
                with self.subTest(path=path, sizes=sizes):
                    parameters = self.lam.parameters(variables)
                    self.assertEqual(self.lam.connected_jobs(sizes, program, letters, parameters), expected)

    def test_all_hear_each_other_where_they_are_told_to(self):
        program = self.lam.compile_program("lam_messages.c")
        for path, name in (("shared memory", "shm"), ("UDP", "udp")):
            with self.subTest(path):
                done = self.lam.run_lapi(2, program, variables=[*PATHS[path], "MP_INFOLEVEL=2"])
                self.assertEqual(done.returncode, 0, done.stderr)
                told = done.stderr
                for own in (0, 1):
                    self.assertIn(f"openlapi: task {own} reaches task {1 - own} over {name}", told)

    def test_strangers_change_nothing_and_are_counted(self):
        self.lam.compile_program("lam_stream.c")
        for path, variables in PATHS.items():
            with self.subTest(path=path):
                stream = Stream(self.lam, 2, [*variables, "MP_INFOLEVEL=2"])
                sockets = run("python3", HERE / "lam_strangers.py", "lam_stream").split()
                status, out, err = stream.end()
                self.assertEqual((status, out), (0, "begun\nwrong 0\n"), err)
                self.assertGreaterEqual(int(sockets[path == "shared memory"]), 2, "LAM has sockets, too")
                counts = [int(count) for count in re.findall(r"(\d+) packets were from nobody of its job", err)]
                self.assertEqual([count > 0 for count in counts], [path == "UDP"] * 2, err)

    def test_a_process_that_has_finalised_is_not_dead(self):
        program = self.lam.compile_program("lam_leaving.c")
        for path, done in self.over_each_path(3, program):
            with self.subTest(path=path):
                self.assertEqual(output_of(done), "from 2: 20\nfrom 1: 21010\nfrom 2, which has left: -21\n"
                                                  "from anybody, when all have left: -21\n")

    def test_a_killed_process_is_an_error_of_mpi(self):
        """None dies before all have been started: LAM would give its place, and what it was sent, to another one."""
        program, begin = self.lam.compile_program("lam_killed.c"), self.lam.home / "begin"
        survivors = {(path, kind): self.lam.start_survivor(program, f"{kind} {begin}", variables)
                     for path, variables in PATHS.items() for kind in "rsai"}
        begin.touch()
        for (path, kind), survivor in survivors.items():
            with self.subTest(path=path, kind=kind):
                self.assertEqual(survivor.says_until("class"), "class 21\n")  # MPI_ERR_LOCALDEAD
                self.assertRegex(survivor.errors(),
                                 r"openlapi: process 0 of its MPI_COMM_WORLD: process 1 \(pid \d+ on node n0 of LAM\) is "
                                 r"lost: it has ended")

    def test_the_benchmark_takes_its_measures(self):
        program = self.lam.compile(HERE.parents[1] / "bench/mpi_bench.c", "mpi_bench")
        measures = {"half_round_trip": 8, "bare_copy": 8192, "rate": 64, "unexpected": 100, "posted": 100,
                    "transfer": 100000, "wait_after_computing": 8}
        words = [word for measure in measures.items() for word in measure]
        for path, variables in PATHS.items():
            with self.subTest(path=path):
                rows = output_of(self.lam.run_lapi(2, program, *words, variables=variables)).splitlines()
                asked = [f"{name} {number}" for name, number in measures.items()]
                self.assertEqual([row.rsplit(" ", 1)[0] for row in rows], asked)
                self.assertTrue(all(float(row.split()[2]) > 0 for row in rows), rows)
        done = self.lam.run_lapi(2, program, "rate", 2000)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpi_bench: rate 2000 is not allowed. Allowed are, 1 to 8 of them:", done.stderr)

    def test_lapi_info_asks_lam_for_the_module(self):
        told = run(*self.lam.command("env", f"OPENLAPI_LIBRARY_FOLDER={self.lam.modules}", INFO))
        self.assertIn(f"  {self.lam.tree}/bin/laminfo finds the rpi module lapi: mpirun -ssi base_module_path "
                      f"{self.lam.modules} -ssi rpi lapi\n", told)

    def test_a_wrong_parameter_is_named(self):
        program = self.lam.compile_program("lam_self.c")
        for name, value, allowed in (("short", "-5", "it is a number of bytes, 0 to 2147483647"),
                                     ("timeout", "9", "it is a number of seconds, 10 to 86400"),
                                     ("timeout", "86401", "it is a number of seconds, 10 to 86400"),
                                     ("silence", "9", "it is a number of seconds, 10 to 86400, or 0 for never"),
                                     ("progress", "2", "it is 0 or 1"), ("progress", "-1", "it is 0 or 1")):
            with self.subTest(name=name, value=value):
                done = self.lam.run_lapi(1, "-ssi", f"rpi_lapi_{name}", value, program)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"rpi_lapi_{name}={value} is not allowed: {allowed}", done.stderr)

    def test_processes_of_another_version(self):
        """They say at once which they have, and which the other one has, unless LAM ends one when another one has ended."""
        program = self.lam.compile_program("lam_messages.c")
        later = self.lam.folder / "later"
        if not later.exists():
            later.mkdir()
            shutil.copy(LATER / "ssi_rpi_lapi.so", later)
        before = f"[ $LAMRANK = 0 ] || export LAM_MPI_SSI_base_module_path={later}"
        for processes in (2, 3):
            with self.subTest(processes=processes):
                texts = self.lam.last_words(processes, before, program, "and this process has version")
                said = [re.search(r"^openlapi: rpi module 'lapi', process (\d+) of its MPI_COMM_WORLD: .* it is of version (\d) "
                                  r"of the rpi module 'lapi', and this process has version (\d)", text, re.M) for text in texts]
                self.assertTrue(any(said), texts)
                for rank, words in enumerate(said):
                    if words:
                        self.assertEqual(words.groups(), (str(rank), "3", "2") if rank == 0 else (str(rank), "2", "3"))

    def test_checkpoints_while_a_process_waits(self):
        program = self.lam.compile_program("lam_checkpoint.c")
        jobs = [(kind, last, options) for kind, last in (("r", 1048575), ("s", 0), ("w", 1048575)) for options in ([], THREAD)]

        def run_job(kind, _, options):
            return self.lam.run_lapi(2, program, kind, options=[*SELF, *options])

        for (kind, last, options), done in zip(jobs, side_by_side(run_job, *jobs)):
            with self.subTest(kind=kind, options=options):
                self.assertEqual(output_of(done), f"made 1, went on 1, last {last}\n")

    def test_checkpoints_under_load(self):
        program = self.lam.compile_program("lam_checkpoints.c")
        for options in (SELF, [*SELF, *THREAD]):
            for path, done in self.over_each_path(3, program, options=options):
                with self.subTest(path=path, options=options):
                    self.assertEqual(output_of(done), "50 checkpoints, wrong 0\n")

    def test_no_memory_for_a_message_is_an_error_of_mpi(self):
        """For 100 MB that nobody has asked for and that come with their envelope; what comes behind is asked for."""
        program = self.lam.compile_program("lam_memory.c")
        short = ["-ssi", "rpi_lapi_short", 2000000000]
        for path, done in self.over_each_path(2, program, "u", 1000, options=short):
            with self.subTest(path=path):
                self.assertEqual(done.stdout, "class 21\n", done.stderr)
                self.assertIn("is lost: there is no memory for what it has sent", done.stderr)
        for path, done in self.over_each_path(2, program, "u", 150000, options=short):
            with self.subTest(path=path):
                self.assertEqual(done.stdout, "class 0\n", done.stderr)

    def test_no_memory_for_a_spawn_is_an_error_of_mpi(self):
        """So many KiB are left: too few for the paths to the new process, for shared memory, for packets, or enough."""
        program = self.lam.compile_program("lam_memory.c")
        classes = []
        for room in (*range(200, 2600, 200), 20000):
            with self.subTest(room=room):
                done = self.lam.run_lapi(1, program, "s", room)
                self.assertRegex(done.stdout, r"(?m)^class \d+$", done.stderr)
                classes.append("class 0\n" in done.stdout)
                run(*self.lam.command("lamclean"))
        self.assertEqual((classes[0], classes[-1]), (False, True), classes)

    def test_no_memory_to_begin_with_is_said(self):
        """As little as it takes, and less: what is too little for LAM itself ends somehow."""
        program = self.lam.compile_program("lam_memory.c")
        said, most = "", 8600
        while "class 0\n" not in said and most < 40000:
            said += self.lam.all_words(2, f"ulimit -v {most}", program, "w 0")
            most += 400
            run(*self.lam.command("lamclean"))
        self.assertIn("rpi module 'lapi': there is no memory to begin with", said)
        self.assertIn("class 0\n", said)

    def test_memory_with_an_alignment_is_freed_right(self):
        """LAM has a free() of its own."""
        program = self.lam.compile_program("lam_aligned.c")
        for options in ([], THREAD):
            done = self.lam.run_lapi(2, program, options=options)
            self.assertEqual(output_of(done), "wrong 0\n")

    def test_threads_get_memory(self):
        """LAM's malloc() makes locks that other threads may have."""
        program = self.lam.compile_program("lam_arenas.c")
        for _ in range(3):
            self.assertEqual(output_of(self.lam.run_lapi(1, program)), "arenas 1, taken before it was made 0\n")

    def test_spawning_what_does_not_exist(self):
        program = self.lam.compile_program("lam_spawn_none.c")
        for processes in (1, 2):
            expected = self.lam.mpirun(processes, program, rpi="tcp")
            self.assertRegex(expected, r"^class [1-9]\d*, 1\n$")
            self.assertEqual(self.lam.mpirun(processes, program, rpi="usysv"), expected)
            self.assertEqual(output_of(self.lam.run_lapi(processes, program)), expected)

    def test_a_negative_priority_declines_the_module(self):
        program = self.lam.compile_program("lam_self.c")
        words = ["-np", 1, "-ssi", "base_module_path", self.lam.modules, "-ssi", "rpi_verbose", "stderr,level:10"]
        self.assertIn("selected RPI module lapi", self.lam.started([*words, program]).stderr)
        done = self.lam.started([*words, "-ssi", "rpi_lapi_priority", -1, program])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lapi: not usable: rpi_lapi_priority is negative", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
