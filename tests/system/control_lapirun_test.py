"""lapirun and the tasks' Bootstrap with real processes.

Usage: control_lapirun_test.py LAPIRUN PROBE [unittest arguments]
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from job_cases import DEADLINE, EndCases, LauncherCase, OutputCases, StartCases, eventually, processes_with

LAPIRUN = PROBE = None
NOBODY = 65534


def program_of(number):
    try:
        return os.readlink(f"/proc/{number}/exe")
    except OSError:
        return ""


reservations = []


def reserve_user(number):
    """Whether no other run of these tests has it: ours until this program ends."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0openlapi-test-user-{number}")
    except OSError:
        name.close()
        return False
    reservations.append(name)
    return True


def unused_user():
    """A number that no process has, not even one that nobody has waited for: the limit counts them all."""
    listed = subprocess.run(["ps", "-e", "-o", "uid="], capture_output=True, text=True, check=True).stdout
    used = {int(number) for number in listed.split()}
    return next(number for number in range(60_000, NOBODY) if number not in used and reserve_user(number))


class BootstrapTest(LauncherCase):
    def test_exchange(self):
        for tasks in (1, 2, 8):
            output, errors = self.run_job("-n", tasks, PROBE, "exchange")
            self.check_exchange(output, tasks)
            self.assertEqual(errors, "")

    def test_cookies_of_jobs_differ(self):
        cookies = {self.check_exchange(self.run_job("-n", 2, PROBE, "exchange")[0], 2) for _ in range(4)}
        self.assertEqual(len(cookies), 4)

    def test_cookie_is_not_in_the_environment(self):
        output, _ = self.run_job("-n", 1, "sh", "-c", f"env; exec {PROBE} exchange")
        cookie = re.search(r"cookie=([0-9a-f]{16})", output).group(1)
        self.assertEqual(output.count(cookie), 1)

    def test_barrier_waits_for_the_last(self):
        self.run_job("-n", 4, PROBE, "barrier", os.path.join(self.folder, "came"))

    def test_absent_value_immediately(self):
        output, _ = self.run_job("-n", 2, PROBE, "get-absent", 0)
        self.assertEqual(output.count("error=PMIx_Get of probe.absent of task 1: "), 2, output)

    def test_absent_value_with_a_time_limit(self):
        output, _ = self.run_job("-n", 2, PROBE, "get-absent", 1)
        self.assertEqual(len(re.findall("waited=", output)), 2)

    def test_singleton(self):
        result = subprocess.run([PROBE, "singleton"], env=self.environment, capture_output=True, text=True,
                                timeout=DEADLINE)
        self.assertIn("opened=0", result.stdout)
        self.assertIn("no PMIx launcher", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_launcher_that_is_gone(self):
        output, _ = self.run_job("-n", 1, "sh", "-c", "env | grep ^PMIX_ && echo PMIX_END=1")
        stale = dict(line.split("=", 1) for line in output.splitlines())
        result = subprocess.run([PROBE, "singleton"], env={**self.environment, **stale}, capture_output=True, text=True,
                                timeout=DEADLINE)
        self.assertIn("opened=0", result.stdout)
        self.assertIn("does not answer", result.stdout)

    def test_exit_without_goodbye(self):
        self.run_job("-n", 3, PROBE, "no-goodbye")

    def test_forked_child_does_not_disconnect_its_parent(self):
        self.run_job("-n", 2, PROBE, "fork")


class MpirunTest(LauncherCase):
    # After an abort mpirun 4.1 sometimes crashes in PMIx_server_finalize: its status and files are then its own matter.
    LEAVES_NO_FILES = False

    def command(self, *words):
        return ["mpirun", "--allow-run-as-root", "--oversubscribe", *map(str, words)]

    def setUp(self):
        if shutil.which("mpirun") is None:
            self.skipTest("Open MPI's mpirun is not installed")
        super().setUp()

    def test_exchange(self):
        self.check_exchange(self.run_job("-n", 4, PROBE, "exchange")[0], 4)

    def test_barrier_waits_for_the_last(self):
        self.run_job("-n", 4, PROBE, "barrier", os.path.join(self.folder, "came"))

    def test_absent_value_immediately(self):
        self.run_job("-n", 2, PROBE, "get-absent", 0)

    def test_abort_ends_the_job(self):
        """Its tasks: mpirun 4.1, when it has seen them all end, may wait for ever in PMIx_server_finalize for a thread that
        waits for a lock which is no more."""
        begun = os.path.join(self.folder, "begun")
        job = self.start("-n", 3, "sh", "-c", f'touch {begun}; exec "$@"', "sh", PROBE, "one-of-them", "abort", 1, 7)
        self.assertTrue(eventually(lambda: os.path.exists(begun) or job.poll() is not None))
        self.assertTrue(eventually(lambda: set(processes_with(self.marker)) <= {job.pid}), "tasks are left")
        try:
            status = job.wait(10)
            self.assertNotEqual(status, 0)
        except subprocess.TimeoutExpired:
            job.kill()
        job.communicate()


class StartTest(StartCases, LauncherCase):
    pass


class EndTest(EndCases, LauncherCase):
    def test_one_signal_ends_a_job_that_has_too_little_memory(self):
        """Somewhere there libpmix does not answer. lapirun ends by itself, and not before its tasks."""
        for kilobytes in range(20_000, 80_000, 4_000):
            words = ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", *self.command("-n", 2, PROBE, "hello")]
            job = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            self.addCleanup(job.kill)
            try:
                job.wait(1)  # most have ended by then, for one reason or the other
            except subprocess.TimeoutExpired:
                job.terminate()
            # Killed by it: lapirun had not come so far that it takes signals, and has started nothing.
            self.assertIn(job.wait(DEADLINE), (0, 1, 128 + signal.SIGTERM, -signal.SIGTERM), f"with {kilobytes} kB")
            tasks = [number for number in processes_with(self.marker) if program_of(number) == os.path.realpath(PROBE)]
            self.assertEqual(tasks, [], f"with {kilobytes} kB")

    def test_too_little_memory_is_said(self):
        """Without the thread that accepts them, its clients would wait for libpmix: nobody sends a signal here. The
        second is enough but for that thread's stack."""
        refused = 0
        cases = [(kilobytes, 8192) for kilobytes in range(20_000, 110_000, 2_500)] + [(600_000, 280_000)]
        for kilobytes, stack in cases:
            limits = f'ulimit -s {stack}; ulimit -v {kilobytes}; exec "$@"'
            words = ["sh", "-c", limits, "sh", *self.command("-n", 2, PROBE, "hello")]
            done = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=DEADLINE, check=False)
            if done.returncode != 0:
                refused += 1
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"(memory of a process: at most {kilobytes} kB, ulimit -v)", done.stderr)
        self.assertLess(1, refused)
        self.assertLess(refused, len(cases), "the last but one is enough")

    def test_too_little_stack_is_said(self):
        """The environment lies on it too."""
        answers = set()
        for kilobytes in range(96, 400, 16):
            for large in {}, {"LARGE": "x" * 20_000}:
                words = ["sh", "-c", f'ulimit -s {kilobytes}; exec "$@"', "sh", *self.command("-n", 2, "true")]
                done = subprocess.run(words, env={**self.environment, **large}, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=DEADLINE, check=False)
                answers.add((bool(large), kilobytes, done.returncode))
                if done.returncode != 0:
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn(f"(stack of a process: at most {kilobytes} kB, ulimit -s)", done.stderr)
        self.assertLessEqual({(False, 96, 1), (True, 240, 1), (False, 304, 0), (True, 384, 0)}, answers)


class OutputTest(OutputCases, LauncherCase):
    pass


class OptionTest(LauncherCase):
    def test_environment(self):
        print_all = 'echo "$LAPI_USE_SHM,$GIVEN,$MP_CHILD,$MP_PROCS"'
        output, _ = self.run_job("-n", 1, "-x", "GIVEN=a b", "sh", "-c", print_all)
        self.assertEqual(output, ",a b,,\n")
        output, _ = self.run_job("-n", 1, "--standalone", "sh", "-c", "echo $LAPI_USE_SHM")
        self.assertEqual(output, "yes\n")
        self.environment.update({"LAPI_USE_SHM": "no", "GIVEN": "own"})
        output, _ = self.run_job("-n", 1, "-x", "GIVEN", "sh", "-c", print_all)
        self.assertEqual(output, "no,own,,\n")

    def test_an_allocation_of_several_nodes_without_a_universe_is_named(self):
        self.environment.update({"SLURM_JOB_ID": "4711", "SLURM_JOB_NUM_NODES": "4"})
        said = "no universe is booted here (lamboot) in Slurm job 4711 of 4 nodes"
        for words in (["-n", 2], []):  # mpirun's own number would be that of all places
            _, errors = self.run_job(*words, "true")
            self.assertEqual(errors.count(said), 1, errors)
        self.assertIn("or srun --mpi=pmix", errors)
        for words in (["--no-universe", "-n", 2], ["-host", "localhost"], ["--standalone", "-n", 2], ["-n", 1]):
            _, errors = self.run_job(*words, "true")
            self.assertEqual(errors, "", words)
        self.environment["SLURM_JOB_NUM_NODES"] = "1"
        _, errors = self.run_job("-n", 2, "true")
        self.assertEqual(errors, "")
        del self.environment["SLURM_JOB_ID"]
        self.environment.update({"LSB_JOBID": "12", "LSB_MCPU_HOSTS": "a 4 b 4"})
        _, errors = self.run_job("-n", 2, "true")
        self.assertIn("in LSF job 12 of 2 nodes", errors)
        self.assertNotIn("srun", errors)

    def test_variable_that_is_not_set(self):
        _, errors = self.run_job("-x", "NOT_SET_HERE", "true", status=2)
        self.assertIn("NOT_SET_HERE", errors)

    def test_working_directory(self):
        output, _ = self.run_job("--wd", self.folder, "pwd")
        self.assertEqual(output, os.path.realpath(self.folder) + "\n")
        _, errors = self.run_job("--wd", "/absent", "pwd", status=2)
        self.assertIn("'/absent'", errors)
        os.makedirs(os.path.join(self.folder, "real", "inner"))
        os.symlink(os.path.join("real", "inner"), os.path.join(self.folder, "link"))
        output, _ = self.run_job("--wd", os.path.relpath(os.path.join(self.folder, "link")) + "/..", "pwd", "-P")
        self.assertEqual(output, os.path.realpath(os.path.join(self.folder, "real")) + "\n")

    def test_options_of_lams_mpirun(self):
        output, _ = self.run_job("-O", "-ssi", "rpi", "tcp", "-x", "A=1,B=2", "-c", 1, "sh", "-c",
                                 'echo "$LAM_MPI_SSI_rpi,$A,$B"')
        self.assertEqual(output, "tcp,1,2\n")
        os.mkdir(os.path.join(self.folder, "sub"))
        program = os.path.join(self.folder, "sub", "where")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\npwd\n")
        os.chmod(program, 0o755)
        output, _ = self.run_job("-D", program)
        self.assertEqual(output, os.path.realpath(os.path.dirname(program)) + "\n")
        output, errors = self.run_job("-s", "h", "true")
        self.assertEqual(errors, "lapirun: -s h: programs are not copied; each node runs its own file of this name\n")

    def test_lapirun_that_does_not_wait(self):
        """The task reads from a pipe that is written to when lapirun has ended; its output is the launcher's, kept open."""
        fifo, said = os.path.join(self.folder, "fifo"), os.path.join(self.folder, "said")
        os.mkfifo(fifo)
        done = subprocess.run([LAPIRUN, "-nw", "sh", "-c", f"read -r word < {fifo}; echo $word > {said}.new; "
                               f"mv {said}.new {said}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=self.environment, timeout=60, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(said))
        with open(fifo, "w", encoding="utf-8") as file:
            file.write("later\n")
        until = time.monotonic() + 60
        while not os.path.exists(said):
            self.assertLess(time.monotonic(), until, "the task goes on")
            time.sleep(0.02)
        with open(said, encoding="utf-8") as file:
            self.assertEqual(file.read(), "later\n")
        done = subprocess.run([LAPIRUN, "-nw", "/no/such/program"], capture_output=True, env=self.environment, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 127)

    def allowed(self):
        return os.sched_getaffinity(0)

    def bindings(self, *words, **options):
        show = "import os, sys; sys.stdout.write('%s\\n' % sorted(os.sched_getaffinity(0)))"
        output, errors = self.run_job(*words, sys.executable, "-c", show, **options)
        return [set(eval(line)) for line in output.splitlines()], errors

    def test_binding(self):
        tasks = min(2, len(self.allowed()))
        sets, errors = self.bindings("-n", tasks, "--report-bindings")
        self.assertEqual(len(set(map(frozenset, sets))), tasks)
        self.assertEqual(len(re.findall(r"^lapirun: task \d+: core \d+ \(processor", errors, re.M)), tasks)

    def test_no_binding(self):
        self.assertEqual(self.bindings("-n", 2, "--bind", "none")[0], [self.allowed()] * 2)

    def test_more_tasks_than_processors(self):
        tasks = len(self.allowed()) + 1
        sets, errors = self.bindings("-n", tasks, "--report-bindings")
        self.assertEqual(sets, [self.allowed()] * tasks)
        self.assertEqual(errors.count(": not bound"), tasks)

    def test_binding_stays_in_what_lapirun_was_given(self):
        last = max(self.allowed())
        sets, _ = self.bindings("-n", 1, preexec_fn=lambda: os.sched_setaffinity(0, {last}))
        self.assertEqual(sets, [{last}])

    def test_program_that_cannot_run(self):
        plain = os.path.join(self.folder, "plain")
        broken = os.path.join(self.folder, "broken")
        script = os.path.join(self.folder, "script")
        for name, text in ((plain, "x"), (broken, "#!/absent/interpreter\n"), (script, "echo $1\n")):
            with open(name, "w") as file:
                file.write(text)
        os.chmod(broken, 0o755)
        os.chmod(script, 0o755)
        self.assertIn("'no-such-program'", self.run_job("no-such-program", status=127)[1])
        self.assertIn("Permission denied", self.run_job(plain, status=126)[1])
        self.assertIn("cannot run", self.run_job(broken, status=127)[1])
        self.assertIn("no program", self.run_job(status=127)[1])
        self.assertEqual(self.run_job("-n", 1, script, "word")[0], "word\n")

    def test_wrong_options(self):
        for words in (["-n", "0", "true"], ["--bind", "socket", "true"], ["--what", "true"]):
            _, errors = self.run_job(*words, status=2)
            self.assertIn("lapirun: ", errors)

    def test_directory_that_cannot_be_made(self):
        self.environment["TMPDIR"] = "/proc/absent"
        _, errors = self.run_job("true", status=1)
        self.assertIn("TMPDIR", errors)

    def test_job_within_a_job(self):
        output, _ = self.run_job("-n", 1, LAPIRUN, "-n", 2, PROBE, "exchange")
        self.check_exchange(output, 2)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
class OrdinaryUserTest(LauncherCase):
    """The same as an ordinary user, with copies that this user can reach."""

    def setUp(self):
        super().setUp()
        self.programs = tempfile.mkdtemp(prefix="lapirun_programs.")
        self.addCleanup(shutil.rmtree, self.programs)
        os.chmod(self.programs, 0o755)
        self.lapirun = shutil.copy(LAPIRUN, self.programs)
        self.probe = shutil.copy(PROBE, self.programs)
        os.chmod(self.folder, 0o755)
        os.chown(self.temporary, NOBODY, NOBODY)

    def command(self, *words):
        user = ["--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        return ["setpriv", *user, self.lapirun, *map(str, words)]

    def test_exchange(self):
        output, errors = self.run_job("-n", 4, self.probe, "exchange", cwd="/")
        self.check_exchange(output, 4)
        self.assertEqual(errors, "")

    def test_killed_task(self):
        self.run_job("-n", 3, self.probe, "one-of-them", "signal", 2, int(signal.SIGKILL), status=137, cwd="/")

    def run_limited(self, limit, *program):
        """A job of four tasks."""
        user = unused_user()
        os.chown(self.temporary, user, user)
        words = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", "prlimit", limit, self.lapirun,
                 "-n", "4", *program]
        return subprocess.run(words, stdin=subprocess.DEVNULL, cwd="/", text=True, capture_output=True,
                              env=self.environment, timeout=DEADLINE, check=False)

    def expect_refusal(self, done):
        """What lapirun says."""
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        return done.stderr

    def test_no_more_processes(self):
        """Tasks without threads, which would count, too, as soon as they are there."""
        said = "".join(self.expect_refusal(self.run_limited(f"--nproc={most}", "sleep", "1000")) for most in range(1, 8))
        for most in range(1, 8):
            self.assertIn(f"(processes and threads of this user: at most {most}, ulimit -u)\n", said)
        for what in ("watcher", "PMIx_server_init: a thread", *(f"task {rank}" for rank in range(4))):
            self.assertRegex(said, f"cannot start .*{what}|{what} cannot be started")

    def test_no_more_open_files(self):
        """Tasks that have been started wait for the others then; they end with lapirun."""
        said = ""
        for most in range(16, 256):
            done = self.run_limited(f"--nofile={most}", self.probe, "hello")
            if done.returncode == 0:  # how many libpmix needs for itself is its own affair
                break
            said += self.expect_refusal(done)
        for rank in range(4):
            self.assertIn(f"lapirun: cannot start task {rank}: Too many open files\n", said)


if __name__ == "__main__":
    LAPIRUN, PROBE = LauncherCase.LAPIRUN, LauncherCase.PROBE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
