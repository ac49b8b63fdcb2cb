#!/usr/bin/env python3
"""Universes that grow and shrink, and boots that are cut short: lamgrow and lamshrink with real daemons, all on this
machine; daemons, sponsors and booting agents killed meanwhile.

usage: control_growth_test.py FOLDER-OF-THE-PROGRAMS PROCESS-SCHEMA [CASES]"""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from control_universe_test import PATIENCE, SCHEMA, TOOLS, Universe


def size_of(mapping):
    """Of a line of /proc/PROCESS/maps."""
    begin, end = (int(word, 16) for word in mapping.split()[0].split("-"))
    return end - begin


class Growing(Universe):
    def tearDown(self):
        self.tool("tkill", "-sessionsuffix", "n1")
        super().tearDown()

    def grow(self, *words, schema=SCHEMA, **environment):
        return self.tool("lamgrow", "-c", schema, *words, **environment)

    def grown(self, *words):
        done = self.grow("-v", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def refused(self, *words, tool="lamgrow", status=1, **options):
        done = self.grow(*words, **options) if tool == "lamgrow" else self.tool(tool, *words)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        return done.stderr

    def everywhere(self, expected, members=("", "n1")):
        for member in members:
            self.await_lines(expected, "-c", *(["-sessionsuffix", member] if member else []))

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def daemon_of(self, text, name="daemon"):
        """A process schema whose daemon is this script."""
        conf = self.folder / (name + ".conf")
        conf.write_text(f"{self.script(name, text)} $inet_topo $debug $session_prefix $session_suffix\n")
        return conf

    def hanging_daemon(self, where):
        """Its program has the name of lamd, by which lamboot knows what it has started."""
        (self.folder / "lamd").symlink_to(shutil.which("sleep"))
        self.script(where, f"echo $$ > {self.folder}/began\nexec {self.folder}/lamd 1000\n")

    def start_waiting_daemon(self):
        """lamgrow, whose daemon does not begin before a line is written to the file "go"."""
        waiting = self.daemon_of(f'echo $$ > {self.folder}/began\nread -r word < {self.folder}/go\n'
                                 f'exec {TOOLS}/lamd "$@"\n')
        os.mkfifo(self.folder / "go")
        grower = self.start("lamgrow", "-c", waiting, "127.0.0.5")
        self.await_true("its daemon was started", self.began)
        return grower

    def began(self):
        path = self.folder / "began"
        return path.exists() and path.read_text().endswith("\n")

    def has_universe(self, member):
        """Then a daemon begins to watch for signals."""
        killfiles = list(self.folder.glob(f"lam-*-{member}/lam-killfile"))
        if not killfiles or not killfiles[0].read_text().strip():
            return False
        process = killfiles[0].read_text().strip()
        try:
            return any("signalfd" in os.readlink(entry) for entry in pathlib.Path(f"/proc/{process}/fd").iterdir())
        except FileNotFoundError:
            return False

    @staticmethod
    def wake(process):
        try:
            os.kill(process, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def await_true(self, what, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, what)

    def lamds(self):
        return self.processes_of(TOOLS / "lamd")

    def helpers(self):
        """The lamtrees of this test by the number of their node."""
        found = {}
        for process in self.processes_of(TOOLS.parent / "boot/lamtree"):
            words = pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")
            found[int(words[words.index("-n") + 1])] = process
        return found

    def processes_of(self, program):
        """Living processes of a program whose session is this test's."""
        found = set()
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (os.readlink(path / "exe") == str(program)
                        and f"LAM_MPI_SESSION_PREFIX={self.folder}".encode() in (path / "environ").read_bytes()):
                    found.add(int(path.name))
            except OSError:
                pass
        return found

    def start(self, name, *words):
        process = subprocess.Popen([str(TOOLS / name), *map(str, words)], cwd=self.folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()


class GrowTest(Growing):
    def test_grow_shrink_and_grow_again(self):
        self.boot(["inky", "pinky"])
        self.assertEqual(self.grown("-cpu", 3, "127.0.0.5"), "n2 (127.0.0.5) is booted\n")
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("", "n1", "n2"))
        self.assertEqual(self.lines("n2"), ["n2\t127.0.0.5:3:"])
        process = self.process("n1")
        done = self.tool("lamshrink", "-v", "n1")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n1 (pinky) is removed\n", ""))
        self.assert_gone([process])
        self.everywhere(["n0\tinky", "n2\t127.0.0.5"], ("", "n2"))
        # Behind the highest; then the number that is free, then one far away, with invalid nodes between.
        self.assertEqual(self.grown("-no-schedule", "127.0.0.6"), "n3 (127.0.0.6) is booted\n")
        self.assertEqual(self.grown("-n", 1, "127.0.0.8"), "n1 (127.0.0.8) is booted\n")
        self.assertEqual(self.grown("-n", 40, "127.0.0.7"), "n40 (127.0.0.7) is booted\n")
        self.everywhere(["n0\tinky", "n1\t127.0.0.8", "n2\t127.0.0.5", "n3\t127.0.0.6", "n40\t127.0.0.7"],
                        ("", "n1", "n2", "n3", "n40"))
        self.assertEqual(self.lines("n3"), ["n3\t127.0.0.6:1:no_schedule"])
        done = self.tool("lamnodes", "n3-5")
        self.assertIn('"n3-5": there is no n4', done.stderr)
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n40")
        self.assertEqual((done.returncode, done.stdout), (0, "5 of 5 daemons have ended\n"))
        self.assertEqual(list(self.folder.glob("lam-*")), [])

    def test_nodes_join_from_any_node_and_survive_their_sponsor(self):
        self.boot(["inky", "pinky"])
        self.grown("-sessionsuffix", "n1", "127.0.0.5")
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("", "n1", "n1-n2"))
        self.assertEqual(self.lines("-sessionsuffix", "n1-n2", "o"), ["n0\tinky:1:origin"])
        os.kill(self.process("n1"), signal.SIGKILL)
        for member in ("", "n1-n2"):
            self.await_lines(["n1\tpinky:1:lost"], "n1", *(["-sessionsuffix", member] if member else []))
        # Below the origin now; the number of the lost node may be used again.
        self.grown("-n", 1, "127.0.0.6")
        self.everywhere(["n0\tinky", "n1\t127.0.0.6", "n2\t127.0.0.5"], ("", "n1-n2"))
        done = self.tool("lamhalt", "-v", "-H")
        self.assertEqual((done.returncode, done.stdout), (0, "3 of 3 daemons have ended\n"))

    def test_a_node_takes_connections_from_where_the_others_do(self):
        for booted, said, expected in (({}, [], 0), ({"LAM_MPI_SSI_boot_base_promisc": "1"}, [], 1),
                                       ({"LAM_MPI_SSI_boot_base_promisc": "1"}, ["-ssi", "boot_base_promisc", 0], 0)):
            done = self.lamboot(["inky", "pinky"], **booted)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.grown(*said, "127.0.0.5")
            words = pathlib.Path(f"/proc/{self.process('n2')}/cmdline").read_text().split("\0")
            self.assertEqual(words.count("boot_base_promisc"), expected, (booted, said, words))
            self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("", "n1", "n2"))
            self.halt()

    def test_a_universe_without_its_origin_grows(self):
        self.boot(["inky", "pinky"])
        done = self.tool("lamshrink", "-v", "-sessionsuffix", "n1", "o")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n0 (inky) is removed\n", ""))
        self.everywhere(["n1\tpinky"], ("n1",))
        done = self.tool("lamnodes", "-sessionsuffix", "n1", "o")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('lamnodes: "o": the origin does not belong to the universe any more; allowed: ', done.stderr)
        self.grown("-sessionsuffix", "n1", "127.0.0.5")
        self.everywhere(["n1\tpinky", "n2\t127.0.0.5"], ("n1", "n1-n2"))
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n1")
        self.assertEqual((done.returncode, done.stdout), (0, "2 of 2 daemons have ended\n"))

    def test_mistakes(self):
        self.assertIn("no lamd is running here for this user", self.refused("127.0.0.5"))
        self.boot(["inky", "127.0.0.2"])
        for words, why in ((["127.0.0.2"], "host 127.0.0.2 is in the universe already, as node 1"),
                           (["-n", 1, "127.0.0.5"], "node n1 (127.0.0.2) is in the universe already"),
                           (["no.such.host.invalid"], "no.such.host.invalid")):
            self.assertIn(why, self.refused(*words), words)
        for words, why in ((["-n", 65536, "127.0.0.5"], "option -n is 65536; allowed: 0 to 65535"),
                           (["-n", -2, "127.0.0.5"], "option -n is -2; allowed: 0 to 65535"),
                           (["-cpu", 0, "127.0.0.5"], "option -cpu is 0; allowed: 1 to 65536"),
                           (["127.0.0.5", "127.0.0.6"], "the command line names 2 hosts (127.0.0.5, ...); allowed: one"),
                           ([""], "the name of the host is empty"),
                           ([], "the command line names 0 hosts; allowed: one")):
            self.assertIn(f"lamgrow: {why}", self.refused(*words, status=2), words)
        self.assertIn("option -n is many; allowed: an integer", self.refused("-n", "many", "127.0.0.5", status=2))
        self.everywhere(["n0\tinky", "n1\t127.0.0.2"])

    def test_a_daemon_that_fails_is_told_at_once_and_changes_nothing(self):
        self.boot(["inky", "pinky"])
        errors = self.refused("127.0.0.5", schema=self.daemon_of("echo no room here >&2; exit 3\n"))
        self.assertIn("no room here\n", errors)
        self.assertIn("lamgrow: node n2 (127.0.0.5): ", errors)
        self.assertIn("daemon ended with status 3\n", errors)
        self.assertIn("lamgrow: n2 (127.0.0.5) is not booted; the universe is as it was\n", errors)
        gone = self.folder / "gone.conf"
        gone.write_text("/nowhere $inet_topo\n")
        self.assertIn("/nowhere cannot be started: No such file", self.refused("127.0.0.5", schema=gone))
        self.everywhere(["n0\tinky", "n1\tpinky"])
        self.grown("127.0.0.5")
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("", "n1", "n2"))

    def test_a_daemon_killed_while_it_joins(self):
        """It has the universe and waits for its sponsor, which is stopped until the daemon is dead."""
        self.boot(["inky", "pinky"])
        first = self.start_waiting_daemon()
        sponsor = self.process()
        os.kill(sponsor, signal.SIGSTOP)
        self.addCleanup(self.wake, sponsor)
        (self.folder / "go").write_text("\n")
        self.await_true("it is in the background", lambda: self.has_universe("n2"))
        os.kill(self.process("n2"), signal.SIGKILL)
        os.kill(sponsor, signal.SIGCONT)
        output, errors = first.communicate(timeout=PATIENCE)
        self.assertEqual((first.returncode, output), (1, ""))
        self.assertIn("lamgrow: n2 (127.0.0.5) is not in the universe: its daemon was started, and cannot be reached "
                      "from here or has ended\n", errors)
        self.everywhere(["n0\tinky", "n1\tpinky"])
        # What the killed one left hinders nobody; and this one is lost like any other.
        self.grown("127.0.0.5")
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("", "n1", "n2"))
        os.kill(self.process("n2"), signal.SIGKILL)
        self.await_lines(["n2\t127.0.0.5:1:lost"], "n2", "-sessionsuffix", "n1")

    def test_lamhalt_names_the_daemon_that_was_stopped_while_it_joins(self):
        """And not its sponsor, which waits for it."""
        self.boot(["inky", "pinky"])
        grower = self.start_waiting_daemon()
        sponsor = self.process()
        os.kill(sponsor, signal.SIGSTOP)
        self.addCleanup(self.wake, sponsor)
        (self.folder / "go").write_text("\n")
        self.await_true("it is in the background", lambda: self.has_universe("n2"))
        joining = self.process("n2")
        os.kill(joining, signal.SIGSTOP)
        self.addCleanup(self.wake, joining)
        os.kill(sponsor, signal.SIGCONT)
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.5"], ("n1",))
        begin = time.monotonic()
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n1")
        self.assertLess(time.monotonic() - begin, 10)
        self.assertEqual((done.returncode, done.stdout), (1, "2 of 3 daemons have ended\n"))
        self.assertRegex(done.stderr, r"^lamhalt: not all daemons have ended: no answer after \d s from n2 \(127.0.0.5\): ")
        grower.communicate(timeout=PATIENCE)
        self.wake(joining)
        self.assert_gone([sponsor, joining])

    def test_a_stopped_daemon_ends_with_a_lamgrow_that_fails(self):
        self.boot(["inky", "pinky"])
        grower = self.start_waiting_daemon()
        sponsor = self.process()
        os.kill(sponsor, signal.SIGSTOP)
        (self.folder / "go").write_text("\n")
        self.await_true("it is in the background", lambda: self.has_universe("n2"))
        joining = self.process("n2")
        os.kill(joining, signal.SIGSTOP)
        self.addCleanup(self.wake, joining)
        os.kill(sponsor, signal.SIGKILL)
        grower.communicate(timeout=PATIENCE)
        self.assertEqual(grower.returncode, 1)
        self.assertFalse(self.is_running(joining))
        self.assertEqual(list(self.folder.glob("lam-*-n2")), [])

    def test_one_at_a_time_and_a_killed_lamgrow_leaves_nothing(self):
        self.boot(["inky", "pinky"])
        first = self.start_waiting_daemon()
        self.assertIn("the universe cannot grow now: another lamgrow is at work here", self.refused("127.0.0.6"))
        first.kill()
        first.wait()
        # The daemon finds nobody to report to, and ends.
        process = int((self.folder / "began").read_text())
        (self.folder / "go").write_text("\n")
        self.assert_gone([process])
        self.await_true("it leaves no folder", lambda: list(self.folder.glob("lam-*-n2")) == [])
        self.await_true("another may", lambda: self.grow("127.0.0.6").returncode == 0)
        self.everywhere(["n0\tinky", "n1\tpinky", "n2\t127.0.0.6"], ("", "n1", "n2"))

    def test_the_sponsor_is_killed_while_the_daemon_starts(self):
        self.boot(["inky", "pinky"])
        first = self.start_waiting_daemon()
        os.kill(self.process(), signal.SIGKILL)
        self.await_lines(["n0\tinky:1:origin,lost"], "n0", "-sessionsuffix", "n1")
        (self.folder / "go").write_text("\n")
        output, errors = first.communicate(timeout=PATIENCE)
        self.assertEqual((first.returncode, output), (1, ""))
        self.assertIn("lamd gave no answer: it has ended, or ", errors)
        self.await_true("the new daemon waits for its sponsor no longer than it may",
                        lambda: list(self.folder.glob("lam-*-n2")) == [])
        self.assertEqual(self.lines("-c", "-sessionsuffix", "n1"), ["n0\tinky", "n1\tpinky"])


class ShrinkTest(Growing):
    def test_mistakes(self):
        self.assertIn("no lamd is running here for this user", self.refused("n0", tool="lamshrink"))
        self.boot(["inky", "pinky"])
        for words, why, status in (
                (["n0"], "n0 is here: remove it from another node, or end all with lamhalt", 1), (["h"], "n0 is here", 1),
                (["n7"], '"n7": there is no n7', 2), (["n0-1"], '"n0-1" is not one node', 2),
                (["c1"], '"c1" is not one node', 2), (["x"], '"x": no such word', 2),
                (["n0", "n1"], "the command line names 2 nodes (n0, ...); allowed: one", 2), ([], "names 0 nodes", 2),
                (["-w", "-1", "n1"], "option -w is -1; allowed: 0 to 86400", 2)):
            self.assertIn("lamshrink: ", errors := self.refused(*words, tool="lamshrink", status=status))
            self.assertIn(why, errors)
        self.everywhere(["n0\tinky", "n1\tpinky"])

    def test_a_lost_node_is_removed(self):
        self.boot(["inky", "pinky", "blinky"])
        os.kill(self.process("n2"), signal.SIGKILL)
        self.await_lines(["n2\tblinky:1:lost"], "n2")
        done = self.tool("lamshrink", "-v", "n2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n2 (blinky) is removed\n", ""))
        self.everywhere(["n0\tinky", "n1\tpinky"])
        self.assertIn("there is no n2", self.refused("n2", tool="lamshrink", status=2))

    def test_nodes_below_the_removed_one_stay(self):
        self.boot([f"host{n}" for n in range(20)])  # n16 to n19 are below n1
        self.assertEqual(self.tool("lamshrink", "n1").returncode, 0)
        expected = [f"n{n}\thost{n}" for n in range(20) if n != 1]
        self.everywhere(expected, ("", "n2", "n16", "n19"))
        done = self.tool("lamhalt", "-v", "-H", "-sessionsuffix", "n19")
        self.assertEqual((done.returncode, done.stdout), (0, "19 of 19 daemons have ended\n"))

    def test_a_warned_node_is_leaving(self):
        self.boot(["inky", "pinky"])
        process = self.process("n1")
        waiting = self.start("lamshrink", "-v", "-w", 3, "n1")
        for view in ([], ["-sessionsuffix", "n1"]):
            self.await_lines(["n1\tpinky:1:leaving" if not view else "n1\tpinky:1:this_node,leaving"], "n1", *view)
        self.assertEqual(waiting.communicate(timeout=PATIENCE), ("n1 (pinky) is removed\n", ""))
        self.assert_gone([process])
        self.everywhere(["n0\tinky"], ("",))

    def test_a_daemon_that_hangs_is_removed_by_force(self):
        self.boot(["inky", "pinky", "blinky"])
        process = self.process("n1")
        os.kill(process, signal.SIGSTOP)
        self.assertIn("lamshrink: n1 (pinky) is removed, but its daemon has not ended within 15 s; tkill on its host "
                      "ends it\n", self.refused("n1", tool="lamshrink"))
        self.everywhere(["n0\tinky", "n2\tblinky"], ("", "n2"))
        os.kill(process, signal.SIGCONT)
        self.assert_gone([process])


class CutShortTest(Growing):
    def test_a_daemon_that_ends_at_once_is_told_at_once(self):
        self.script("bad/bin/lamd", "exit 4\n")
        done = self.lamboot(["inky", f"pinky prefix={self.folder}/bad", "blinky"])
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"lamboot: node n1 (pinky): {self.folder}/bad/bin/lamd ended with status 4\n", done.stderr)
        self.assertIn("Not booted: n1 (pinky)\n", done.stderr)
        self.assertEqual(list(self.folder.glob("lam-*")), [])
        self.script("bad/bin/lamd", "kill -9 $$\n")
        done = self.lamboot(["inky", f"pinky prefix={self.folder}/bad"], LAM_MPI_SSI_boot_base_algorithm="thread")
        self.assertIn(f"lamboot: node n1 (pinky): {self.folder}/bad/bin/lamd was ended by signal 9\n", done.stderr)

    def test_an_interrupted_boot_leaves_no_daemon(self):
        self.hanging_daemon("slow/bin/lamd")
        (self.folder / "hosts").write_text(f"inky\npinky\nblinky prefix={self.folder}/slow\n")
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            (self.folder / "began").unlink(missing_ok=True)
            boot = self.start("lamboot", "-c", SCHEMA, "hosts")
            self.await_true("two daemons are in the background, a third was started", lambda: self.began()
                            and len(list(self.folder.glob("lam-*/lam-log"))) == 2)
            processes = [self.process(), self.process("n1")]
            boot.send_signal(number)
            boot.wait()
            self.assert_gone(processes)
            self.await_true("no folder stays", lambda: list(self.folder.glob("lam-*")) == [])
            os.kill(int((self.folder / "began").read_text()), signal.SIGKILL)

    def test_a_killed_tree_helper_fails_the_boot_and_leaves_nothing(self):
        """The chain n1, n2, n3 has helpers; the daemon of n4 hangs, so all of them are there when one is killed."""
        self.hanging_daemon("slow/bin/lamd")
        (self.folder / "hosts").write_text("".join(f"host{n}\n" for n in range(4)) +
                                           f"host4 prefix={self.folder}/slow\n")
        self.environment.update(LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="1",
                                PATH=f"{TOOLS.parent / 'boot'}:{os.environ['PATH']}")
        for victim in (1, 2, 3):
            (self.folder / "began").unlink(missing_ok=True)
            boot = self.start("lamboot", "-c", SCHEMA, "hosts")
            self.await_true("the last daemon was started", self.began)
            helpers = self.helpers()
            self.assertEqual(sorted(helpers), [1, 2, 3])
            os.kill(helpers[victim], signal.SIGKILL)
            output, errors = boot.communicate(timeout=PATIENCE)
            self.assertEqual(boot.returncode, 1, output)
            self.assertIn("lamboot: the helper on node n1 (host1) was lost" if victim == 1 else
                          f"the helper on node n{victim} (host{victim}) was lost", errors)
            self.assertIn("lamboot: the universe is not booted", errors)
            self.assert_gone(helpers.values())
            self.await_true("no daemon stays", lambda: self.lamds() == set() and list(self.folder.glob("lam-*")) == [])
            self.assert_gone([int((self.folder / "began").read_text())])

    def test_a_helper_that_cannot_watch_its_parent_says_so(self):
        """It has heard its daemons and waits for the universe, while that of n3 is not there yet; then it gets no memory
        for a thread. Stacks of this size are not kept for the next thread."""
        stack = 128 << 20
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (stack, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, (soft, hard))
        self.script("late/bin/lamd", f'echo $$ > {self.folder}/began\nread -r word < {self.folder}/go\n'
                    f'exec {TOOLS}/lamd "$@"\n')
        os.mkfifo(self.folder / "go")
        (self.folder / "hosts").write_text(f"host0\nhost1\nhost2\nhost3 prefix={self.folder}/late\n")
        self.environment.update(LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="2",
                                PATH=f"{TOOLS.parent / 'boot'}:{os.environ['PATH']}")
        boot = self.start("lamboot", "-c", SCHEMA, "hosts")
        self.await_true("the last daemon was started", self.began)
        self.await_true("its daemons are there", lambda: len(list(self.folder.glob("lam-*-n[12]"))) == 2)
        self.assertEqual(list(self.helpers()), [1])
        helper = self.helpers()[1]
        maps = pathlib.Path(f"/proc/{helper}/maps")
        self.await_true("it has reported, and its thread is gone", lambda: len(os.listdir(f"/proc/{helper}/task")) == 1 and
                        not any(0 <= stack - size_of(line) <= 65536 for line in maps.read_text().splitlines()))
        pages = int(pathlib.Path(f"/proc/{helper}/statm").read_text().split()[0])
        resource.prlimit(helper, resource.RLIMIT_AS, 2 * [pages * os.sysconf("SC_PAGE_SIZE") + (16 << 20)])
        (self.folder / "go").write_text("\n")
        output, errors = boot.communicate(timeout=PATIENCE)
        self.assertEqual(boot.returncode, 1, output)
        self.assertIn("as its thread cannot be started: Resource temporarily unavailable", errors)
        self.assertNotIn("was lost", errors)
        self.await_true("no daemon stays", lambda: self.lamds() == set() and list(self.folder.glob("lam-*")) == [])

    def test_what_is_written_below_a_helper_is_whole_or_its_last_mib(self):
        self.environment.update(LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="1",
                                PATH=f"{TOOLS.parent / 'boot'}:{os.environ['PATH']}")
        for count, is_whole in ((4000, True), (190_000, False)):  # 0.2 and 9 MB
            self.script("loud/bin/lamd", f'seq -f "line %.0f of {count}, as long as lines are" {count} >&2\n'
                        f'exec {TOOLS}/lamd "$@"\n')
            done = self.lamboot(["host0", "host1", f"host2 prefix={self.folder}/loud"])
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            said = [line.split(": ", 2)[2] for line in done.stderr.splitlines() if line.startswith("lamboot: ")]
            note = [] if is_whole else [said.pop(0)]
            first = count - len(said) + 1
            self.assertEqual(said, [f"line {n} of {count}, as long as lines are" for n in range(first, count + 1)])
            self.assertEqual(first == 1, is_whole)
            for line in note:
                self.assertRegex(line, r"^the first \d+ bytes of messages were dropped, the last 1048576 are kept$")
                self.assertGreater(sum(map(len, said)), 900_000)
            self.halt()

    def test_many_boots_leave_nothing(self):
        """64 boots, every fourth of which fails or grows: no process, file or folder stays, and a daemon that sees them
        all has as many descriptors as before."""
        self.script("bad/bin/lamd", "exit 4\n")
        before = self.lamds()
        for number in range(64):
            if number % 4 == 1:
                done = self.lamboot(["inky", f"pinky prefix={self.folder}/bad"])
                self.assertEqual(done.returncode, 1)
                # lamboot tells the daemon that runs already to end, and does not wait for it.
                self.await_true("no folder stays", lambda: list(self.folder.glob("lam-*")) == [])
            else:
                self.boot(["inky", "pinky"])
                if number % 4 == 2:
                    self.grown("127.0.0.5")
                done = self.tool("lamhalt", "-H")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["bad", "hosts"])
        self.await_true("no daemon stays", lambda: self.lamds() == before)

    def test_a_daemon_keeps_no_descriptor_of_what_came_and_went(self):
        self.boot(["inky"])
        self.grown("127.0.0.5")
        self.tool("lamshrink", "n1")
        process = self.process()
        before = len(os.listdir(f"/proc/{process}/fd"))
        for _ in range(20):
            self.grown("127.0.0.5")
            self.assertEqual(self.tool("lamshrink", "n1").returncode, 0)
            self.assertEqual(self.grow("inky").returncode, 1)
        self.await_true("descriptors are closed", lambda: len(os.listdir(f"/proc/{process}/fd")) <= before)


class GivenUpTest(Growing):
    def test_a_helper_that_is_stopped(self):
        """The chain n1, n2, n3 has helpers; the daemon of n4 has no folder, and is stopped too."""
        self.hanging_daemon("slow/bin/lamd")
        (self.folder / "hosts").write_text("".join(f"host{n}\n" for n in range(4)) +
                                           f"host4 prefix={self.folder}/slow\n")
        self.environment.update(LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="1",
                                PATH=f"{TOOLS.parent / 'boot'}:{os.environ['PATH']}")
        for victim in (1, 3):
            (self.folder / "began").unlink(missing_ok=True)
            boot = self.start("lamboot", "-c", SCHEMA, "hosts")
            self.await_true("the last daemon was started", self.began)
            last = int((self.folder / "began").read_text())
            helpers = self.helpers()
            self.assertEqual(sorted(helpers), [1, 2, 3])
            for process in (helpers[victim], last):
                os.kill(process, signal.SIGSTOP)
            output, errors = boot.communicate(timeout=PATIENCE)
            self.assertEqual(boot.returncode, 1, output)
            self.assertIn("has given no sign of life for 30 s: it hangs or is stopped", errors)
            self.assertEqual([process for process in (*helpers.values(), last) if self.is_running(process)], [],
                             f"helper {victim}: processes stay")
            self.assertEqual(self.lamds(), set(), f"helper {victim}: a daemon stays")
            self.assertEqual(list(self.folder.glob("lam-*")), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
