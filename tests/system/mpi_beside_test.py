#!/usr/bin/env python3
"""MPI and LAPI in one program, in both orders of initialisation: the same tasks in both, or a refusal.

    mpi_beside_test.py LAPIRUN openmpi|mpich PROGRAM PROGRAM-THAT-LOADS-IT
"""
import os
import re
import subprocess
import sys
import unittest

LAPIRUN, MPI, PROGRAM, LOADS = sys.argv[1:5]
TASKS = 3
# Open MPI refuses root and more tasks than cores unless told. Leaks are MPI's.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "ASAN_OPTIONS": "detect_leaks=0"}
# As in lapi(7).
BY_HAND = """export MP_CHILD=$PMI_RANK MP_PROCS=$PMI_SIZE MP_PARTITION=1 MP_MSG_API=lapi,mpi LAPI_USE_SHM=only
export MP_COMMON_TASKS=$((PMI_SIZE - 1))$(seq 0 $((PMI_SIZE - 1)) | grep -vx $PMI_RANK | sed s/^/:/ | tr -d '\\n')
exec "$0" "$@"
"""
NO_PART = "which does not join this job: MPI_COMM_WORLD would have 1 task, the job has 3"


def run(launcher, *words):
    return subprocess.run([*launcher, PROGRAM, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env=ENVIRONMENT)


class BothOrders(unittest.TestCase):
    def check_same_tasks(self, *launcher):
        for first in ("mpi", "lapi"):
            result = run(launcher, first)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(sorted(result.stdout.splitlines()),
                             [f"lapi {task} of {TASKS}, mpi {task} of {TASKS}" for task in range(TASKS)])

    def check_refusal(self, text, *launcher):
        for first in ("mpi", "lapi"):
            result = run(launcher, first)
            self.assertNotEqual(result.returncode, 0, result.stdout)
            self.assertNotIn("lapi ", result.stdout)
            self.assertIn(text, result.stderr)


class OpenMpi(BothOrders):
    def test_lapirun(self):
        self.check_same_tasks(LAPIRUN, "-n", str(TASKS))

    def test_a_job_that_dies_leaves_no_shared_memory(self):
        def segments():
            return {name for name in os.listdir("/dev/shm") if name.startswith(("vader_segment", "sm_segment"))}
        before = segments()
        result = run([LAPIRUN, "-n", str(TASKS)], "mpi", "crash")
        self.assertIn("killed by signal 9", result.stderr)
        self.assertEqual(segments() - before, set())

    def test_a_wrong_address_is_explained_beside_its_own_report(self):
        for first in "mpi", "lapi":
            result = run([LAPIRUN, "-n", str(TASKS)], first, "wrong_address")
            self.assertIn(f"openlapi: task 0: memory fault at 0x1234560 while it carries out for task {TASKS - 1}: "
                          "LAPI_Put of 4 bytes to 0x1234560\n", result.stderr)
            self.assertIn("killed by signal 11", result.stderr)

    def test_where_the_user_wants_its_memory_it_stays(self):
        name = "OMPI_MCA_btl_vader_backing_directory"
        for words, environment in ((["-x", f"{name}=/tmp"], {}), ([], {name: "/tmp"})):
            done = subprocess.run([LAPIRUN, *words, "-n", "1", "printenv", name], capture_output=True, text=True, timeout=60,
                                  check=False, env={**ENVIRONMENT, **environment})
            self.assertEqual((done.returncode, done.stdout), (0, "/tmp\n"), done.stderr)

    def test_mpirun(self):
        self.check_same_tasks("mpirun.openmpi", "--oversubscribe", "-n", str(TASKS))

    def test_mpirun_in_a_task(self):
        self.check_same_tasks(LAPIRUN, "-n", "1", "mpirun.openmpi", "--oversubscribe", "-n", str(TASKS))

    def test_standalone_tasks_are_refused(self):
        self.check_refusal(NO_PART, LAPIRUN, "--standalone", "-n", str(TASKS))


class Mpich(BothOrders):
    def test_one_that_is_loaded_is_refused(self):
        """Also where it is none of the program's own names, as in an interpreter."""
        library = re.search(r"=> (\S*/libmpi\S+)", subprocess.check_output(["ldd", PROGRAM], text=True))[1]
        for scope in ("global", "local"):
            result = subprocess.run([LAPIRUN, "-n", "2", LOADS, library, scope], capture_output=True, text=True, timeout=60,
                                    stdin=subprocess.DEVNULL, env=ENVIRONMENT, check=False)
            self.assertNotEqual(result.returncode, 0, result.stdout)
            self.assertIn("which does not join this job: MPI_COMM_WORLD would have 1 task, the job has 2", result.stderr)
        alone = subprocess.run([LAPIRUN, "-n", "1", LOADS, library, "local"], timeout=60, env=ENVIRONMENT, check=False)
        self.assertEqual(alone.returncode, 0)

    def test_lapirun_is_refused(self):
        self.check_refusal(NO_PART, LAPIRUN, "-n", str(TASKS))

    def test_lapirun_in_a_process_of_mpiexec_is_refused(self):
        """Each of its tasks would be a process of the outer job, several the same one."""
        self.check_refusal(NO_PART, "mpiexec.hydra", "-n", "2", LAPIRUN, "-n", str(TASKS))
        self.check_refusal(NO_PART, "mpiexec.hydra", "-n", str(TASKS), LAPIRUN, "-n", str(TASKS))

    def test_mpiexec_with_the_variables_of_a_job_by_hand(self):
        self.check_same_tasks("mpiexec.hydra", "-n", str(TASKS), "sh", "-c", BY_HAND)
        alone = run(["mpiexec.hydra", "-n", "1", "sh", "-c", BY_HAND], "lapi")
        self.assertEqual((alone.returncode, alone.stdout), (0, "lapi 0 of 1, mpi 0 of 1\n"), alone.stderr)

    def test_mpiexec_alone_is_refused(self):
        self.check_refusal("a launcher that offers PMI only, as MPICH's mpiexec", "mpiexec.hydra", "-n", str(TASKS))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], {"openmpi": "OpenMpi", "mpich": "Mpich"}[MPI]], verbosity=2)
