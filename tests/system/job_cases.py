"""Cases of jobs that hold wherever the tasks run: on one machine (control_lapirun_test.py), and over a universe of one
node (control_jobs_test.py)."""
import array
import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import time
import unittest
import uuid

DEADLINE = 60  # seconds; only a hang reaches it
# What we ignored (nohup and background jobs of scripts ask for that) lapirun would ignore, too.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)


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

    LAPIRUN = PROBE = None  # set by the program
    PLACE = ""  # that is named behind each task
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
        return [self.LAPIRUN, *map(str, words)]

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
        job = self.start("-n", tasks, self.PROBE, "stay", *[int(number) for number in ignored])
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


class StartCases:
    """What keeps a job from starting, and whose settings hold, wherever its tasks would run."""

    def check_refused(self, words, status, reason):
        node = self.PLACE.removeprefix(" on ")
        output, errors = self.run_job(*words, status=status)
        self.assertEqual((output, errors), ("", f"lapirun: {node + ': ' if node else ''}{reason}\n"))

    def test_no_such_working_directory(self):
        self.check_refused(["--wd", "/absent", "true"], 2, "cannot change to '/absent': No such file or directory")
        self.check_refused(["-wdir", "/etc/passwd", "true"], 2, "cannot change to '/etc/passwd': Not a directory")

    def test_no_such_program(self):
        self.check_refused(["-n", 2, "no.such.program"], 127, "cannot run 'no.such.program': not found in PATH")
        self.check_refused(["/absent/program"], 127, "cannot run '/absent/program': No such file or directory")
        self.check_refused(["/etc/passwd"], 126, "cannot run '/etc/passwd': Permission denied")
        self.check_refused(["--wd", "/usr", "./bin"], 126, "cannot run './bin': Is a directory")

    def test_program_from_the_working_directory(self):
        program = os.path.join(self.folder, "where")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\npwd\n")
        os.chmod(program, 0o755)
        for words in (["./where"], ["-x", "PATH=:/usr/bin:/bin", "where"]):
            output, errors = self.run_job("--wd", self.folder, *words)
            self.assertEqual((output, errors), (os.path.realpath(self.folder) + "\n", ""))

    def test_settings_of_pmix_reach_the_server(self):
        """The server tells tasks what it goes by."""
        print_mode = ["sh", "-c", "echo $PMIX_SECURITY_MODE"]
        for mode in ("none", "native"):
            output, _ = self.run_job("-x", f"PMIX_MCA_psec={mode}", *print_mode)
            self.assertEqual(output, mode + "\n")


class EndCases:
    """How jobs end, wherever their tasks run."""

    def test_status_of_the_first_that_failed(self):
        for status in (1, 7, 255):
            _, errors = self.run_job("-n", 3, self.PROBE, "one-of-them", "exit", 1, status, status=status)
            self.assertRegex(errors, r"lapirun: task 1 \(process \d+\)" + re.escape(self.PLACE) +
                             rf" exited with status {status}\b")

    WAIT_FOR_FILE = "while [ ! -e $file ]; do sleep 0.01; done"
    # A task that has ended stays a zombie as long as the job lasts.
    WAIT_FOR_END = WAIT_FOR_FILE + "; while ! grep -q ^State:.Z /proc/$(cat $file)/status; do sleep 0.01; done"
    SAY_NUMBER = "echo $$ >$file.new; mv $file.new $file"

    def run_two(self, first, second, status=0):
        """Task 0 and task 1 of two, each a shell script; $file is theirs. The job's standard error."""
        script = f"file={self.folder}/file; if [ $PMIX_RANK = 0 ]; then {first}; else {second}; fi"
        return self.run_job("-n", 2, "sh", "-c", script, status=status)[1]

    def test_task_that_never_connects(self):
        line = (f"lapirun: task 1{self.PLACE} ended (status 0) before LAPI_Init, in which task 0{self.PLACE} waits for "
                "every task: ending the job")
        for first, second in ((f"exec {self.PROBE} hello $file", f"{self.WAIT_FOR_FILE}; exit 0"),
                              (f"{self.WAIT_FOR_END}; exec {self.PROBE} hello", f"{self.SAY_NUMBER}; exit 0")):
            errors = self.run_two(first, second, status=1)
            self.assertEqual(errors.count(line + "\n"), 1, errors)
            self.assertEqual(errors.count("lapirun: "), 1, errors)
            os.unlink(f"{self.folder}/file")

    def test_task_that_never_connects_when_the_other_has_left(self):
        errors = self.run_two(f"{self.PROBE} singleton; echo >$file.left; {self.WAIT_FOR_END}",
                              f"while [ ! -e $file.left ]; do sleep 0.01; done; {self.SAY_NUMBER}; exit 0")
        self.assertEqual(errors, "")

    def test_tasks_that_connect_and_end_at_different_times(self):
        for _ in range(5):
            _, errors = self.run_job("-n", 8, self.PROBE, "singleton")
            self.assertEqual(errors, "")
        errors = self.run_two(f"{self.PROBE} hello; {self.WAIT_FOR_END}", f"{self.SAY_NUMBER}; exec {self.PROBE} hello")
        self.assertEqual(errors, "")

    def test_killed_task(self):
        _, errors = self.run_job("-n", 3, self.PROBE, "one-of-them", "signal", 2, int(signal.SIGKILL), status=137)
        self.assertRegex(errors, rf"task 2 \(process \d+\){re.escape(self.PLACE)} was killed by signal 9 \(Killed\)")

    def test_task_killed_from_outside(self):
        job, numbers = self.start_staying(3)
        os.kill(numbers[1], signal.SIGKILL)
        self.assertEqual(self.finish(job)[0], 137)

    def test_deaf_tasks_are_killed_after_the_grace(self):
        job, numbers = self.start_staying(2, signal.SIGTERM)
        os.kill(numbers[0], signal.SIGKILL)
        self.assertEqual(self.finish(job)[0], 137)

    def test_abort(self):
        _, errors = self.run_job("-n", 3, self.PROBE, "one-of-them", "abort", 1, 7, status=7)
        self.assertIn(f"lapirun: task 1{self.PLACE} ends the job with status 7: asked to", errors)

    def test_who_is_on_the_way_out_has_ended_first(self):
        """What a task aborts over is mostly the loss of one that has died."""
        _, errors = self.run_job("-n", 2, self.PROBE, "abort-beside-exit", 7, status=137)
        self.assertRegex(errors, rf"task 0 \(process \d+\){re.escape(self.PLACE)} was killed by signal 9 \(Killed\)")

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
            self.assertRegex(errors, "lapirun: task [01]" + re.escape(self.PLACE) +
                             rf" has not taken signal {number:d} \(\w+\) within 2 s: ending the job\n")

    def test_tasks_that_die_together_in_a_fence(self):
        # Freed memory is filled, so that its use by libpmix shows.
        self.environment["MALLOC_PERTURB_"] = "48"
        for _ in range(10):
            for number in (signal.SIGINT, signal.SIGTERM):
                job = self.start("-n", 4, self.PROBE, "one-of-them", "wait", 0)
                for _ in range(4):
                    self.assertTrue(job.stdout.readline().startswith("waits"))
                job.send_signal(number)
                self.assertEqual(self.finish(job)[0], 128 + number)
            self.run_job("-n", 4, self.PROBE, "one-of-them", "abort", 1, 7, status=7)
            self.run_job("-n", 4, self.PROBE, "one-of-them", "signal", 1, 9, status=137)

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
        script = f"(trap '' HUP TERM INT; while :; do sleep 1; done) & exec {self.PROBE} stay 1 2 15"
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
        job = self.start(*options, "-n", 3, "sh", "-c", 'test $PMIX_RANK != 1 || kill -STOP $$; exec "$0" exchange', self.PROBE)
        return job, lambda: [number for number in processes_with(self.marker) if is_stopped(number)]

    def test_a_task_that_all_others_wait_for_is_named(self):
        job, stopped = self.start_with_a_stopped_task()
        line = job.stderr.readline()
        numbers = stopped()
        self.assertEqual(line, f"lapirun: after 10 s tasks still wait in LAPI_Init for task 1 (process {numbers[0]}), "
                               "which is stopped" + ("," + self.PLACE if self.PLACE else "") + "\n")
        os.kill(numbers[0], signal.SIGCONT)
        _, errors = job.communicate(timeout=DEADLINE)
        self.assertEqual((job.returncode, errors), (0, ""))

    def test_timeout(self):
        _, errors = self.run_job("-n", 2, "--timeout", "0.2", "sleep", 1000, status=124)
        self.assertEqual(errors, "lapirun: the time of --timeout is over; ending the tasks\n"
                                 f"lapirun: tasks 0-1{self.PLACE}: not in LAPI_Init yet\n")

    def test_timeout_of_tasks_that_use_pmix_alone(self):
        wanted = ("lapirun: the time of --timeout is over; ending the tasks\n"
                  f"lapirun: tasks 0-1{self.PLACE}: connected to PMIx, not in LAPI_Init\n")
        for seconds in (1, 4, 16, 50):  # until the machine has started both in time
            _, errors = self.run_job("-n", 2, "--timeout", seconds, self.PROBE, "stay", status=124)
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


class OutputCases:
    """What tasks print and read, wherever they run."""

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

    def written_by_a_task(self, bytes_of_output, bytes_of_errors=0):
        script = 'head -c %d /dev/zero | tr "\\0" x; head -c %d /dev/zero | tr "\\0" e >&2'
        return self.start("-n", 1, "sh", "-c", script % (bytes_of_output, bytes_of_errors))

    def read(self, stream, count):
        read = b""
        while len(read) < count and (more := os.read(stream.fileno(), count - len(read))):
            read += more
        self.assertEqual(len(read), count)

    def test_who_reads_one_stream_first(self):
        job = self.written_by_a_task(200_000, 1_500_000)
        self.read(job.stderr, 1_500_000)
        status, output, _ = self.finish(job)
        self.assertEqual((status, len(output)), (0, 200_000))

    def test_errors_are_seen_while_nobody_reads_the_output(self):
        go = os.path.join(self.folder, "go")
        script = f'test $PMIX_RANK = 1 || exec yes; until [ -e {go} ]; do sleep 0.1; done; echo why >&2; exit 3'
        job = self.start("-n", 2, "sh", "-c", script)
        time.sleep(1)  # the first task fills all that there is
        pathlib.Path(go).touch()
        said = [job.stderr.readline() for _ in range(2)]  # and how the task has ended, before or behind it
        status, _, _ = self.finish(job)
        self.assertIn("why\n", said)
        self.assertEqual(status, 3)

    def test_lapirun_that_is_stopped_loses_nothing(self):
        """The reader takes what lapirun holds while it is stopped for longer than tasks' children may write on."""
        whole, first = 620_000, 465_000  # then lapirun holds less than a pipe does
        job = self.written_by_a_task(whole)
        self.read(job.stdout, first)
        waiting = array.array("i", [0])

        def pipe_is_full():
            fcntl.ioctl(job.stdout, termios.FIONREAD, waiting)
            return waiting[0] > 65536 - select.PIPE_BUF
        self.assertTrue(eventually(pipe_is_full))
        time.sleep(1)  # the task has ended, and nobody can write
        job.send_signal(signal.SIGSTOP)
        self.assertTrue(eventually(lambda: is_stopped(job.pid)))
        time.sleep(0.8)
        fcntl.ioctl(job.stdout, termios.FIONREAD, waiting)
        self.read(job.stdout, waiting[0])
        job.send_signal(signal.SIGCONT)
        status, output, _ = self.finish(job)
        self.assertEqual((status, len(output)), (0, whole - first - waiting[0]))

    def test_a_slow_reader_costs_no_processor(self):
        """Also when the time is over after which lapirun would have looked for a task that others wait for."""
        job = self.start("--timeout", 5, "-n", 2, "sh", "-c", 'head -c 300000 /dev/zero | tr "\\0" "\\n"; '
                         'test $PMIX_RANK = 1 || exec sleep 100; exec "$0" exchange', self.PROBE)
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
            os.execve(self.LAPIRUN, self.command("sh", "-c", "read a && echo got-$a"), self.environment)
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
