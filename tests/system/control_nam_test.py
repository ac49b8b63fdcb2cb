#!/usr/bin/env python3
"""namstat, and what daemons see of adapters: universes in a network namespace of their own, whose adapters fail in every way.

usage: control_nam_test.py FOLDER-OF-THE-PROGRAMS PROCESS-SCHEMA PROBE [CASES]"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from control_universe_test import NOBODY, PATIENCE, TOOLS, Universe

PROBE = os.path.abspath(sys.argv[3])
UP, DOWN, UNKNOWN = 0, 1, 2  # namstat's exit statuses
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"


class NamTest(Universe):
    """Adapters near0 and near1; the other ends of their cables are far0 and far1."""
    user = []

    def setUp(self):
        super().setUp()
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.enter = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--"]
        self.prefix = [*self.enter, *self.user]
        self.ip("link set lo up")
        for number in range(2):
            self.ip(f"link add near{number} type veth peer name far{number}")
            self.ip(f"address add 10.8.{number}.1/24 dev near{number}")
            self.ip(f"link set far{number} up")
            self.ip(f"link set near{number} up")

    def tearDown(self):
        super().tearDown()
        self.holder.kill()
        self.holder.communicate()

    def ip(self, words):
        subprocess.run([*self.enter, "ip", *words.split()], check=True)

    def namstat(self, *words):
        done = self.tool("namstat", *words)
        self.assertEqual(done.stderr, "")
        return done

    def adapters(self, node=0, member=""):
        """What the daemon `member` says of a node's adapters, by name."""
        suffix = ["-sessionsuffix", member] if member else []
        done = self.namstat("--json", *suffix)
        matrix = json.loads(done.stdout)
        self.assertEqual(done.returncode, UP if matrix["all_up"] else DOWN)
        return {adapter["name"]: adapter for adapter in matrix["nodes"][node]["adapters"]}

    def await_reason(self, adapter, reason):
        """Each daemon says it of both nodes, which have the same adapters here."""
        for member in ("", "n1"):
            for node in (0, 1):
                until = time.monotonic() + PATIENCE
                while self.adapters(node, member)[adapter]["reason"] != reason:
                    self.assertLess(time.monotonic(), until, f"n{node} by {member}: {self.adapters(node, member)}")

    def test_an_adapter_fails_in_every_way(self):
        self.boot(["inky", "pinky"])
        self.await_reason("near0", None)
        done = self.namstat()
        self.assertEqual((done.returncode, done.stdout.splitlines()), (UP, [
            "node        10.8.0.0/24  10.8.1.0/24", "n0 (inky)   near0        near1", "n1 (pinky)  near0        near1"]))
        begun = time.time()
        for words, back, reason in (("link set far0 down", "link set far0 up", "no carrier"),
                                    ("link set near0 down", "link set near0 up", "taken down"),
                                    ("address delete 10.8.0.1/24 dev near0", "address add 10.8.0.1/24 dev near0", "no address"),
                                    ("link delete near0", None, "removed")):
            self.ip(words)
            self.await_reason("near0", reason)
            done = self.namstat()
            self.assertEqual(done.returncode, DOWN)
            self.assertRegex(done.stdout, r"\nn1 \(pinky\)  near0 DOWN   near1\n")
            self.assertRegex(done.stdout, rf"\nn1 \(pinky\): near0 \(10\.8\.0\.1/24, 10 Gbit/s\) is down since {TIME}: {reason}\n$")
            if back:
                self.ip(back)
                self.await_reason("near0", None)
                self.assertEqual(self.namstat().returncode, UP)
        self.check_history(begun)

    def check_history(self, begun):
        done = self.namstat("--history")
        self.assertEqual(done.returncode, DOWN)
        own = iter([line.split(" is ")[1] for line in done.stdout.splitlines() if "n0 (inky)" in line])
        for end in ("down: no carrier", "up", "down: taken down", "up", "down: no address", "up", "down: removed"):
            self.assertIn(end, own, "in this order")
        for line in done.stdout.splitlines():
            self.assertRegex(line, rf"^{TIME}  n[01] \((inky|pinky)\): near0 \(10\.8\.0\.1/24, 10 Gbit/s\) is (up|down: [a-z ]+)$")
        changes = [json.loads(line) for line in self.namstat("--history", "--json").stdout.splitlines()]
        self.assertEqual(len(changes), len(done.stdout.splitlines()))
        for change in changes:
            self.assertLessEqual(time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(begun)), change["heard"])
            self.assertEqual(change["adapter"]["addresses"], ["10.8.0.1/24"])

    def test_since_does_not_change_while_nothing_does(self):
        self.boot(["inky", "pinky"])
        before = self.adapters()
        self.ip("link set far1 down")
        self.await_reason("near1", "no carrier")
        self.assertEqual(self.adapters()["near0"], before["near0"])
        self.assertRegex(before["near0"]["since"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertLess(before["near1"]["since"], self.adapters()["near1"]["since"])

    def test_new_adapters_and_addresses_are_seen(self):
        self.boot(["inky", "pinky"])
        self.ip("link add late type veth peer name far-late")
        self.ip("link set far-late up")
        self.assertNotIn("late", self.adapters())
        self.ip("address add 10.9.9.1/16 dev late")
        self.ip("link set late up")
        self.await_reason("late", None)
        self.ip("address add fd08::1/64 dev late nodad")
        until = time.monotonic() + PATIENCE
        while len(self.adapters()["late"]["addresses"]) < 2:
            self.assertLess(time.monotonic(), until)
        self.assertEqual(self.adapters()["late"]["addresses"], ["10.9.9.1/16", "fd08::1/64"])
        self.assertEqual(self.adapters()["late"]["networks"], ["10.9.0.0/16", "fd08::/64"])

    def test_history_has_new_adapters_and_addresses(self):
        self.boot(["inky"])
        self.ip("link add late type veth peer name far-late")
        self.ip("link set far-late up")
        self.ip("link set late up")
        self.ip("address add 10.9.9.1/16 dev late")
        self.await_history("late (10.9.9.1/16")
        self.ip("address add 10.7.7.1/24 dev late")
        self.ip("address delete 10.9.9.1/16 dev late")
        self.await_history("late (10.7.7.1/24")

    def await_history(self, text):
        until = time.monotonic() + PATIENCE
        while f": {text}" not in self.namstat("--history").stdout:
            self.assertLess(time.monotonic(), until, self.namstat("--history").stdout)

    def test_odd_names_are_in_the_matrix(self):
        self.boot(["inky"])
        for number, (name, written) in enumerate((("\u00e9", "%c3%a9"), ('a"\\', "a%22%5c"))):
            subprocess.run([*self.enter, "ip", "link", "add", "name", name, "type", "veth", "peer", f"far-odd{number}"],
                           check=True)
            subprocess.run([*self.enter, "ip", "address", "add", f"10.9{number}.1.1/24", "dev", name], check=True)
            until = time.monotonic() + PATIENCE
            while written not in self.adapters():
                self.assertLess(time.monotonic(), until, self.adapters())

    def test_watch(self):
        self.boot(["inky"])
        for words, first in ((["--json"], True), (["--json", "--history"], False)):
            watching = subprocess.Popen([*self.prefix, TOOLS / "namstat", "--watch", *words], env=self.environment, text=True,
                                        cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
            self.addCleanup(watching.stdout.close)
            self.addCleanup(watching.wait)
            self.addCleanup(watching.kill)
            if first:
                self.assertTrue(json.loads(watching.stdout.readline())["all_up"])
            self.ip("link set far0 down")
            seen = json.loads(watching.stdout.readline())
            self.assertFalse(seen["all_up"]) if first else self.assertEqual(seen["adapter"]["reason"], "no carrier")
            self.ip("link set far0 up")
            seen = json.loads(watching.stdout.readline())
            self.assertTrue(seen["all_up"]) if first else self.assertEqual(seen["adapter"]["state"], "up")
            if not first:
                self.halt()
                self.assertEqual(watching.wait(PATIENCE), UNKNOWN)
            else:
                watching.kill()
                self.wait_until_history_has(2)

    def wait_until_history_has(self, changes):
        self.assertEqual(len(self.namstat("--history").stdout.splitlines()), changes)
        # The next one is to begin with what comes then.
        self.halt()
        self.boot(["inky"])

    def test_output_that_nobody_takes(self):
        self.boot(["inky"])
        for words in ([], ["--json"], ["--history", "--json"]):
            with self.subTest(words):
                watching = subprocess.Popen([*self.prefix, TOOLS / "namstat", "--watch", *words], env=self.environment,
                                            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
                self.addCleanup(watching.kill)
                if "--history" not in words:
                    watching.stdout.readline()
                watching.stdout.close()
                self.assertEqual(watching.wait(PATIENCE), -signal.SIGPIPE, "while nothing changes")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([*self.prefix, TOOLS / "namstat"], env=self.environment, cwd=self.folder, text=True,
                                  stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stderr), (UNKNOWN, "namstat: standard output: No space left on device\n"))

    def test_tasks_leave_others_descriptors_of_the_daemon(self):
        self.boot(["inky"])
        subprocess.run([*self.prefix, "prlimit", f"--pid={self.process()}", "--nofile=60:"], check=True)
        told = 0
        for _ in range(60):
            task = self.enterContext(socket.socket(socket.AF_UNIX))
            task.connect(str(self.session() / "lam-kernel-socket"))
            task.sendall(b"\2\0\0\0\2\x33")
            task.settimeout(PATIENCE)
            told += task.recv(100) != b""
        self.assertEqual(told, 30)
        self.assertEqual(self.namstat().returncode, UP)

    def test_a_lost_daemon_has_no_adapters_and_is_named(self):
        self.boot(["inky", "pinky"])
        self.await_reason("near0", None)
        self.tool("tkill", "-sessionsuffix", "n1")
        until = time.monotonic() + PATIENCE
        while "n1 (pinky): its daemon is lost\n" not in self.namstat().stdout:
            self.assertLess(time.monotonic(), until)
        done = self.namstat("--json")
        matrix = json.loads(done.stdout)
        self.assertEqual(done.returncode, DOWN)
        self.assertEqual([(node["state"], bool(node["adapters"])) for node in matrix["nodes"]],
                         [("member", True), ("lost", False)])

    def test_an_adapter_that_flaps_is_told_of_seldom(self):
        """And what it is in the end is known."""
        self.boot(["inky", "pinky"])
        flaps = "\n".join(["link set far0 down", "link set far0 up"] * 500) + "\nlink set far0 down\n"
        subprocess.run([*self.enter, "ip", "-batch", "-"], input=flaps, text=True, check=True)
        self.await_reason("near0", "no carrier")
        self.ip("link set far0 up")
        self.await_reason("near0", None)

    def test_tasks_are_told(self):
        """All of many, awake or asleep; and that their daemon is gone."""
        self.boot(["inky", "pinky"])
        self.await_reason("near0", None)
        tasks = [subprocess.Popen([*self.prefix, PROBE, self.session()], cwd=self.folder, env=self.environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(64)]
        for task in tasks:
            self.addCleanup(task.stdout.close)
            self.addCleanup(task.wait)
            self.addCleanup(task.kill)
            self.assertEqual(task.stdout.readline(), "4 addresses, 4 up\n")
        for words, up in (("link set far0 down", 2), ("link set near1 down", 0), ("link set near1 up", 2)):
            self.ip(words)
            for task in tasks:
                self.await_line(task, f"4 addresses, {up} up\n")
        self.halt()
        for task in tasks:
            self.await_line(task, "ended\n")

    def test_tasks_follow_the_daemon_of_their_universe(self):
        """Of two on this machine, as lapirun's option names it."""
        self.boot(["inky", "pinky"])
        self.boot(["inky"], "-sessionsuffix", "two")
        for words, addresses in (([], 4), (["-sessionsuffix", "two"], 2),
                                 (["-sessionprefix", self.folder, "-sessionsuffix", "two"], 2)):
            job = subprocess.Popen([*self.prefix, TOOLS / "../lapirun", *words, "-n", "1", PROBE], cwd=self.folder, text=True,
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.addCleanup(job.stdout.close)
            self.addCleanup(job.wait)
            self.addCleanup(job.kill)
            self.await_line(job, f"{addresses} addresses, {addresses} up\n")
            job.terminate()
            job.wait(PATIENCE)
        self.assertEqual(self.tool("lamhalt", "-H", "-sessionsuffix", "two").returncode, 0)

    def test_tasks_of_a_batch_job_follow_a_daemon_beside_it(self):
        """Where there is none of the job's own."""
        batch = {"SLURM_JOB_ID": "7"}
        self.boot(["inky", "pinky"])
        self.assertEqual(self.lamboot(["inky"], **batch).returncode, 0)
        for addresses in (2, 4):
            task = subprocess.Popen([*self.prefix, PROBE], cwd=self.folder, env={**self.environment, **batch}, text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.addCleanup(task.stdout.close)
            self.addCleanup(task.wait)
            self.addCleanup(task.kill)
            self.await_line(task, f"{addresses} addresses, {addresses} up\n")
            if addresses == 2:
                self.assertEqual(self.tool("lamhalt", "-H", **batch).returncode, 0)

    def await_line(self, task, expected):
        """Each node's change may be told by itself."""
        seen = []
        while not seen or seen[-1] not in (expected, ""):
            seen.append(task.stdout.readline())
        self.assertEqual(seen[-1], expected, seen)

    def test_tasks_without_a_daemon_do_without(self):
        done = subprocess.run([*self.prefix, PROBE, self.folder / "lam-none"], env=self.environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no lamd is running here for this user", done.stdout)

    def test_a_stopped_daemon_is_named(self):
        """Whoever asks it, or waits for its news."""
        self.boot(["inky"])
        watching = subprocess.Popen([*self.prefix, TOOLS / "namstat", "--watch", "--json"], env=self.environment, text=True,
                                    cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(watching.kill)
        watching.stdout.readline()
        process = self.process()
        os.kill(process, signal.SIGSTOP)
        named = (f"namstat: no answer after 5 s from the daemon here (lamd on {socket.gethostname()}, process {process}): "
                 "it hangs or is stopped; tkill ends it\n")
        for words in ([], ["--json"], ["--history"]):
            done = self.tool("namstat", *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (UNKNOWN, "", named), words)
        out, errors = watching.communicate(timeout=PATIENCE)
        self.assertEqual((watching.returncode, out, errors), (UNKNOWN, "", named))

    def test_what_cannot_be_found_out(self):
        done = self.tool("namstat")
        self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""))
        self.assertIn("no lamd is running here for this user", done.stderr)
        for words in (["n0"], ["--watching"], ["-sessionsuffix"]):
            done = self.tool("namstat", *words)
            self.assertEqual((done.returncode, done.stdout), (UNKNOWN, ""), words)
            self.assertRegex(done.stderr, r"namstat -h lists the options\n$")
        for word in ("-h", "--help"):
            done = self.tool("namstat", word)
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith("usage: namstat"))
        self.boot(["inky"])
        self.prefix = [*self.enter, *NOBODY] if not self.user else self.enter
        done = self.tool("namstat")
        self.prefix = [*self.enter, *self.user]
        self.assertEqual(done.returncode, UNKNOWN, "another user's")
        done = self.tool("namstat", "--json")
        self.assertTrue(re.match(r'\{"here":0,', done.stdout))


class OrdinaryUserNamTest(NamTest):
    user = NOBODY


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
