"""lapirun and the tasks' Bootstrap with real processes.

Usage: control_lapirun_test.py LAPIRUN PROBE [unittest arguments]
"""
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

LAPIRUN = PROBE = None
DEADLINE = 60  # seconds; only a hang reaches it
# What we ignored (nohup and background jobs of scripts ask for that) lapirun would ignore, too.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
NOBODY = 65534


def processes_with(marker):
    """Process numbers of all that carry the marker in their environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


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


def is_stopped(number):
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "T"
    except OSError:
        return False


def eventually(condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.01)
    return True


class LauncherCase(unittest.TestCase):
    """Each test has a marker and a TMPDIR of its own; afterwards neither a process nor a file may be left."""

    LEAVES_NO_FILES = True

    def setUp(self):
        self.marker = f"STARTED_BY_TEST={uuid.uuid4()}"
        self.folder = tempfile.mkdtemp(prefix="lapirun_test.")
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.temporary)
        name, value = self.marker.split("=")
        self.environment = {key: item for key, item in os.environ.items() if not key.startswith(("PMIX_", "LAPI_"))}
        self.environment.update({name: value, "TMPDIR": self.temporary})

    def tearDown(self):
        left = not eventually(lambda: not processes_with(self.marker))
        for number in processes_with(self.marker):
            os.kill(number, signal.SIGKILL)
        files = os.listdir(self.temporary) if self.LEAVES_NO_FILES else []
        shutil.rmtree(self.folder)
        self.assertFalse(left, "processes are left behind")
        self.assertEqual(files, [], "files are left behind")

    def command(self, *words):
        return [LAPIRUN, *map(str, words)]

    def start(self, *words, **options):
        settings = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment,
                        text=True)
        settings.update(options)
        return subprocess.Popen(self.command(*words), **settings)

    def run_job(self, *words, status=0, input_text=None, **options):
        if input_text is not None:
            options["stdin"] = subprocess.PIPE
        job = self.start(*words, **options)
        try:
            output, errors = job.communicate(input_text, timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
        self.assertEqual(job.returncode, status, f"{words}: {output}{errors}")
        return output, errors

    def start_staying(self, tasks, *ignored):
        """A job whose tasks have all said that they are there; also their process numbers."""
        job = self.start("-n", tasks, PROBE, "stay", *[int(number) for number in ignored])
        ready = [job.stdout.readline().split() for _ in range(tasks)]
        self.assertEqual(sorted(int(words[1]) for words in ready), list(range(tasks)))
        return job, {int(words[1]): int(words[2]) for words in ready}

    def finish(self, job):
        output, errors = job.communicate(timeout=DEADLINE)
        return job.returncode, output, errors

    def check_exchange(self, output, tasks):
        lines = re.findall(r"^rank=(\d+) size=(\d+) local=(\S+) cookie=([0-9a-f]{16}) name=pmix$", output, re.M)
        self.assertEqual(sorted(int(line[0]) for line in lines), list(range(tasks)), output)
        self.assertEqual({int(line[1]) for line in lines}, {tasks})
        self.assertEqual({line[2] for line in lines}, {",".join(map(str, range(tasks)))})
        cookies = {line[3] for line in lines}
        self.assertEqual(len(cookies), 1, output)
        self.assertNotEqual(cookies, {"0" * 16})
        return cookies.pop()


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
        status, _, _ = self.finish(self.start("-n", 3, PROBE, "one-of-them", "abort", 1, 7))
        self.assertNotEqual(status, 0)


class EndTest(LauncherCase):
    def test_status_of_the_first_that_failed(self):
        for status in (1, 7, 255):
            _, errors = self.run_job("-n", 3, PROBE, "one-of-them", "exit", 1, status, status=status)
            self.assertRegex(errors, rf"lapirun: task 1 .* exited with status {status}")

    WAIT_FOR_FILE = "while [ ! -e $file ]; do sleep 0.01; done"
    # A task that has ended stays a zombie as long as the job lasts.
    WAIT_FOR_END = WAIT_FOR_FILE + "; while ! grep -q ^State:.Z /proc/$(cat $file)/status; do sleep 0.01; done"
    SAY_NUMBER = "echo $$ >$file.new; mv $file.new $file"

    def run_two(self, first, second, status=0):
        """Task 0 and task 1 of two, each a shell script; $file is theirs. The job's standard error."""
        script = f"file={self.folder}/file; if [ $PMIX_RANK = 0 ]; then {first}; else {second}; fi"
        return self.run_job("-n", 2, "sh", "-c", script, status=status)[1]

    def test_task_that_never_connects(self):
        line = "lapirun: task 1 ended (status 0) before LAPI_Init, in which task 0 waits for every task: ending the job"
        for first, second in ((f"exec {PROBE} hello $file", f"{self.WAIT_FOR_FILE}; exit 0"),
                              (f"{self.WAIT_FOR_END}; exec {PROBE} hello", f"{self.SAY_NUMBER}; exit 0")):
            errors = self.run_two(first, second, status=1)
            self.assertEqual(errors.count(line + "\n"), 1, errors)
            self.assertEqual(errors.count("lapirun: "), 1, errors)
            os.unlink(f"{self.folder}/file")

    def test_task_that_never_connects_when_the_other_has_left(self):
        errors = self.run_two(f"{PROBE} singleton; echo >$file.left; {self.WAIT_FOR_END}",
                              f"while [ ! -e $file.left ]; do sleep 0.01; done; {self.SAY_NUMBER}; exit 0")
        self.assertEqual(errors, "")

    def test_tasks_that_connect_and_end_at_different_times(self):
        for _ in range(5):
            _, errors = self.run_job("-n", 8, PROBE, "singleton")
            self.assertEqual(errors, "")
        errors = self.run_two(f"{PROBE} hello; {self.WAIT_FOR_END}", f"{self.SAY_NUMBER}; exec {PROBE} hello")
        self.assertEqual(errors, "")

    def test_killed_task(self):
        _, errors = self.run_job("-n", 3, PROBE, "one-of-them", "signal", 2, int(signal.SIGKILL), status=137)
        self.assertIn("was killed by signal 9 (Killed)", errors)

    def test_task_killed_from_outside(self):
        job, numbers = self.start_staying(3)
        os.kill(numbers[1], signal.SIGKILL)
        self.assertEqual(self.finish(job)[0], 137)

    def test_deaf_tasks_are_killed_after_the_grace(self):
        job, numbers = self.start_staying(2, signal.SIGTERM)
        os.kill(numbers[0], signal.SIGKILL)
        self.assertEqual(self.finish(job)[0], 137)

    def test_abort(self):
        _, errors = self.run_job("-n", 3, PROBE, "one-of-them", "abort", 1, 7, status=7)
        self.assertIn("lapirun: task 1 ends the job with status 7: asked to", errors)

    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            job, _ = self.start_staying(2)
            job.send_signal(number)
            self.assertEqual(self.finish(job)[0], 128 + number)

    # All signals blocked, as in PMIx_Init, which waits for ever where libpmix has no memory.
    BLOCKED = ["/usr/bin/python3", "-c", "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); "
               "print('blocked', flush=True); time.sleep(1000)"]

    def test_signals_that_no_task_takes(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.start("-n", 2, *self.BLOCKED)
            for _ in range(2):
                self.assertEqual(job.stdout.readline(), "blocked\n")
            job.send_signal(number)
            status, _, errors = self.finish(job)
            self.assertEqual(status, 128 + number)
            self.assertIn(f"has not taken signal {number:d} ", errors)

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

    def test_tasks_that_die_together_in_a_fence(self):
        # Freed memory is filled, so that its use by libpmix shows.
        self.environment["MALLOC_PERTURB_"] = "48"
        for _ in range(10):
            for number in (signal.SIGINT, signal.SIGTERM):
                job = self.start("-n", 4, PROBE, "one-of-them", "wait", 0)
                for _ in range(4):
                    self.assertTrue(job.stdout.readline().startswith("waits"))
                job.send_signal(number)
                self.assertEqual(self.finish(job)[0], 128 + number)
            self.run_job("-n", 4, PROBE, "one-of-them", "abort", 1, 7, status=7)
            self.run_job("-n", 4, PROBE, "one-of-them", "signal", 1, 9, status=137)

    def test_task_may_handle_a_signal(self):
        script = "trap 'echo caught; exit 0' INT; echo ready; while :; do sleep 0.01; done"
        job = self.start("-n", 1, "sh", "-c", script)
        self.assertEqual(job.stdout.readline(), "ready\n")
        job.send_signal(signal.SIGINT)
        status, output, _ = self.finish(job)
        self.assertEqual((status, output), (0, "caught\n"))

    def test_second_interrupt_kills(self):
        job, _ = self.start_staying(2, signal.SIGINT, signal.SIGTERM)
        job.send_signal(signal.SIGINT)
        job.send_signal(signal.SIGTERM)
        self.assertIn(self.finish(job)[0], (128 + signal.SIGINT, 128 + signal.SIGTERM))

    def test_killed_lapirun_takes_everything_along(self):
        script = f"(trap '' HUP TERM INT; while :; do sleep 1; done) & exec {PROBE} stay 1 2 15"
        job = self.start("-n", 2, "sh", "-c", script)
        for _ in range(2):
            self.assertTrue(job.stdout.readline().startswith("ready"))
        folder, = os.listdir(self.temporary)
        memory = pathlib.Path("/dev/shm", folder)
        self.assertEqual((memory.stat().st_mode & 0o777, memory.stat().st_uid), (0o700, os.geteuid()))
        (memory / "segment").write_text("what a task leaves behind", encoding="ascii")
        self.assertGreaterEqual(len(processes_with(self.marker)), 6)
        job.kill()
        self.finish(job)
        self.assertTrue(eventually(lambda: not processes_with(self.marker)))
        self.assertTrue(eventually(lambda: not os.listdir(self.temporary) and not memory.exists()))

    def test_what_tasks_leave_in_memory_goes_with_the_job(self):
        script = """folder=$(ls "$TMPDIR"); touch "/dev/shm/$folder/segment" && echo "$folder" """
        folder = self.run_job("-n", 1, "sh", "-c", script)[0].strip()
        self.assertTrue(folder.startswith("lapirun-"), folder)
        self.assertFalse(os.path.exists(f"/dev/shm/{folder}"))

    def test_what_tasks_leave_running_ends_with_the_job(self):
        self.run_job("-n", 2, "sh", "-c", "sleep 1000 & exit 0")

    def start_with_a_stopped_task(self, *options):
        job = self.start(*options, "-n", 3, "sh", "-c", 'test $PMIX_RANK != 1 || kill -STOP $$; exec "$0" exchange', PROBE)
        return job, lambda: [number for number in processes_with(self.marker) if is_stopped(number)]

    def test_a_task_that_all_others_wait_for_is_named(self):
        job, stopped = self.start_with_a_stopped_task()
        line = job.stderr.readline()
        numbers = stopped()
        self.assertEqual(line, f"lapirun: after 10 s tasks still wait in LAPI_Init for task 1 (process {numbers[0]}), "
                               "which is stopped\n")
        os.kill(numbers[0], signal.SIGCONT)
        _, errors = job.communicate(timeout=DEADLINE)
        self.assertEqual((job.returncode, errors), (0, ""))

    def test_timeout(self):
        _, errors = self.run_job("-n", 2, "--timeout", "0.2", "sleep", 1000, status=124)
        self.assertEqual(errors, "lapirun: the time of --timeout is over; ending the tasks\n"
                                 "lapirun: tasks 0-1: not in LAPI_Init yet\n")

    def test_timeout_of_tasks_that_use_pmix_alone(self):
        wanted = ("lapirun: the time of --timeout is over; ending the tasks\n"
                  "lapirun: tasks 0-1: connected to PMIx, not in LAPI_Init\n")
        for seconds in (1, 4, 16, 50):  # until the machine has started both in time
            _, errors = self.run_job("-n", 2, "--timeout", seconds, PROBE, "stay", status=124)
            if errors == wanted:
                return
        self.assertEqual(errors, wanted)

    def test_stop_and_continue(self):
        job, numbers = self.start_staying(2)

        def state(number):
            with open(f"/proc/{number}/stat") as file:
                return file.read().rsplit(")", 1)[1].split()[0]

        everyone = [job.pid, *numbers.values()]
        job.send_signal(signal.SIGTSTP)
        self.assertTrue(eventually(lambda: all(state(number) == "T" for number in everyone)))
        job.send_signal(signal.SIGCONT)
        self.assertTrue(eventually(lambda: all(state(number) != "T" for number in everyone)))
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 143)


class OutputTest(LauncherCase):
    LINES = 20000

    def much_output(self):
        script = 'BEGIN { for (i = 0; i < %d; i++) print ENVIRON["PMIX_RANK"], i, "abcdefghijklmnopqrstuvwxyz" }'
        return ["awk", script % self.LINES]

    def check_much_output(self, output, prefix=""):
        seen = {}
        for line in output.splitlines():
            match = re.fullmatch(prefix + r"(\d) (\d+) abcdefghijklmnopqrstuvwxyz", line)
            self.assertIsNotNone(match, line)
            task, number = match.groups()
            self.assertEqual(int(number), seen.get(task, 0))
            seen[task] = int(number) + 1
        self.assertEqual(seen, {str(task): self.LINES for task in range(8)})

    def test_eight_tasks_with_much_output(self):
        output, errors = self.run_job("-n", 8, *self.much_output())
        self.check_much_output(output)
        self.assertEqual(errors, "")

    def test_tagged(self):
        output, _ = self.run_job("-n", 8, "--tag-output", *self.much_output())
        self.check_much_output(output, r"\[\d\] ")
        for line in output.splitlines():
            self.assertEqual(line[1], line[4])

    def test_blocked_reader_loses_nothing(self):
        job = self.start("-n", 8, *self.much_output())
        first = os.read(job.stdout.fileno(), 1).decode()
        # The tasks cannot end: their output is far more than what anybody holds for them.
        self.assertIsNone(job.poll())
        rest, _ = job.communicate(timeout=DEADLINE)
        self.check_much_output(first + rest)

    def test_a_slow_reader_costs_no_processor(self):
        """Also when the time is over after which lapirun would have looked for a task that others wait for."""
        job = self.start("--timeout", 5, "-n", 2, "sh", "-c", 'head -c 300000 /dev/zero | tr "\\0" "\\n"; '
                         'test $PMIX_RANK = 1 || exec sleep 100; exec "$0" exchange', PROBE)
        begin = time.monotonic()

        def seconds_used():
            times = pathlib.Path(f"/proc/{job.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
            return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        time.sleep(13)  # 10 s after the task has connected
        before, since = seconds_used(), time.monotonic()
        time.sleep(2)
        used = (seconds_used() - before) / (time.monotonic() - since)
        status, output, _ = self.finish(job)
        self.assertEqual(status, 124)
        self.assertGreater(len(output), 2 * 65536)  # more than pipes hold
        self.assertLess(used, 0.1)
        self.assertGreater(time.monotonic() - begin, 13)

    def test_reader_that_leaves(self):
        job = self.start("-n", 2, "yes")
        job.stdout.readline()
        job.stdout.close()
        self.assertTrue(eventually(lambda: job.poll() is not None))
        self.assertNotEqual(job.returncode, 0)
        job.stderr.close()

    def test_output_that_cannot_be_written(self):
        """A limit of file sizes is a message and a failure, whether its signal would kill or is ignored."""
        for ignored in ("", "trap '' XFSZ; "):
            with open(os.path.join(self.folder, "output"), "wb") as file:
                words = ["sh", "-c", ignored + 'ulimit -f 0; exec "$@"', "sh", *self.command("-n", 2, "echo", "hello")]
                done = subprocess.run(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=file,
                                      stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("lapirun: cannot write the standard output of the tasks: File too large (a file of this "
                          "process: at most 0 bytes, ulimit -f)", done.stderr)

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            _, errors = self.run_job("-n", 2, "echo", "hello", stdout=full, status=1)
        self.assertIn("lapirun: cannot write the standard output of the tasks: No space left on device", errors)

    def test_streams_stay_apart(self):
        output, errors = self.run_job("-n", 2, "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((output, errors), ("out\nout\n", "err\nerr\n"))

    def test_line_without_end(self):
        output, _ = self.run_job("-n", 1, "printf", "no newline")
        self.assertEqual(output, "no newline")

    def test_input_goes_to_task_0(self):
        output, _ = self.run_job("-n", 3, "--tag-output", "cat", input_text="one\ntwo\n")
        self.assertEqual(output, "[0] one\n[0] two\n")

    def test_input_from_a_terminal(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execve(LAPIRUN, self.command("sh", "-c", "read a && echo got-$a"), self.environment)
        os.write(terminal, b"hello\n")
        output = b""
        try:
            while b"got-hello" not in output:
                output += os.read(terminal, 4096)
        except OSError:
            self.fail(output)
        finally:
            _, status = os.waitpid(child, 0)
            os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_streams_that_are_closed(self):
        self.run_job("-n", 2, "true", preexec_fn=lambda: [os.close(fd) for fd in (0, 1, 2)])


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
    LAPIRUN, PROBE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
