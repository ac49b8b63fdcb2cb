#!/usr/bin/env python3
"""Jobs over universes of real daemons: lapirun where lamboot has booted several nodes, all on this machine (boot module
local). Tasks of different nodes do not share memory: they find each other through PMIx and talk over UDP.

usage: control_jobs_test.py FOLDER-OF-THE-TOOLS PROCESS-SCHEMA LAPIRUN PROBE FOLDER-OF-THE-PROGRAMS [CASES]"""
import fcntl
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import unittest
import uuid

from control_universe_test import NOBODY, PATIENCE, Universe
from job_cases import EndCases, LauncherCase, OutputCases, StartCases

LAPIRUN, PROBE = map(os.path.abspath, sys.argv[3:5])
LAMEXEC = os.path.join(os.path.dirname(LAPIRUN), "lamexec")
PROGRAMS = pathlib.Path(sys.argv[5])
HOSTS = ["inky cpu=2", "pinky cpu=2", "blinky cpu=2", "clyde cpu=2", "sue schedule=no"]
# What we ignored (nohup and background jobs of scripts ask for that) lapirun would ignore, too.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)


LOST = "lapirun: {}: the job goes on without it; lamhalt, lamclean and --jobs no longer reach tasks whose daemon or way is " \
       "lost (lamwipe and tkill do)\n"


class Jobs(Universe):
    hosts = HOSTS

    def setUp(self):
        super().setUp()
        self.marker = f"STARTED_BY_TEST={uuid.uuid4()}"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.temporary.chmod(0o777)
        for name in [name for name in self.environment if name.startswith(("PMIX_", "LAPI_", "MP_"))]:
            del self.environment[name]
        self.environment.update([self.marker.split("=")], TMPDIR=str(self.temporary))
        if self.hosts:
            self.boot(self.hosts, "-H")

    def tearDown(self):
        try:
            self.eventually(lambda: not self.job_processes(), "processes of jobs are left behind")
            self.eventually(lambda: not list(self.temporary.iterdir()), "files of jobs are left behind")
        finally:
            for process in self.job_processes():
                os.kill(process, signal.SIGKILL)
            super().tearDown()

    def eventually(self, condition, otherwise):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, otherwise)
            time.sleep(0.01)

    def job_processes(self):
        """All that carry the marker, but daemons: helpers, tasks, lapirun."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if (entry.name.isdigit() and self.marker.encode() in (entry / "environ").read_bytes()
                        and (entry / "comm").read_text().strip() != "lamd"):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def start(self, *words, launcher=LAPIRUN, **settings):
        environment = {**self.environment, **settings.pop("environment", {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "cwd": self.folder, **settings}
        return subprocess.Popen([*self.prefix, launcher, *map(str, words)], env=environment, **options)

    def finish(self, job, input_text=None):
        try:
            output, errors = job.communicate(input_text, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            job.kill()
            raise
        return job.returncode, output, errors

    def run_job(self, *words, status=0, input_text=None, **settings):
        if input_text is not None:
            settings["stdin"] = subprocess.PIPE
        returned, output, errors = self.finish(self.start(*words, **settings), input_text)
        self.assertEqual(returned, status, f"{words}: {output}{errors}")
        return output, errors

    def places(self, *words, **settings):
        """On which host each task ran, in the order of tasks."""
        output, _ = self.run_job(*words, "sh", "-c", "echo $PMIX_RANK $PMIX_HOSTNAME", **settings)
        rows = sorted((int(line.split()[0]), line.split()[1]) for line in output.splitlines())
        self.assertEqual([row[0] for row in rows], list(range(len(rows))))
        return " ".join(row[1] for row in rows)

    def start_staying(self, *words, ignored=()):
        """A job whose tasks have all said that they are there; also their process numbers."""
        job = self.start(*words, PROBE, "stay", *[int(number) for number in ignored])
        tasks = int(words[words.index("-n") + 1])
        ready = [job.stdout.readline().split() for _ in range(tasks)]
        self.assertEqual(sorted(int(line[1]) for line in ready), list(range(tasks)))
        return job, {int(line[1]): int(line[2]) for line in ready}

    @staticmethod
    def state_of(process):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]

    @staticmethod
    def parent(process):
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])

    @staticmethod
    def go_on(process):
        try:
            os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            pass


class PlaceTest(Jobs):
    def test_words_hosts_and_numbers(self):
        self.assertEqual(self.places("-n", 9), "inky inky pinky pinky blinky blinky clyde clyde inky")
        self.assertEqual(self.places(), "inky")
        self.assertEqual(self.places("N"), "inky pinky blinky clyde")
        self.assertEqual(self.places("C"), "inky inky pinky pinky blinky blinky clyde clyde")
        self.assertEqual(self.places("n2-3,0"), "blinky clyde inky")
        self.assertEqual(self.places("c1-3", "n4"), "inky pinky pinky sue")
        self.assertEqual(self.places("-n", 3, "h", "o", "n1"), "inky inky pinky")
        self.assertEqual(self.places("-N", 2, "-n", 3, "-host", "clyde,pinky"), "clyde clyde pinky")
        self.assertEqual(self.places("N", "-sessionsuffix", "n2"), "inky pinky blinky clyde")
        self.assertEqual(self.places("h", "-sessionsuffix", "n2"), "blinky")

    def test_mistakes(self):
        for words, expected in ((["n7"], '"n7": there is no n7; allowed: '),
                                (["-host", "x"], "-host 'x': the universe has no"),
                                (["-n", 9, "-N", 2], "-n 9 with -N 2: the 4 nodes chosen take 8 tasks"),
                                (["N", "--no-universe"], "are for jobs over a universe: not with --no-universe"),
                                (["N", "--standalone"], "are for jobs over a universe: not with --standalone")):
            output, errors = self.run_job(*words, "true", status=2)
            self.assertEqual(output, "")
            self.assertIn(expected, errors)

    def test_this_machine_alone(self):
        self.assertNotIn("inky", self.places("-n", 2, "--no-universe"))
        self.assertNotIn("inky", self.places("-n", 2, environment={"LAM_MPI_SESSION_SUFFIX": "other"}))
        output, _ = self.run_job("--standalone", "sh", "-c", "echo $MP_CHILD")
        self.assertEqual(output, "0\n")
        output, _ = self.run_job("--standalone", "-host", "localhost,127.0.0.1", "sh", "-c", "echo $MP_CHILD")
        self.assertEqual(sorted(output.split()), ["0", "1"])


class NoUniverseTest(Jobs):
    hosts = []

    def test_lapirun_is_what_it_was(self):
        self.assertEqual(self.run_job("-n", 2, "echo", "a"), ("a\na\n", ""))
        for words in (["-host", "localhost"], [f"--host={socket.gethostname()},localhost"]):
            self.assertEqual(self.run_job(*words, "-n", 2, "echo", "a"), ("a\na\n", ""))
        for words, tasks in ((["-H", "localhost,127.0.0.1"], 2), (["-npernode", 3], 3), (["-host", "localhost", "-N", 2], 2)):
            self.assertEqual(self.run_job(*words, "echo", "a"), ("a\n" * tasks, ""), words)
        self.assertIn("-n 3 with -N 2: this machine alone takes 2", self.run_job("-n", 3, "-N", 2, "true", status=2)[1])
        for words, reason in ((["N"], '"N" chooses nodes of one'), (["-host", "inky"], "the host 'inky' would be a node of one"),
                              (["-N", 2, "-H", "localhost,inky"], "the host 'inky' would be"),
                              (["--universe", "-N", 2], "--universe is of one")):
            output, errors = self.run_job(*words, "true", status=1)
            self.assertEqual(output, "")
            self.assertIn(f"no universe is booted here (lamboot boots one), but {reason}", errors)
        self.assertIn("cannot change to '/etc/passwd': Not a directory", self.run_job("--wd", "/etc/passwd", "true", status=2)[1])


    @unittest.skipUnless(os.geteuid() == 0, "needs root to make another user's folder")
    def test_another_users_session_is_none(self):
        folder = self.folder / f"lam-root@{socket.gethostname()}"
        folder.mkdir(mode=0o700)
        with open(folder / "lam-killfile", "w", encoding="ascii") as kill_file:
            fcntl.lockf(kill_file, fcntl.LOCK_EX)
            kill_file.write("1\n")
            kill_file.flush()
            os.chown(folder, 65534, 65534)
            self.assertEqual(self.run_job("-n", 1, "echo", "a"), ("a\n", ""))
            self.assertIn("no universe is booted here", self.run_job("--universe", "true", status=1)[1])
            os.chown(folder, 0, 0)
            self.assertIn("no lamd is running here", self.run_job("-n", 1, "echo", "a", status=1)[1])


class ExchangeTest(Jobs):
    def check_exchange(self, output, nodes):
        """`nodes`: the tasks of each, as local tasks are printed."""
        lines = re.findall(r"^rank=(\d+) size=(\d+) local=(\S+) cookie=([0-9a-f]{16}) name=pmix$", output, re.M)
        tasks = sum(len(node.split(",")) for node in nodes)
        self.assertEqual(sorted(int(line[0]) for line in lines), list(range(tasks)), output)
        self.assertEqual({int(line[1]) for line in lines}, {tasks})
        for line in lines:
            self.assertIn(line[0], line[2].split(","))
            self.assertIn(line[2], nodes)
        self.assertEqual(len({line[3] for line in lines}), 1, output)
        return lines[0][3]

    def test_data_reach_all_tasks(self):
        cookies = set()
        for words, nodes in ((["-n", 8], ["0,1", "2,3", "4,5", "6,7"]), (["-n", 5, "n0-1"], ["0,2,4", "1,3"]),
                             (["-n", 2, "n3", "n1"], ["0", "1"]), (["-n", 3, "n4"], ["0,1,2"])):
            output, errors = self.run_job(*words, PROBE, "exchange")
            self.assertEqual(errors, "")
            cookies.add(self.check_exchange(output, nodes))
        self.assertEqual(len(cookies), 4)

    def test_a_barrier_waits_for_the_last(self):
        for tasks in (2, 8):
            self.run_job("-n", tasks, "N", PROBE, "barrier", self.folder / f"came{tasks}")

    def test_a_fence_without_data_is_a_barrier(self):
        for tasks in (2, 8):
            self.run_job("-n", tasks, "N", PROBE, "plain-fence", self.folder / f"came{tasks}")

    def test_what_no_fence_brought_is_fetched(self):
        for words in (["-n", 2, "N"], ["-n", 8]):
            self.run_job(*words, PROBE, "fetch")

    def test_what_nobody_put(self):
        for seconds in (0, 1):
            output, _ = self.run_job("-n", 4, PROBE, "get-absent", seconds)
            self.assertEqual(output.count("error=PMIx_Get of probe.absent of task 3: "), 4, output)

    def test_jobs_side_by_side(self):
        jobs = [self.start("-n", 4, PROBE, "exchange") for _ in range(4)]
        self.assertEqual(len({self.check_exchange(self.finish(job)[1], ["0,1", "2,3"]) for job in jobs}), 4)

    def test_an_ordinary_program_and_one_that_leaves(self):
        self.run_job("-n", 4, "true")
        self.run_job("-n", 4, PROBE, "no-goodbye")


class TableTest(Jobs):
    def jobs(self, *words):
        return [line.split("\t") for line in self.run_job("--jobs", *words)[0].splitlines()]

    def test_jobs_are_listed_where_they_have_a_part(self):
        self.assertEqual(self.jobs(), [])
        first, _ = self.start_staying("-n", 2, "n1", "n2")
        second, _ = self.start_staying("-n", 2, "n0", "n2", "-sessionsuffix", "n2")
        here = self.jobs()
        self.assertEqual([row[:2] for row in here], [["0.1", "n1,n2"], ["2.1", "n0"]])
        self.assertEqual(here[0][2:], [f"lapirun {first.pid}", f"{LAPIRUN} -n 2 n1 n2 {PROBE} stay"])
        self.assertRegex(here[1][2], r"^lamtasks \d+$")
        self.assertEqual([row[:2] for row in self.jobs("-sessionsuffix", "n1")], [["0.1", "n1"]])
        self.assertEqual([row[:2] for row in self.jobs("-sessionsuffix", "n2")], [["0.1", "n2"], ["2.1", "n0,n2"]])
        self.assertEqual(self.jobs("-sessionsuffix", "n3"), [])
        programs = self.start("n1", "sleep", PATIENCE, launcher=LAMEXEC)
        self.eventually(lambda: [f"lamexec {programs.pid}"] in [row[2:3] for row in self.jobs()], "lamexec is not listed")
        for job in (first, second, programs):
            job.send_signal(signal.SIGTERM)
            self.assertEqual(self.finish(job)[0], 128 + signal.SIGTERM)
        for view in ([], ["-sessionsuffix", "n2"]):
            self.eventually(lambda words=view: not self.jobs(*words), "a job stays in the table")


class SurroundingsTest(Jobs):
    def test_output_keeps_its_lines(self):
        output, errors = self.run_job("-n", 4, "--tag-output", "sh", "-c", "seq 20000; seq 100 >&2; printf end")
        for text, last in ((output, 20000), (errors, 100)):
            for task in range(4):
                lines = [line.split(" ", 1)[1] for line in text.splitlines() if line.startswith(f"[{task}] ")]
                self.assertEqual(lines, [*map(str, range(1, last + 1)), *(["end"] if last == 20000 else [])])

    def test_a_slow_reader_gets_everything(self):
        job = self.start("N", "sh", "-c", "seq 300000")
        lines = 0
        while piece := os.read(job.stdout.fileno(), 100000):
            lines += piece.count(b"\n")
        self.assertEqual(lines, 4 * 300000)
        self.assertEqual(self.finish(job)[0], 0)

    def test_a_slow_reader_costs_no_processor(self):
        """Also when the time is over that nodes have to end their tasks."""
        job = self.start("--timeout", 4, "-n", 2, "n0", "n1", "sh", "-c",
                         'head -c 300000 /dev/zero | tr "\\0" "\\n"; exec sleep 100')

        def seconds_used():
            times = pathlib.Path(f"/proc/{job.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
            return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        time.sleep(13)
        before, since = seconds_used(), time.monotonic()
        time.sleep(2)
        used = (seconds_used() - before) / (time.monotonic() - since)
        status, output, _ = self.finish(job)
        self.assertEqual(status, 124)
        self.assertGreater(len(output), 2 * 65536)  # more than pipes hold
        self.assertLess(used, 0.1)

    def test_when_the_reader_leaves(self):
        job = self.start("N", "yes")
        job.stdout.read(10)
        job.stdout.close()
        job.stdout = None
        _, errors = job.communicate(timeout=PATIENCE)
        self.assertEqual(job.returncode, 128 + signal.SIGPIPE, errors)

    def test_input_goes_to_task_0(self):
        text = "".join(f"{number}\n" for number in range(50000))
        self.assertEqual(self.run_job("n2", "n0", "cat", input_text=text)[0], text)
        self.run_job("n2", "true", input_text=text)

    def test_environment_directory_and_arguments(self):
        place = self.folder / "a place"
        place.mkdir()
        script = 'echo "$PWD|$(pwd)|$ONE|$TWO|$1"'
        output, _ = self.run_job("n1", "-x", "ONE=1 2", "--wd", place, "sh", "-c", script, "x", "a  b",
                                 environment={"TWO": "x" * 10000})
        self.assertEqual(output, f"{place}|{place}|1 2|{'x' * 10000}|a  b\n")
        self.assertEqual(self.run_job("n1", "pwd", cwd=place)[0], f"{place}\n")
        (place / "tool").write_text("#!/bin/sh\necho here\n")
        (place / "tool").chmod(0o755)
        self.assertEqual(self.run_job("n1", "--wd", place, "./tool")[0], "here\n")
        self.assertEqual(self.run_job("n1", "-x", f"PATH={place}:/usr/bin:/bin", "tool")[0], "here\n")

    def test_report_bindings_and_verbose(self):
        _, errors = self.run_job("N", "--report-bindings", "-v", "true")
        for host in ("inky", "pinky", "blinky", "clyde"):  # one machine: bound, they would be on the same core
            self.assertRegex(errors, rf"lapirun: task \d on n\d \({host}\): not bound\n")
        self.assertRegex(errors, r"lapirun: tasks started \([\d.]+ ms\)\n")
        self.assertIn("core", self.run_job("n1", "--report-bindings", "true")[1])


class FaultTest(Jobs):
    def test_exit_status_and_signal_of_a_task(self):
        _, errors = self.run_job("-n", 4, PROBE, "one-of-them", "exit", 3, 7, status=7)
        self.assertRegex(errors, r"^lapirun: task 3 \(process \d+\) on n1 \(pinky\) exited with status 7; "
                                 r"ending the others\n$")
        _, errors = self.run_job("-n", 8, PROBE, "one-of-them", "signal", 2, 9, status=137)
        self.assertRegex(errors, r"^lapirun: task 2 \(process \d+\) on n1 \(pinky\) was killed by signal 9 \(Killed\); ")
        _, errors = self.run_job("-n", 4, PROBE, "one-of-them", "abort", 2, 9, status=9)
        self.assertIn("lapirun: task 2 on n1 (pinky) ends the job with status 9: asked to\n", errors)

    def test_a_task_that_never_comes(self):
        _, errors = self.run_job("-n", 4, "sh", "-c", f"[ $PMIX_RANK = 2 ] || exec {PROBE} hello", status=1)
        self.assertIn("lapirun: task 2 on n1 (pinky) ended (status 0) before LAPI_Init, in which task ", errors)

    def test_output_that_cannot_be_written(self):
        """The job ends, though its tasks would go on, and has failed."""
        for stream, redirection in (("stdout", ""), ("stderr", ">&2")):
            with open("/dev/full", "wb") as full:
                _, errors = self.run_job("n1", "n2", "sh", "-c", f"echo hello {redirection}; exec sleep 4321", status=1,
                                         **{stream: full})
            if stream == "stdout":
                self.assertEqual(errors, "lapirun: cannot write the standard output of the tasks: No space left on "
                                         "device; ending the job\n")

    def test_no_such_program_or_directory(self):
        output, errors = self.run_job("n1", "n2", "no.such.program", status=127)
        self.assertRegex(errors, r"^lapirun: n[12] \((pinky|blinky)\): "
                                 r"cannot run 'no.such.program': not found in PATH\n$")
        _, errors = self.run_job("n1", "/etc/passwd", status=126)
        self.assertEqual(errors, "lapirun: n1 (pinky): cannot run '/etc/passwd': Permission denied\n")
        _, errors = self.run_job("n1", "--wd", "/no/such", "true", status=2)
        self.assertEqual(errors, "lapirun: n1 (pinky): cannot change to '/no/such': No such file or directory\n")

    def test_each_launcher_speaks_under_its_own_name(self):
        """Also in what a node's helper and the processes that it starts say."""
        broken = self.folder / "broken"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(0o755)
        for launcher, task in ((LAPIRUN, "task"), (LAMEXEC, "program")):
            name = os.path.basename(launcher)
            _, errors = self.run_job("n1", broken, status=127, launcher=launcher)
            said, ended = sorted(errors.splitlines())  # which comes first is chance
            self.assertEqual(said, f"{name}: cannot run '{broken}': No such file or directory")
            self.assertRegex(ended, rf"^{name}: {task} 0 \(process \d+\) on n1 \(pinky\) exited with status 127$")
            _, errors = self.run_job("n1", "no.such.program", status=127, launcher=launcher)
            self.assertEqual(errors, f"{name}: n1 (pinky): cannot run 'no.such.program': not found in PATH\n")

    def test_a_node_that_is_killed_ends_its_jobs_and_no_others(self):
        job, processes = self.start_staying("-n", 2, "n1", "n2")
        other, _ = self.start_staying("-n", 2, "n0", "n3")
        helper = self.parent(processes[0])
        os.kill(self.process("n1"), signal.SIGSTOP)  # it tells nobody
        os.kill(helper, signal.SIGKILL)
        os.kill(self.process("n1"), signal.SIGKILL)
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (1, LOST.format("the daemon of n1 (pinky) is lost") +
                                            "lapirun: n1 (pinky): its lamtasks is not reached any more, and its tasks "
                                            "with it\n"))
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks stay")
        self.assertIsNone(other.poll())
        self.assertEqual(self.places("N"), "inky blinky clyde")
        other.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(other)[0], 128 + signal.SIGTERM)

    def test_a_daemon_that_hangs_is_named(self):
        daemon = self.process("n1")
        os.kill(daemon, signal.SIGSTOP)
        try:
            job = self.start("n0", "n1", "n2", "true")
            line = job.stderr.readline()
        finally:
            os.kill(daemon, signal.SIGCONT)
        self.assertEqual(line, "lapirun: no answer after 10 s from n1 (pinky): the daemon there (lamd), or one on the way, "
                               "hangs or is stopped; waiting for it\n")
        self.assertEqual(self.finish(job), (0, "", ""))

    def test_a_task_that_all_others_wait_for_is_named(self):
        script = f"test $PMIX_RANK != 3 || {{ echo $$ >{self.folder}/number; kill -STOP $$; }}; exec {PROBE} exchange"
        job = self.start("-n", 4, "n0", "n1", "sh", "-c", script)
        line = job.stderr.readline()
        number = int((self.folder / "number").read_text())
        self.assertEqual(line, f"lapirun: after 10 s tasks still wait in LAPI_Init for task 3 (process {number}), which "
                               "is stopped, on n1 (pinky)\n")
        os.kill(number, signal.SIGCONT)
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (0, ""))

    def test_a_helper_that_hangs_is_killed_at_its_jobs_end(self):
        job, processes = self.start_staying("-n", 2, "n1")
        helper = self.parent(processes[0])
        self.assertEqual(pathlib.Path(f"/proc/{helper}/comm").read_text(), "lamtasks\n")
        os.kill(helper, signal.SIGSTOP)
        job.kill()
        self.finish(job)
        self.eventually(lambda: not any(map(self.is_running, [helper, *processes.values()])), "tasks stay")

    def test_a_stopped_helper_ends_with_its_daemon(self):
        for node, end in (("n2", lambda: os.kill(self.process("n2"), signal.SIGTERM)), ("n3", self.halt)):
            job, processes = self.start_staying("-n", 2, node)
            helper = self.parent(processes[0])
            os.kill(helper, signal.SIGSTOP)
            end()
            self.finish(job)
            known = [helper, *processes.values()]
            self.eventually(lambda all_of=known: not any(map(self.is_running, all_of)), f"{node}: tasks stay")

    def test_the_daemon_of_lapirun_is_told_to_end(self):
        job, processes = self.start_staying("-n", 4)
        os.kill(self.process(), signal.SIGTERM)
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (1, "lapirun: the daemon here (lamd) was told to end: the job ends with it\n"))
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks stay")

    def test_the_daemon_of_another_node_is_told_to_end(self):
        for options, node, host in (((), "n1", "pinky"), (("--outlive-daemons",), "n2", "blinky")):
            job, processes = self.start_staying(*options, "-n", 2, "n0", node)
            os.kill(self.process(node), signal.SIGTERM)
            status, _, errors = self.finish(job)
            self.assertEqual((status, errors), (1, f"lapirun: {node} ({host}): its daemon (lamd) was told to end\n"))
            self.eventually(lambda known=processes: not any(map(self.is_running, known.values())), "tasks stay")

    def test_halt_ends_jobs(self):
        job, _ = self.start_staying("-n", 4)
        self.halt()
        self.assertEqual(self.finish(job)[0], 1)

    def test_lapirun_is_killed(self):
        job, processes = self.start_staying("-n", 4, ignored=[signal.SIGTERM])
        job.kill()
        self.finish(job)
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks stay")
        self.assertEqual(self.places("-n", 1), "inky")

    def test_a_helper_is_killed(self):
        job, _ = self.start_staying("-n", 4)
        helpers = [process for process in self.job_processes()
                   if pathlib.Path(f"/proc/{process}/comm").read_text() == "lamtasks\n"]
        self.assertEqual(len(helpers), 2)
        os.kill(helpers[0], signal.SIGKILL)
        status, _, errors = self.finish(job)
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"^lapirun: n[01] \((inky|pinky)\): lamtasks was killed by signal 9\n$")

    def test_signals_are_forwarded(self):
        script = "trap 'echo usr1' USR1; trap 'echo term; exit 3' TERM; echo ready; while :; do sleep 0.02; done"
        job = self.start("-n", 2, "N", "sh", "-c", script)
        self.assertEqual([job.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        job.send_signal(signal.SIGUSR1)
        self.assertEqual([job.stdout.readline() for _ in range(2)], ["usr1\n"] * 2)
        job.send_signal(signal.SIGTERM)
        self.assertEqual([job.stdout.readline() for _ in range(2)], ["term\n"] * 2)
        self.assertEqual(self.finish(job)[0], 3)

    def test_a_signal_that_no_task_takes(self):
        blocked = ("import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)); "
                   "print('blocked', flush=True); time.sleep(1000)")
        job = self.start("-n", 2, "N", "/usr/bin/python3", "-c", blocked)
        self.assertEqual([job.stdout.readline() for _ in range(2)], ["blocked\n"] * 2)
        job.send_signal(signal.SIGTERM)
        status, _, errors = self.finish(job)
        self.assertEqual(status, 128 + signal.SIGTERM)  # as without a universe
        self.assertRegex(errors, r"lapirun: task [01] on n[0-9] \(\w+\) has not taken signal 15 \(Terminated\) within 2 s: "
                                 r"ending the job\n")

    def test_one_signal_and_what_hangs(self):
        """Helpers of some tasks, of all tasks, and a daemon: what does not answer is named, and not waited for."""
        for stopped in ("n1", "n2"), ("n2",), ("daemon",):
            with self.subTest(stopped):
                job, processes = self.start_staying("-n", 2, "n1", "n2")
                helpers = {"n1": self.parent(processes[0]), "n2": self.parent(processes[1]), "daemon": self.process("n2")}
                hanging = [helpers[name] for name in stopped]
                for process in hanging:
                    os.kill(process, signal.SIGSTOP)
                try:
                    job.send_signal(signal.SIGTERM)
                    status, _, errors = self.finish(job)
                finally:
                    for process in hanging:
                        self.go_on(process)
                names = "n1 (pinky), n2 (blinky)" if len(stopped) == 2 else "n2 (blinky)"
                self.assertEqual((status, errors), (128 + signal.SIGTERM, f"lapirun: no answer within 10 s from {names}: the "
                                                    "daemon there (lamd) or lamtasks hangs or is stopped; its tasks may go on\n"))
                self.eventually(lambda left=processes: not any(map(self.is_running, left.values())), "tasks stay")

    def test_one_signal_to_a_lapirun_that_is_stopped(self):
        """An answer lies behind much output when it goes on, after the time for it."""
        script = ("trap 'trap \"\" TERM; head -c 300000 /dev/zero | tr \"\\0\" x; "
                  f"echo > {self.folder}/took$PMIX_RANK; exit 3' TERM; "
                  "echo $PMIX_RANK $$; while :; do sleep 0.02; done")
        job = self.start("-n", 2, "n1", "n2", "sh", "-c", script)
        processes = {int(task): int(number) for task, number in (job.stdout.readline().split() for _ in range(2))}
        helper = self.parent(processes[1])
        os.kill(helper, signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        until = time.monotonic() + 11
        self.eventually((self.folder / "took0").exists, "the first task has not heard of the signal")
        for process, number in ((job.pid, signal.SIGSTOP), (helper, signal.SIGCONT)):
            os.kill(process, number)
        self.eventually((self.folder / "took1").exists, "the second task has not heard of the signal")
        time.sleep(max(0, until - time.monotonic()))
        job.send_signal(signal.SIGCONT)
        status, output, errors = self.finish(job)
        self.assertEqual((status, output.count("x")), (3, 600000), errors)
        self.assertNotIn("no answer", errors)

    def test_one_signal_that_tasks_take_their_time_for(self):
        script = "trap 'sleep 21; echo late; exit 3' TERM; echo ready; while :; do sleep 0.02; done"
        job = self.start("-n", 2, "n1", "n2", "sh", "-c", script)
        self.assertEqual([job.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        job.send_signal(signal.SIGTERM)
        status, output, errors = self.finish(job)
        self.assertEqual((status, output.splitlines()[0]), (3, "late"), errors)

    def test_interrupted_once_and_twice(self):
        job, _ = self.start_staying("-n", 4)
        job.send_signal(signal.SIGINT)
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (128 + signal.SIGINT, ""))
        script = "trap '' INT; trap 'echo term' TERM; echo ready; while :; do sleep 0.02; done"
        job = self.start("-n", 4, "sh", "-c", script)
        for signals, said in (([], "ready\n"), ([signal.SIGTERM], "term\n")):
            for number in signals:
                job.send_signal(number)
            self.assertEqual([job.stdout.readline() for _ in range(4)], [said] * 4)
        job.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(job)[0], 128 + signal.SIGINT)

    def test_stopped_and_continued(self):
        job, processes = self.start_staying("-n", 4)
        job.send_signal(signal.SIGTSTP)
        everybody = [job.pid, *processes.values()]
        self.eventually(lambda: all(self.state_of(process) == "T" for process in everybody), "not all are stopped")
        job.send_signal(signal.SIGCONT)
        self.eventually(lambda: all(self.state_of(process) != "T" for process in everybody), "not all go on")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 128 + signal.SIGTERM)

    def test_timeout_and_tasks_deaf_to_the_end(self):
        _, errors = self.run_job("-n", 2, "N", "--timeout", 0.5, PROBE, "stay", int(signal.SIGTERM), status=124)
        self.assertRegex(errors, r"^lapirun: the time of --timeout is over; ending the tasks\n(lapirun: tasks? [01].*\n)+$")


class OneNode(LauncherCase):
    """Over a universe of one node, whose daemons know nothing of the case's marker."""

    LAPIRUN, PROBE = LAPIRUN, PROBE
    PLACE = " on n0 (inky)"

    def setUp(self):
        super().setUp()
        self.universe = Universe()
        self.universe.setUp()
        self.universe.environment["TMPDIR"] = self.temporary
        self.universe.boot(["inky cpu=8"], "-H")
        self.environment["LAM_MPI_SESSION_PREFIX"] = str(self.universe.folder)

    def tearDown(self):
        try:
            super().tearDown()
        finally:
            self.universe.tearDown()


class OneNodeStartTest(StartCases, OneNode):
    pass


class OneNodeEndTest(EndCases, OneNode):
    pass


class OneNodeOutputTest(OutputCases, OneNode):
    pass


class OutliveTest(Jobs):
    """Tasks that the user wants to go on when a daemon is lost."""
    SCRIPT = "echo $PMIX_RANK $$; while [ ! -e {0}/go ]; do sleep 0.02; done; " \
             "head -c 2000000 /dev/zero | tr '\\0' x; echo more; echo over > {0}/over$PMIX_RANK"

    def start_outliving(self, *words):
        """A job whose tasks wait for a file, print more than anybody keeps for them and leave a file each."""
        job = self.start("--outlive-daemons", *words, "sh", "-c", self.SCRIPT.format(self.folder))
        ready = [job.stdout.readline().split() for _ in range(int(words[words.index("-n") + 1]))]
        return job, {int(rank): int(process) for rank, process in ready}

    def over(self, task):
        return (self.folder / f"over{task}").exists()

    def outliving(self):
        return sorted(path.name for path in self.folder.glob("lam-*-t*"))

    def cut_off(self, job, node):
        """The helpers of those nodes lose lapirun with their daemon."""
        job.send_signal(signal.SIGSTOP)
        os.kill(self.process(node), signal.SIGKILL)
        job.kill()
        self.finish(job)

    def test_the_daemon_of_lapirun_is_killed(self):
        job, _ = self.start_outliving("-n", 2, "n0", "n1")
        self.cut_off(job, "")
        self.eventually(lambda: len(self.outliving()) == 2, "helpers are not to be found")
        (self.folder / "go").touch()
        self.eventually(lambda: self.over(0) and self.over(1), "tasks have not come to their ends")
        self.eventually(lambda: self.outliving() == [], "a folder stays")

    def test_tkill_finds_them(self):
        job, processes = self.start_outliving("-n", 2, "n1", "n2")
        self.cut_off(job, "n1")
        self.eventually(lambda: len(self.outliving()) == 1 and not self.is_running(processes[1]), "n2 goes on")
        self.assertTrue(self.is_running(processes[0]))
        self.assertEqual(self.tool("tkill", "-sessionsuffix", "n1").returncode, 0)
        self.eventually(lambda: not self.is_running(processes[0]), "a task stays")
        self.assertEqual(self.outliving(), [])

    def test_an_abort_on_the_way_to_a_lapirun_that_ends(self):
        """Told while nobody hears it yet: lapirun is stopped, and is killed then."""
        script = f"echo $PMIX_RANK $$; [ $PMIX_RANK = 1 ] || exec sleep 600; while [ ! -e {self.folder}/go ]; do " \
                 f"sleep 0.02; done; exec {PROBE} abort-alone 7"
        job = self.start("--outlive-daemons", "-n", 2, "n1", "sh", "-c", script)
        processes = dict(map(int, job.stdout.readline().split()) for _ in range(2))
        job.send_signal(signal.SIGSTOP)
        os.kill(self.process("n1"), signal.SIGKILL)
        self.eventually(lambda: len(self.outliving()) == 1, "the helper has not lost its way")
        (self.folder / "go").touch()
        self.eventually(lambda: not self.is_running(processes[1]), "the abort is not taken")
        job.kill()
        self.finish(job)
        self.eventually(lambda: not self.is_running(processes[0]), "a task stays")

    def test_whoever_ends_the_job_ends_them(self):
        for end in (lambda job: job.kill(), lambda job: self.halt()):
            job, processes = self.start_outliving("-n", 4)
            end(job)
            self.finish(job)
            self.eventually(lambda known=processes: not any(map(self.is_running, known.values())), "tasks stay")
            self.assertEqual(self.outliving(), [])


class ReturnTest(Jobs):
    """Daemons are killed under a job, which goes on: its own, that of lapirun, or both."""
    WAIT = "while [ ! -e {0}/go ]; do sleep 0.02; done; "

    def tearDown(self):
        try:
            self.eventually(lambda: not list(self.folder.glob("lam-*-t*")), "a helper's folder stays")
        finally:
            super().tearDown()

    def start_waiting(self, *words, then, **settings):
        """The job, whose tasks print their numbers and wait for a file."""
        (self.folder / "go").unlink(missing_ok=True)
        tasks = int(words[words.index("-n") + 1])
        job = self.start(*words, "sh", "-c", f"echo $PMIX_RANK $$; {self.WAIT.format(self.folder)} {then}", **settings)
        return job, dict(map(int, job.stdout.readline().split()) for _ in range(tasks))

    def lose(self, job, nodes):
        """Kills their daemons; returns when the user was told of each."""
        for node in nodes:
            os.kill(self.process(node), signal.SIGKILL)
            what = f"the daemon of {node} " if node else "the daemon here (lamd) "
            while True:
                line = job.stderr.readline()
                self.assertIn("is lost: the job goes on without it", line)
                if what in line:
                    break

    def test_what_is_said(self):
        job, _ = self.start_waiting("-n", 2, "n1", "n2", then="true")
        os.kill(self.process("n1"), signal.SIGKILL)
        self.assertEqual(job.stderr.readline(), LOST.format("the daemon of n1 (pinky) is lost"))
        (self.folder / "go").touch()
        self.assertEqual(self.finish(job), (0, "", ""))

    def test_a_node_is_removed(self):
        """It ends the tasks there, and the job with them, also one that would go on where a node is cut off."""
        for node, host, words in (("n1", "pinky", []), ("n2", "blinky", ["--outlive-daemons"])):
            job, processes = self.start_waiting(*words, "-n", 2, "n0", node, then="true")
            self.assertEqual(self.tool("lamshrink", node).returncode, 0)
            self.assertEqual(self.finish(job), (1, "", f"lapirun: {node} ({host}): it was removed from the universe\n"))
            self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks are left behind")

    def test_the_node_of_lapirun_is_removed(self):
        job, processes = self.start_waiting("--outlive-daemons", "-n", 2, "n1", "n2", then="true")
        self.assertEqual(self.tool("lamshrink", "-sessionsuffix", "n1", "o").returncode, 0)
        self.assertEqual(self.finish(job)[0], 1)
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks are left behind")

    def test_a_helper_without_a_folder(self):
        job, processes = self.start_waiting("-n", 1, "n1", then="echo more")
        [session] = self.folder.glob("lam-*-n1")
        taken = session.with_name(f"{session.name}-t{self.parent(processes[0])}")
        taken.touch()
        self.lose(job, ["n1"])
        (self.folder / "go").touch()
        self.assertEqual(self.finish(job), (0, "more\n", ""))
        taken.unlink()

    def check_streams(self, losses):
        """Input and much output, before and after: every byte once."""
        then = "if [ $PMIX_RANK = 0 ]; then cat; else head -c 1500000 /dev/zero | tr '\\0' $PMIX_RANK; echo; fi"
        job, _ = self.start_waiting("-n", 3, "n1", "n2", "n0", then=then, stdin=subprocess.PIPE)
        job.stdin.write("before\n")
        self.lose(job, losses)
        (self.folder / "go").touch()
        text = "".join(f"line {number}\n" for number in range(20000))
        status, output, errors = self.finish(job, text)
        self.assertEqual((status, errors), (0, ""))
        lines = output.splitlines()
        self.assertEqual([line for line in lines if not line.startswith(("1", "2"))], ["before", *text.splitlines()])
        for task in "12":
            self.assertEqual("".join(line for line in lines if line.startswith(task)), task * 1500000)

    def test_streams_when_its_daemon_is_killed(self):
        self.check_streams(["n1"])

    def test_streams_when_the_daemon_of_lapirun_is_killed(self):
        self.check_streams([""])

    def test_streams_when_all_daemons_are_killed(self):
        self.check_streams(["n1", "n2", ""])

    def test_daemons_are_killed_while_tasks_print(self):
        script = "i=0; while [ $i -lt 30000 ]; do echo $PMIX_RANK $i; i=$((i+1)); done"
        job = self.start("-n", 3, "n1", "n2", "n0", "sh", "-c", script)
        lines = [job.stdout.readline() for _ in range(1000)]
        os.kill(self.process("n1"), signal.SIGKILL)
        lines += [job.stdout.readline() for _ in range(1000)]
        os.kill(self.process(), signal.SIGKILL)
        lines += job.stdout.readlines()
        self.assertEqual(job.wait(PATIENCE), 0, job.stderr.read())
        for task in "012":
            own = [int(line.split()[1]) for line in lines if line[0] == task]
            self.assertEqual(own, list(range(30000)), task)

    def start_with_a_reader_that_waits(self, *words):
        """A job that has ended but for its output, of which lapirun holds more than a pipe does."""
        job = self.start("--verbose", *words, "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo")
        while "tasks ended" not in (line := job.stderr.readline()):
            self.assertNotEqual(line, "")
        return job

    def test_a_helper_that_comes_when_only_output_is_left(self):
        job = self.start_with_a_reader_that_waits("-n", 1, "n1")
        os.kill(self.process("n1"), signal.SIGKILL)
        self.eventually(lambda: set(self.job_processes()) <= {job.pid}, "lamtasks has not heard that the job is over")
        status, output, errors = self.finish(job)
        self.assertEqual((status, len(output)), (0, 300001), errors)

    def test_a_stranger_is_left_when_only_output_is_left(self):
        job = self.start_with_a_reader_that_waits("-n", 1, "n1")
        sockets = [os.readlink(entry) for entry in pathlib.Path(f"/proc/{job.pid}/fd").iterdir()]
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        [place] = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
        address, port = (int(word, 16) for word in place.split(":"))
        with socket.create_connection((socket.inet_ntoa(address.to_bytes(4, sys.byteorder)), port), PATIENCE) as stranger:
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(4096):
                pass
        status, output, errors = self.finish(job)
        self.assertEqual((status, len(output)), (0, 300001), errors)

    def check_failure(self, losses):
        job, processes = self.start_waiting("-n", 3, "n1", "n2", "n3", then="[ $PMIX_RANK != 0 ] || exit 7; sleep 600")
        self.lose(job, losses)
        (self.folder / "go").touch()
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (7, f"lapirun: task 0 (process {processes[0]}) on n1 (pinky) exited with "
                                               "status 7; ending the others\n"))

    def test_a_task_that_fails_ends_the_others(self):
        self.check_failure(["n1"])

    def test_a_task_that_fails_without_the_daemon_of_lapirun_ends_the_others(self):
        self.check_failure([""])

    def test_signals_come_through(self):
        job, _ = self.start_waiting("-n", 2, "n1", "n2", then="true")
        self.lose(job, ["n1", ""])
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 128 + signal.SIGTERM)

    def test_lapirun_is_killed_later(self):
        job, _ = self.start_waiting("-n", 3, "n0", "n1", "n2", then="true")
        self.lose(job, ["n1", ""])
        job.kill()
        self.finish(job)
        self.eventually(lambda: not self.job_processes(), "processes are left behind")

    def test_tkill_ends_the_tasks(self):
        job, processes = self.start_waiting("-n", 2, "n1", "n2", then="true")
        self.lose(job, ["n1"])
        self.assertEqual(self.tool("tkill", "-sessionsuffix", "n1").returncode, 0)
        self.assertEqual(self.finish(job)[::2], (1, "lapirun: n1 (pinky): lamtasks was told to end, and its tasks with it\n"))
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks are left behind")

    def test_tasks_find_each_other_without_daemons(self):
        job, _ = self.start_waiting("-n", 6, "n0", "n1", "n2", then=f"exec {PROBE} exchange")
        self.lose(job, ["n1", ""])
        (self.folder / "go").touch()
        status, output, errors = self.finish(job)
        self.assertEqual((status, errors, len(re.findall("^rank=", output, re.M))), (0, "", 6), output)

    def test_daemons_are_killed_while_tasks_find_each_other(self):
        """Task 0, and with it the job, waits in a fence for task 3 alone."""
        script = f"[ $PMIX_RANK != 3 ] || {{ echo $$; {self.WAIT.format(self.folder)} }}; exec {PROBE} exchange"
        job = self.start("-n", 4, "n0", "n1", "sh", "-c", script)
        job.stdout.readline()
        self.assertIn("lapirun: after 10 s tasks still wait in LAPI_Init for task 3", job.stderr.readline())
        self.lose(job, ["n1", ""])
        (self.folder / "go").touch()
        status, output, errors = self.finish(job)
        self.assertEqual((status, errors, len(re.findall("^rank=", output, re.M))), (0, "", 4), output)

    def test_a_daemon_is_killed_at_the_start(self):
        """Before the tasks are there, whom nobody can start any more then, or when they are and find each other. What comes
        first is said: that its tasks are lost, or that the universe has no such node any more."""
        for phase in ("job sent to the nodes", "tasks started"):
            job = self.start("--verbose", "-n", 4, "n1", "n2", PROBE, "exchange")
            while phase not in (line := job.stderr.readline()):
                self.assertNotEqual(line, "", phase)
            os.kill(self.process("n1"), signal.SIGKILL)
            output, errors = job.stdout.read(), job.stderr.read()
            status = job.wait(PATIENCE)
            if status == 0:
                self.assertEqual(len(re.findall("^rank=", output, re.M)), 4, errors)
            else:
                self.assertEqual(status, 1)
                self.assertRegex(errors, r"n1 (\(pinky\): its lamtasks is not reached any more, and its tasks with it|"
                                         r"is not in the universe)\n")
            self.halt()
            self.boot(self.hosts, "-H")

    def test_many_nodes(self):
        job, _ = self.start_waiting("-n", 8, "n0-3", then="echo more")
        self.lose(job, ["n3", "n2", "n1", ""])
        (self.folder / "go").touch()
        status, output, errors = self.finish(job)
        self.assertEqual((status, output, errors), (0, "more\n" * 8, ""))


class TreeTest(Jobs):
    hosts = [f"host{number}" for number in range(20)]  # n17 to n19 are linked with n1, not with the origin

    def test_jobs_through_other_daemons(self):
        self.run_job("-n", 6, "n17-19", "n0", PROBE, "exchange")
        self.run_job("-n", 4, "n17,2", "-sessionsuffix", "n19", PROBE, "fetch")
        job, processes = self.start_staying("-n", 2, "n0", "n18")
        os.kill(self.process("n1"), signal.SIGKILL)
        self.assertEqual(job.stderr.readline(), LOST.format("the daemon of n1 (host1) is lost; the way to other nodes went "
                                                            "through it"))
        self.eventually(lambda: list(self.folder.glob("lam-*-n18-t*")), "the helper of n18 has not lost its way")
        os.kill(processes[1], signal.SIGKILL)
        status, _, errors = self.finish(job)
        self.assertEqual((status, errors), (137, f"lapirun: task 1 (process {processes[1]}) on n18 (host18) was killed by "
                                                 "signal 9 (Killed); ending the others\n"))

    def test_a_node_whose_helper_has_returned_is_removed(self):
        job, processes = self.start_staying("-n", 2, "n0", "n18")
        os.kill(self.process("n1"), signal.SIGKILL)
        self.assertEqual(job.stderr.readline(), LOST.format("the daemon of n1 (host1) is lost; the way to other nodes went "
                                                            "through it"))
        self.eventually(lambda: list(self.folder.glob("lam-*-n18-t*")), "the helper of n18 has not lost its way")
        self.assertEqual(self.tool("lamshrink", "n18").returncode, 0)
        status, _, errors = self.finish(job)
        self.assertEqual(status, 1)
        self.assertIn(errors, ("lapirun: n18 (host18): lamtasks was told to end, and its tasks with it\n",
                               "lapirun: n18 (host18): it was removed from the universe\n"))  # before it has come
        self.eventually(lambda: not any(map(self.is_running, processes.values())), "tasks are left behind")

    def test_one_that_does_not_come_is_cut_off(self):
        job = self.start("--outlive-daemons", "-n", 2, "n0", "n18", PROBE, "stay")
        processes = dict(map(int, job.stdout.readline().split()[1:3]) for _ in range(2))
        helper = self.parent(processes[1])
        os.kill(helper, signal.SIGSTOP)
        os.kill(self.process("n1"), signal.SIGKILL)
        job.stderr.readline()
        self.assertEqual(job.stderr.readline(), "lapirun: n18 (host18) is cut off, as a daemon is lost: its tasks go on by "
                                                "themselves, and what they print is lost\n")
        os.kill(helper, signal.SIGCONT)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 128 + signal.SIGTERM)
        self.eventually(lambda: list(self.folder.glob("lam-*-n18-t*")), "the helper of n18 has not lost its way")
        self.assertTrue(self.is_running(processes[1]))
        os.kill(helper, signal.SIGTERM)
        self.run_job("-n", 6, "n17-19", "n0", PROBE, "exchange")


class MemoryTest(Jobs):
    hosts = ["inky cpu=64"]

    @staticmethod
    def memory_of(process):
        """KiB: resident, and what is not shared with others."""
        sizes = dict(re.findall(r"^(\w+): +(\d+) kB$", pathlib.Path(f"/proc/{process}/smaps_rollup").read_text(), re.M))
        return int(sizes["Rss"]), int(sizes["Private_Clean"]) + int(sizes["Private_Dirty"])

    def test_64_tasks_need_20_mib_at_most(self):
        job, _ = self.start_staying("-n", 64)
        helpers = [process for process in self.job_processes()
                   if pathlib.Path(f"/proc/{process}/comm").read_text() == "lamtasks\n"]
        self.assertEqual(len(helpers), 1)  # its watcher has another name
        daemon, helper = self.memory_of(self.process()), self.memory_of(helpers[0])
        print(f"64 tasks: lamd {daemon[0]} KiB ({daemon[1]} its own), lamtasks {helper[0]} KiB ({helper[1]} its own)")
        if not re.search("lib[at]san", pathlib.Path(f"/proc/{self.process()}/maps").read_text()):
            self.assertLessEqual(daemon[0] + helper[0], 20 << 10)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 128 + signal.SIGTERM)


@unittest.skipUnless(os.geteuid() == 0, "the other cases run as an ordinary user already")
class OrdinaryUserTest(Jobs):
    prefix = NOBODY

    def test_a_job(self):
        self.run_job("-n", 8, PROBE, "exchange")
        self.assertEqual(self.run_job("N", "id", "-u")[0], "65534\n" * 4)
        self.run_job("-n", 4, PROBE, "one-of-them", "exit", 3, 7, status=7)


class LapiTest(Jobs):
    def lapi(self, program, tasks, nodes, *words):
        return self.run_job("-n", tasks, f"n0-{nodes - 1}", PROGRAMS / program, *words,
                     environment={"LAPI_USE_SHM": "yes" if tasks > nodes else "no"})

    def test_programs_over_udp_and_shared_memory(self):
        for tasks, nodes in ((2, 2), (4, 2), (8, 4)):
            for mode in ("polling", "interrupt"):
                self.lapi("smoke", tasks, nodes, mode)
        for program in ("api_xfer", "api_sync", "api_transfer"):
            self.lapi(program, 3, 3, "polling")
            self.lapi(program, 8, 4, "interrupt")

    def test_who_wants_shared_memory_alone_keeps_nobody_waiting(self):
        """It cannot be over several nodes: the task fails, and goes on as it likes. Task 0 may not wait for it."""
        for alone in ("1", "2"):
            over = self.folder / f"over{alone}"
            script = (f"[ $PMIX_RANK != {alone} ] || export LAPI_USE_SHM=only; "
                      f"{PROGRAMS}/api_init_probe silent linger={over} | sed -u s/^/$PMIX_RANK:/")
            job = self.start("-n", 3, "n0", "n1", "n1", "sh", "-c", script)
            codes = {}
            while len(codes) < 3:
                line = job.stdout.readline()
                self.assertNotEqual(line, "", codes)
                if ":code " in line:
                    codes[line[0]] = line.split()[1]
            over.touch()
            errors = self.finish(job)[2]
            self.assertNotEqual(codes.pop(alone), "0")
            self.assertEqual(set(codes.values()), {"0"}, errors)
            self.assertIn("LAPI_USE_SHM=only, but only 2 of the job's 3 tasks are on this node", errors)

    def test_only_addresses_that_are_needed_move(self):
        for tasks, nodes in ((4, 4), (8, 4)):
            output, _ = self.lapi("api_exchange", tasks, nodes, "several-nodes")
            self.assertRegex(output, r"task 0 publishes \d+ bytes, key included\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
