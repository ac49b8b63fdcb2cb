#!/usr/bin/env python3
"""Universes of real daemons: lamboot with the boot module local starts one lamd for each line of a host file, all on this
machine. What users see of lamboot, lamnodes, lamhalt and tkill; daemons and their origin killed; strangers at their ports.

usage: control_universe_test.py FOLDER-OF-THE-PROGRAMS PROCESS-SCHEMA [CASES]"""
import contextlib
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(sys.argv[1])
SCHEMA = pathlib.Path(sys.argv[2])
PATIENCE = 60  # seconds: only a broken universe needs them
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@contextlib.contextmanager
def adopted_processes():
    """What goes to the background meanwhile becomes a child of this process, which is told how it ended."""
    libc, set_child_subreaper = ctypes.CDLL(None), 36
    libc.prctl(set_child_subreaper, 1)
    try:
        yield
    finally:
        libc.prctl(set_child_subreaper, 0)


class Universe(unittest.TestCase):
    prefix = []  # words before each command

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="openlapi-universe-"))
        self.folder.chmod(0o777)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("LAM", "SLURM", "PBS", "LSB", "TROLLIUS"))}
        self.environment.update(LAM_MPI_SESSION_PREFIX=str(self.folder), LAM_MPI_SSI_boot="local")

    def tearDown(self):
        self.tool("tkill")
        left = [path.name for path in self.folder.glob("lam-*")]
        shutil.rmtree(self.folder)
        self.assertEqual(left, [], "tkill leaves nothing")

    def tool(self, name, *words, **environment):
        return subprocess.run([*self.prefix, str(TOOLS / name), *map(str, words)], cwd=self.folder, timeout=200,
                              env={**self.environment, **environment}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)

    def lamboot(self, hosts, *words, schema=SCHEMA, **environment):
        (self.folder / "hosts").write_text("".join(line + "\n" for line in hosts))
        return self.tool("lamboot", "-c", schema, *words, "hosts", **environment)

    def boot(self, hosts, *words):
        done = self.lamboot(hosts, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def session(self, member=""):
        """The folder of a node's session; the origin's has no number behind."""
        found = [path for path in self.folder.glob("lam-*@*") if
                 (re.search(r"-(n\d+|t\d+)$", path.name) is None if not member else path.name.endswith("-" + member))]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def process(self, member=""):
        return int((self.session(member) / "lam-killfile").read_text())

    def lines(self, *words):
        done = self.tool("lamnodes", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def await_lines(self, expected, *words):
        until = time.monotonic() + PATIENCE
        while self.lines(*words) != expected:
            self.assertLess(time.monotonic(), until, f"{self.lines(*words)} never became {expected}")

    def halt(self):
        done = self.tool("lamhalt", "-H")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def assert_gone(self, processes):
        until = time.monotonic() + PATIENCE
        while any(self.is_running(process) for process in processes):
            self.assertLess(time.monotonic(), until, "a daemon stays")

    @staticmethod
    def is_running(process):
        """A daemon whose parent does not reap it is no more a process than its entry."""
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    @staticmethod
    def read_to_end(client):
        data = b""
        try:
            while piece := client.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        return data


class ToolsTest(Universe):
    def test_standard_descriptors_may_be_closed(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                self.prefix = ["sh", "-c", f'exec "$@" {closed}', "closed"]
                self.assertEqual(self.lamboot(["inky", "pinky"]).returncode, 0)
                self.assertEqual(self.tool("../lapirun", "N", "sh", "-c", 'echo "$0" >>ran', closed).returncode, 0)
                self.assertEqual(self.tool("lamgrow", "-c", SCHEMA, "127.0.0.9").returncode, 0)
                self.prefix = []
                self.assertEqual(len(self.lines()), 3)
                self.halt()
                self.assertEqual((self.folder / "ran").read_text().splitlines().count(closed), 2)

    def test_nothing_of_a_job_stays_that_had_too_little_memory(self):
        self.prefix = ["sh", "-c", 'ulimit -v 30000; exec "$@"', "limited"]
        self.boot(["localhost"])
        self.prefix = []
        done = self.tool("../lapirun", "-n", 1, "true")
        self.assertIn("too little memory for the PMIx server", done.stderr)
        found = subprocess.run(["pgrep", "-f", f"^lamtasks {self.session()}"], capture_output=True, text=True, check=False)
        self.assert_gone([int(process) for process in found.stdout.split()])

    def test_a_daemon_without_descriptors_for_tools_waits_for_some(self):
        self.boot(["localhost"])
        daemon = self.process()

        def used():
            """Nanoseconds of a processor."""
            return int(pathlib.Path(f"/proc/{daemon}/schedstat").read_text().split()[0])
        limits = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
        files = max(int(name) for name in os.listdir(f"/proc/{daemon}/fd")) + 1
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, (files, limits[1]))
        for _ in range(files):  # also in place of lamboot's, which goes
            self.enterContext(socket.socket(socket.AF_UNIX)).connect(str(self.session() / "lam-kernel-socket"))
        before = used()
        waits = subprocess.Popen([TOOLS / "lamnodes", "-n", "-c"], cwd=self.folder, env=self.environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(waits.kill)
        with self.assertRaises(subprocess.TimeoutExpired):
            waits.communicate(timeout=1)
        spent = used() - before
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, limits)
        self.assertEqual(waits.communicate(timeout=PATIENCE)[0], "localhost\n")
        self.assertLess(spent, 100_000_000, "it asked for a descriptor all the time")

    def test_boot_nodes_halt(self):
        self.assertRegex(self.boot(["inky", "pinky cpu=2", "blinky schedule=no"], "-v"),
                         r"^openlapi [\d.]+\nn0 \(inky\) is booted\nn1 \(pinky\) is booted\nn2 \(blinky\) is booted\n$")
        self.assertEqual(self.lines(), ["n0\tinky:1:origin,this_node", "n1\tpinky:2:", "n2\tblinky:1:no_schedule"])
        self.assertEqual(self.lines("-c"), ["n0\tinky", "n1\tpinky", "n2\tblinky"])
        self.assertEqual(self.lines("-n", "-c", "n1-2"), ["pinky", "blinky"])
        self.assertEqual(self.lines("-cn", "n1-2"), ["pinky", "blinky"])
        self.assertEqual(self.lines("-cn", "C"), ["inky", "pinky", "pinky", "blinky"])
        self.assertEqual(self.lines("-cn", "c2-3", "N"), ["pinky", "blinky", "inky", "pinky", "blinky"])
        self.assertEqual(self.lines("-c", "C"), ["n0\tinky", "n1\tpinky", "n2\tblinky"])
        self.assertEqual(self.lines("-i", "-c", "h"), ["n0\t127.0.0.1"])
        self.assertEqual(self.lines("c1-2"), ["n1\tpinky:2:"])
        # Of another daemon's session, as seen from there.
        self.assertEqual(self.lines("-sessionsuffix", "n1")[:2], ["n0\tinky:1:origin", "n1\tpinky:2:this_node"])
        processes = [self.process(member) for member in ("", "n1", "n2")]
        done = self.tool("lamhalt", "-dv")
        self.assertRegex(done.stdout, r"^openlapi [\d.]+\n3 of 3 daemons have ended\n$")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(self.folder.glob("lam-*")), [])
        self.assert_gone(processes)

    def test_halt_from_any_node(self):
        self.boot(["inky", "pinky", "blinky"])
        processes = [self.process(member) for member in ("", "n1", "n2")]
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n2")
        self.assertEqual((done.returncode, done.stdout), (0, "3 of 3 daemons have ended\n"))
        self.assert_gone(processes)
        self.assertEqual(list(self.folder.glob("lam-*")), [])

    def test_a_second_boot_is_refused_and_the_first_lives(self):
        self.boot(["inky"])
        done = self.lamboot(["pinky"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"a universe is running here already (process {self.process()} in ", done.stderr)
        self.assertEqual(self.lines("-c"), ["n0\tinky"])
        # Another suffix, another universe.
        done = self.lamboot(["pinky"], "-H", "-sessionsuffix", "second")
        self.assertEqual((done.returncode, done.stderr, done.stdout), (0, "", ""))
        self.assertEqual(self.lines("-c", "-sessionsuffix", "second"), ["n0\tpinky"])
        self.assertEqual(self.tool("lamhalt", "-H", "-sessionsuffix", "second").returncode, 0)
        self.assertEqual(self.lines("-c"), ["n0\tinky"])
        self.halt()

    def test_no_session_has_the_name_of_a_part_of_another(self):
        """tkill of that one would end it."""
        for suffix in ("n5", "mine-n5", "t7"):
            for words, variables in ((["-sessionsuffix", suffix], {}), ([], {"LAM_MPI_SESSION_SUFFIX": suffix})):
                done = self.lamboot(["inky"], *words, **variables)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"lamboot: the session suffix is '{suffix}'; allowed: one without an end like ", done.stderr)
        batch = {"PBS_JOBID": "123.cluster-n1"}
        done = self.lamboot(["inky"], **batch)
        self.assertEqual((done.returncode, done.stderr), (0, ""), "the user has not chosen this name")
        self.assertEqual(self.tool("lamhalt", "-H", **batch).returncode, 0)

    def test_a_refused_boot_ends_nothing_of_the_universe_for_whose_sake(self):
        for algorithm in ("linear", "linear_windowed", "thread", "tree"):
            self.boot(["inky", "pinky", "blinky"])
            origin = self.session()
            aside = origin.rename(self.folder / "aside")  # the second boot gets its n0, and no other
            done = self.lamboot(["inky", "pinky"], "-H", LAM_MPI_SSI_boot_base_algorithm=algorithm)
            self.assertEqual(done.returncode, 1, algorithm)
            self.assertRegex(done.stderr, r"a universe is running here already \(process \d+ in \S+-n1\)", algorithm)
            self.assertFalse(origin.exists(), f"{algorithm}: its own n0 is ended")
            aside.rename(origin)
            self.assertEqual(self.lines(), ["n0\tinky:1:origin,this_node", "n1\tpinky:1:", "n2\tblinky:1:"], algorithm)
            self.halt()

    def test_of_two_lamboots_at_once_one_boots(self):
        for hosts in ("first", "second"):
            (self.folder / hosts).write_text(f"{hosts}0\n{hosts}1\n{hosts}2\n")
        for pause in (0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06):
            boots = []
            for hosts in ("first", "second"):
                boots.append(subprocess.Popen([TOOLS / "lamboot", "-H", "-c", SCHEMA, hosts], cwd=self.folder, text=True,
                                              env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE))
                time.sleep(pause)  # for another moment each time
            said = [boot.communicate(timeout=PATIENCE)[1] for boot in boots]
            self.assertEqual(sorted(boot.returncode for boot in boots), [0, 1], said)
            winner = 0 if boots[0].returncode == 0 else 1
            self.assertRegex(said[1 - winner], r"^lamboot: (another lamboot \(process \d+\) is booting this session|"
                             r"a universe is running here already \(process \d+ in)")
            name = ("first", "second")[winner]
            self.assertEqual(self.lines("-c"), [f"n{n}\t{name}{n}" for n in range(3)], said)
            self.halt()

    def test_tkill_of_a_failed_boot_needs_both_names(self):
        done = self.tool("tkill", "-universe", "0123")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("-universe and -n go together", done.stderr)

    def test_without_a_universe(self):
        for name in ("lamnodes", "lamhalt"):
            done = self.tool(name)
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertRegex(done.stderr, rf"^{name}: no lamd is running here for this user \(.*\); lamboot starts one\n$")
        for name in ("lamnodes", "lamshrink"):  # the mistake in the command line counts first
            for word in ("x", "n1-", "c3,x"):
                done = self.tool(name, word)
                self.assertEqual((done.returncode, done.stdout), (2, ""), name)
                self.assertIn(f'{name}: "{word}": ', done.stderr)
        for word in ("c0", "C"):
            done = self.tool("lamshrink", word)
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            self.assertIn(f'lamshrink: "{word}" is not one node; allowed: n and its number, or o', done.stderr)
        self.assertEqual(self.tool("tkill").returncode, 0)
        self.assertEqual(self.tool("tkill", "-N").returncode, 0)

    def test_mistakes_in_what_boot_modules_write(self):
        """They are told from a key or an agent that is not there."""
        agent = ["-H", "127.0.0.1", "-P", "1", "-n", "0"]
        daemon = [*agent, "-o", "0"]
        slash = ["-sessionsuffix", "a/b"]
        for name, words, mistake in (
                ("lamd", [], "option -H is missing: lamboot starts lamd, nobody else does"),
                ("lamd", agent, "option -o is missing: lamboot starts lamd, nobody else does"),
                ("lamd", [*daemon, "x"], "the command line names 1 word (x); allowed: options only"),
                ("lamd", ["-P", "x"], "option -P is x; allowed: an integer"),
                ("lamd", [*agent, "-o", "65536"], "option -o is 65536; allowed: 0 to 65535"),
                ("lamd", [*daemon, *slash], "the session suffix is 'a/b'; allowed: "),
                ("lamtree", [], "option -H is missing: it must be given"),
                ("lamtree", agent[:4], "option -n is missing: it must be given"),
                ("lamtree", [*agent, "x"], '"x" belongs to no option; allowed: options only'),
                ("lamtree", ["-H", "x", "-P", "65536", "-n", "1"], "option -P is 65536; allowed: 1 to 65535"),
                ("lamtree", [*agent, "-ssi", "a=b", "c"], '-ssi: the key is "a=b"; allowed: a parameter\'s name'),
                ("lamtree", [*agent, *slash], "the session suffix is 'a/b'; allowed: "),
                ("hboot", [], "option -I is missing: it must be given"),
                ("hboot", ["-I", "x", "y"], '"y" belongs to no option; allowed: options only'),
                ("hboot", ["-I", "x", "-ssi", "", "c"], '-ssi: the key is ""; allowed: a parameter\'s name'),
                ("hboot", ["-I", "x", *slash], "the session suffix is 'a/b'; allowed: ")):
            done = self.tool(name if name == "lamd" else f"../boot/{name}", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), (name, words))
            self.assertTrue(done.stderr.startswith(f"{name}: {mistake}"), done.stderr)
        for name in ("lamd", "../boot/lamtree", "../boot/hboot"):
            self.assertEqual(self.tool(name, "-frobnicate").returncode, 2, name)
            done = self.tool(name, "-h")
            self.assertEqual((done.returncode, done.stdout.split()[:2]), (0, ["usage:", name.split("/")[-1]]))

    def test_mistakes(self):
        for name in ("lamclean", "lamgrow", "lamshrink", "lamwipe", "lapi_ntbl"):
            self.assertEqual(self.tool(name, "-frobnicate").returncode, 2, name)
            self.assertEqual(self.tool(name, "n1", "n2").returncode, 2, name)
        for name in ("lamboot", "lamnodes", "lamhalt", "recon", "tkill", "wipe"):
            self.assertEqual(self.tool(name, "-frobnicate").returncode, 2, name)
            done = self.tool(name, "-sessionsuffix", "a/b", "x")
            self.assertEqual(done.returncode, 2, name)
            self.assertIn(f"{name}: the session suffix is 'a/b'; allowed: ", done.stderr)
            done = self.tool(name, "-h")
            self.assertEqual((done.returncode, done.stdout.splitlines()[0].split()[:2]), (0, ["usage:", name]))
        self.boot(["inky"])
        done = self.tool("lamnodes", "n0", "n4")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('lamnodes: "n4": there is no n4; allowed: ', done.stderr)
        for name, word, status in (("lamnodes", "x", 2), ("lamhalt", "x", 2), ("tkill", "x", 2), ("lamhalt", "-frob", 2)):
            self.assertEqual(self.tool(name, word).returncode, status, name)
        for name in ("lamboot", "recon", "wipe", "lamwipe"):
            for words, mistake in ((["hosts", "others"], "the command line names 2 boot schemas (hosts, ...); allowed: one"),
                                   ([""], "the name of the boot schema is empty")):
                done = self.tool(name, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), name)
                self.assertIn(f"{name}: {mistake}", done.stderr)
        for name in ("lamboot", "lamgrow", "lamwipe"):
            done = self.tool(name, "-prefix", "opt", "hosts")
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertIn(f"{name}: option -prefix is opt; allowed: an absolute path", done.stderr)
        self.assertEqual(self.lines("-c"), ["n0\tinky"])
        self.assertEqual(self.tool("lamboot", "-V").returncode, 0)

    def test_a_failed_boot_names_the_hosts_and_leaves_nothing(self):
        done = self.lamboot(["inky", "pinky prefix=/nowhere"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/bin/lamd cannot be started: No such file or directory", done.stderr)
        self.assertIn("lamboot: the universe is not booted; daemons that were started are ended again. Not booted: ",
                      done.stderr)
        self.assertIn("n1 (pinky)", done.stderr)
        self.assertEqual(list(self.folder.glob("lam-*")), [])
        done = self.lamboot(["inky cpu=many"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("many", done.stderr)
        self.assertEqual(self.tool("lamboot", "nofile").returncode, 1)
        # Without the module by name its hosts must be this machine.
        done = self.lamboot(["no.such.host.invalid"], LAM_MPI_SSI_boot="")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.lamboot(["inky"], LAM_MPI_SSI_boot="lost").returncode, 1)
        self.boot(["inky"])

    def test_a_bad_host_among_many_is_named_in_few_words(self):
        hosts = [f"host{n}" for n in range(40)]
        done = self.lamboot([*hosts, "pinky prefix=/nowhere"])
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 2), done.stderr)
        self.assertTrue(done.stderr.startswith("lamboot: /nowhere/bin/lamd cannot be started: "), done.stderr)
        self.assertTrue(done.stderr.endswith("ended again. Not booted: n40 (pinky)\n"), done.stderr)
        done = self.lamboot([f"{host} prefix=/nowhere" for host in hosts], LAM_MPI_SSI_boot_base_algorithm="tree")
        self.assertTrue(done.stderr.endswith("Not booted: 40 of 40 nodes: n0 (host0), n1 (host1), n2 (host2), n3 (host3), "
                                             "n4 (host4), ...\n"), done.stderr)

    def test_a_mistake_in_the_process_schema_is_told_once(self):
        hosts = [f"host{n}" for n in range(200)]
        done = self.lamboot(hosts, schema="nofile")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.startswith("lamboot: no process schema nofile; looked for it in:\n  nofile: "),
                        done.stderr)
        self.assertTrue(done.stderr.endswith("\nlamboot: nothing was started\n"), done.stderr)
        self.assertEqual(done.stderr.count("nofile"), 3, done.stderr)
        (self.folder / "conf").write_text("lamd $nothing\n")
        done = self.lamboot(hosts, schema="conf")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 2), done.stderr)
        self.assertIn("$nothing", done.stderr)

    def test_recon_and_wipe(self):
        (self.folder / "hosts").write_text("inky\npinky\n")
        done = self.tool("recon", "-v", "hosts")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "n0 (inky): can be booted\nn1 (pinky): can be booted\n", ""))
        self.assertEqual(list(self.folder.glob("lam-*")), [])
        self.boot(["inky", "pinky"])
        processes = [self.process(), self.process("n1")]
        os.kill(processes[1], signal.SIGKILL)
        done = self.tool("wipe", "-v", "hosts")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "n0 (inky): wiped\nn1 (pinky): wiped\n", ""))
        self.assert_gone(processes)
        self.assertEqual(list(self.folder.glob("lam-*")), [])
        (self.folder / "hosts").write_text("inky\npinky prefix=/nowhere\n")
        done = self.tool("recon", "hosts")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("recon: n1 (pinky): tkill cannot be run there\n", done.stderr)
        self.assertNotIn("n0 (", done.stderr)

    def test_words_of_lam_that_change_nothing_here(self):
        (self.folder / "hosts").write_text("inky\npinky\n")
        done = self.tool("recon", "-v", "-c", "no.such.schema", "hosts")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "n0 (inky): can be booted\nn1 (pinky): can be booted\n", ""))
        self.boot(["inky", "pinky"], "-withlamprefixpath", "/nowhere")
        processes = [self.process(), self.process("n1")]
        for name in ("lamwipe", "wipe"):
            done = self.tool(name, "-V", "hosts")
            self.assertEqual((done.returncode, done.stdout[:9], done.stderr), (0, "openlapi ", ""))
            done = self.tool(name, "-w", 0, "hosts")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f"{name}: option -w is 0; allowed: 1 to 65536", done.stderr)
        self.assertTrue(all(map(self.is_running, processes)))
        done = self.tool("lamwipe", "-v", "-withlamprefixpath", "/nowhere", "-w", 1, "hosts")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n0 (inky): wiped\n", ""))
        self.assert_gone(processes[:1])
        self.assertEqual(self.tool("lamwipe", "-n", 2, "hosts").returncode, 0)
        self.assert_gone(processes)

    def test_parameters(self):
        done = self.lamboot(["inky", "pinky"], "-H", "-ssi", "boot", "local", "-ssi", "boot", "lost", LAM_MPI_SSI_boot="")
        self.assertEqual((done.returncode, done.stderr), (0, "lamboot: -ssi boot is there twice: the first counts\n"))
        self.halt()

    def test_many_daemons_several_times(self):
        hosts = [f"host{n}" for n in range(24)]
        for _ in range(3):
            self.boot(hosts)
            self.assertEqual(self.lines("-c"), [f"n{n}\thost{n}" for n in range(24)])
            done = self.tool("lamhalt", "-H", "-v")
            self.assertEqual((done.returncode, done.stdout), (0, "24 of 24 daemons have ended\n"))
            self.assertEqual(list(self.folder.glob("lam-*")), [])


class LossTest(Universe):
    def test_the_others_are_told_of_a_killed_daemon(self):
        self.boot(["inky", "pinky", "blinky"])
        os.kill(self.process("n1"), signal.SIGKILL)
        for view in ([], ["-sessionsuffix", "n2"]):
            self.await_lines(["n1\tpinky:1:lost"], "n1", *view)
        self.assertIn("lamd: the daemon of n1 (pinky) is lost\n", (self.session() / "lam-log").read_text())
        done = self.tool("lamhalt", "-v", "-H")
        self.assertEqual((done.returncode, done.stdout), (0, "2 of 2 daemons have ended\n"))
        # What the killed one left is tkill's, and so no hindrance to the next universe.
        self.boot(["inky", "pinky"])
        self.assertEqual(self.lines("-c"), ["n0\tinky", "n1\tpinky"])

    def test_the_universe_survives_its_origin(self):
        hosts = [f"host{n}" for n in range(20)]  # n17 to n19 are not children of the origin
        self.boot(hosts)
        for n in range(1, 20):  # who has not heard yet that all are linked ends with the origin
            self.lines("-sessionsuffix", f"n{n}")
        os.kill(self.process(), signal.SIGKILL)
        os.kill(self.process("n1"), signal.SIGKILL)
        for member in ("n2", "n19"):
            self.await_lines(["n0\thost0:1:origin,lost", "n1\thost1:1:lost"], "-sessionsuffix", member, "n0-1")
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n19")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "18 of 18 daemons have ended\n", ""))

    def test_a_daemon_that_is_told_to_end_leaves_nothing(self):
        self.boot(["inky", "pinky"])
        folder, process = self.session("n1"), self.process("n1")
        os.kill(process, signal.SIGTERM)
        self.assert_gone([process])
        self.assertFalse(folder.exists())
        self.await_lines(["n1\tpinky:1:lost"], "n1")

    def test_tkill_ends_daemons_that_hang(self):
        self.boot(["inky", "pinky"])
        processes = [self.process(), self.process("n1")]
        os.kill(processes[0], signal.SIGSTOP)
        done = self.tool("tkill", "-v")
        self.assertEqual((done.returncode, done.stdout.count("has ended")), (0, 2))
        self.assert_gone(processes)

    def test_tkill_ends_the_other_daemons_where_the_first_folder_is_a_strangers(self):
        self.boot(["inky", "pinky"])
        processes = [self.process(), self.process("n1")]
        origin = self.session()
        os.kill(processes[0], signal.SIGKILL)
        shutil.rmtree(origin)
        origin.mkdir(mode=0o755)
        done = self.tool("tkill")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"tkill: the session folder {origin} is not a folder of this user alone", done.stderr)
        self.assert_gone(processes)
        origin.rmdir()

    def test_a_stopped_daemon_ends_in_order(self):
        """It is told to end and goes on, so that it does what it does at its end, and only one that hangs is killed."""
        for tool in (["tkill"], ["lamwipe", "hosts"], ["lamhalt", "-H"]):
            with adopted_processes():  # until the end: what has started a daemon may end after lamboot
                self.boot(["inky", "pinky"])
                processes = [self.process(), self.process("n1")]
                os.kill(processes[0], signal.SIGSTOP)
                done = self.tool(*tool)
                self.assertEqual((done.returncode, done.stderr), (0, ""), tool)
                self.assertEqual([os.waitpid(process, 0)[1] for process in processes], [0, 0], tool)
            self.assertEqual(list(self.folder.glob("lam-*")), [], tool)

    def test_a_stopped_daemon_whose_queue_is_full_is_named(self):
        """Who has given up and closed still lies there."""
        self.boot(["inky"])
        process = self.process()
        os.kill(process, signal.SIGSTOP)
        for _ in range(1000):
            with socket.socket(socket.AF_UNIX) as client:
                client.setblocking(False)
                try:
                    client.connect(str(self.session() / "lam-kernel-socket"))
                except BlockingIOError:
                    break
        else:
            self.fail("its queue has no end")
        for tool in (["lamnodes"], ["../lapirun", "-n", 1, "true"]):
            done = self.tool(*tool)
            self.assertEqual((done.returncode, done.stdout), (1, ""), tool)
            self.assertIn(f": no answer after 5 s from the daemon here (lamd on {socket.gethostname()}, process {process}): "
                          "it hangs or is stopped; tkill ends it\n", done.stderr)
        self.halt()
        self.assert_gone([process])

    def test_lamhalt_names_a_daemon_that_hangs(self):
        """It ends the others, and the one that hangs ends when it goes on."""
        self.boot(["inky", "pinky", "blinky"])
        processes = [self.process(member) for member in ("", "n1", "n2")]
        os.kill(processes[1], signal.SIGSTOP)
        try:
            done = self.tool("lamhalt", "-v", "-H")
            self.assert_gone([processes[0], processes[2]])
        finally:
            os.kill(processes[1], signal.SIGCONT)
        self.assertEqual((done.returncode, done.stdout), (1, "2 of 3 daemons have ended\n"))
        self.assertEqual(done.stderr, "lamhalt: not all daemons have ended: no answer after 10 s from n1 (pinky): the daemon "
                         "there (lamd) hangs or is stopped; lamwipe with the hosts' boot schema ends what is left, "
                         "or tkill there\n")
        self.assert_gone(processes)
        self.assertEqual(list(self.folder.glob("lam-*")), [])

    def test_lamhalt_that_returns_at_once(self):
        """One daemon hangs, and the rest end behind it, one by one: nobody waits for that."""
        for hosts in ["inky"], ["inky", "pinky", "blinky"]:
            self.boot(hosts)
            processes = [self.process(member) for member in ("", "n1", "n2")[:len(hosts)]]
            if len(hosts) > 1:
                os.kill(processes[1], signal.SIGSTOP)
            done = self.tool("lamhalt", "-i", "-v", "-H")
            here = self.is_running(processes[0])
            if len(hosts) > 1:
                os.kill(processes[1], signal.SIGCONT)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertTrue(here or len(hosts) == 1, "lamhalt has waited for the daemon here")
            self.assert_gone(processes)
            self.assertEqual(list(self.folder.glob("lam-*")), [])

    @staticmethod
    def has_unread(process):
        sockets = {os.readlink(entry)[8:-1] for entry in pathlib.Path(f"/proc/{process}/fd").iterdir()
                   if os.readlink(entry).startswith("socket:")}
        rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(row[9] in sockets and int(row[4].split(":")[1], 16) > 0 for row in rows)

    def test_lamhalt_has_other_words_for_a_daemon_that_dies_meanwhile(self):
        self.boot(["inky", "pinky"])
        # Answered by n1 when it has read that all are linked: then nothing else is on the way to it.
        self.assertEqual(self.tool("lamclean", "-sessionsuffix", "n1").returncode, 0)
        process = self.process("n1")
        os.kill(process, signal.SIGSTOP)
        self.assertFalse(self.has_unread(process))
        with subprocess.Popen([str(TOOLS / "lamhalt"), "-H"], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as halt:
            until = time.monotonic() + PATIENCE
            while not self.has_unread(process):
                self.assertLess(time.monotonic(), until, "it is not told to end")
                time.sleep(0.01)
            os.kill(process, signal.SIGKILL)
            _, errors = halt.communicate(timeout=PATIENCE)
        self.assertEqual(halt.returncode, 1)
        self.assertEqual(errors, "lamhalt: not all daemons have said that they have ended: there is no connection to n1 "
                         "(pinky): the daemon there (lamd) was killed or has not come, its host or network fails, or another "
                         "lamhalt has ended it; lamwipe with the hosts' boot schema ends what is left, or tkill there\n")
        self.assertEqual(self.tool("tkill", "-sessionsuffix", "n1").returncode, 0)

    def test_lamclean_names_a_daemon_that_hangs(self):
        self.boot(["inky", "pinky"])
        for member, expected in (("n1", "not all could be cleaned: no answer after 10 s from n1 (pinky): the daemon there "
                                        "(lamd), or one on the way, hangs or is stopped; tkill there ends it"),
                                 ("", f"no answer after 5 s from the daemon here (lamd on {socket.gethostname()}, process "
                                      f"{self.process()}): it hangs or is stopped; tkill ends it")):
            process = self.process(member)
            os.kill(process, signal.SIGSTOP)
            try:
                done = self.tool("lamclean")
            finally:
                os.kill(process, signal.SIGCONT)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", f"lamclean: {expected}\n"))
        done = self.tool("lamclean", "-v")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.halt()


class StrangerTest(Universe):
    HELLO = b"LAMS\1\4\0\0"  # its beginning, between daemons

    def port_of(self, process):
        sockets = {os.readlink(entry)[8:-1] for entry in pathlib.Path(f"/proc/{process}/fd").iterdir()
                   if os.readlink(entry).startswith("socket:")}
        rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        ports = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in sockets]
        self.assertEqual(len(ports), 1, "a daemon listens on one TCP port")
        self.assertEqual(ports[0][0], "0100007F", "and only at its own address")
        return int(ports[0][1], 16)

    @staticmethod
    def descriptors(process):
        return len(os.listdir(f"/proc/{process}/fd"))

    def connect(self, port):
        client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.addCleanup(client.close)
        return client

    def test_files_and_sockets_are_private_and_no_key_is_shown(self):
        self.boot(["inky", "pinky"])
        for member in ("", "n1"):
            folder = self.session(member)
            self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
            for path in folder.iterdir():
                self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, path)
            words = pathlib.Path(f"/proc/{self.process(member)}/cmdline").read_text().split("\0")
            self.assertTrue(all(len(word) < 24 for word in words[1:]), words)

    def test_strangers_are_dropped_and_the_universe_lives(self):
        self.boot(["inky", "pinky"])
        process = self.process()
        port, before = self.port_of(process), self.descriptors(process)
        silent, half = self.connect(port), self.connect(port)
        half.sendall(self.HELLO + bytes(7))
        for said in (b"GET / HTTP/1.0\r\n\r\n", b"LAMS\2\4\0\0", b"LAMS\1\3\0\0",
                     self.HELLO + bytes(32) + bytes(20), self.HELLO + bytes(32) + b"\xff" * 20):
            client = self.connect(port)
            client.sendall(said)
            answer = self.read_to_end(client)
            self.assertTrue(answer.startswith(self.HELLO), answer)
            self.assertLessEqual(len(answer), 60, "nothing but its greeting and proof")
        # The daemon is not stalled by one who says nothing, drops him in the end, and keeps no descriptor.
        self.assertEqual(self.lines("-c"), ["n0\tinky", "n1\tpinky"])
        self.read_to_end(silent)
        self.read_to_end(half)
        self.lines()
        until = time.monotonic() + PATIENCE
        while self.descriptors(process) > before:
            self.assertLess(time.monotonic(), until, "a descriptor is leaked")
        log = (self.session() / "lam-log").read_text()
        self.assertEqual(log.count("a connection from 127.0.0.1 was dropped"), 1, log)
        self.halt()

    def test_nonsense_from_a_tool_ends_only_its_connection(self):
        self.boot(["inky"])
        for said in (b"\xff\xff\xff\xff", b"\2\0\0\0\1\2", b"\2\0\0\0\1\x63", b"\0\0\0\0"):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(PATIENCE)
            client.connect(str(self.session() / "lam-kernel-socket"))
            client.sendall(said)
            self.assertEqual(self.read_to_end(client), b"")
            client.close()
        self.assertEqual(self.lines("-c"), ["n0\tinky"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_another_user_is_kept_out(self):
        self.boot(["inky"])
        code = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        # The system's: this one may lie in root's home.
        done = subprocess.run([*NOBODY, "/usr/bin/python3", "-c", code, str(self.session() / "lam-kernel-socket")],
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("PermissionError", done.stderr)


@unittest.skipUnless(os.geteuid() == 0, "the other cases run as an ordinary user already")
class OrdinaryUserTest(Universe):
    prefix = NOBODY

    def test_boot_nodes_halt(self):
        self.boot(["inky", "pinky"])
        self.assertEqual(pathlib.Path(f"/proc/{self.process()}").stat().st_uid, 65534)
        self.assertEqual(self.lines("-c"), ["n0\tinky", "n1\tpinky"])
        self.halt()
        self.assertEqual(list(self.folder.glob("lam-*")), [])

    def test_no_more_processes(self):
        """Whatever cannot be started then, an agent's thread or a daemon, the limit is named and nothing is left."""
        (self.folder / "hosts").write_text("inky\npinky\nclyde\n")
        for algorithm in ("linear", "thread"):
            self.prefix = [*NOBODY, "prlimit", "--nproc=1"]
            done = self.tool("lamboot", "-H", "-c", SCHEMA, "hosts", LAM_MPI_SSI_boot_base_algorithm=algorithm)
            self.prefix = NOBODY
            self.assertEqual((done.returncode, done.stdout), (1, ""), algorithm)
            self.assertIn("Resource temporarily unavailable (processes and threads of this user: at most 1, ulimit -u)",
                          done.stderr)
            self.assertEqual(list(self.folder.glob("lam-*")), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
