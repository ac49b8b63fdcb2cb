#!/usr/bin/env python3
"""Network tables in the daemons of a universe on this machine: what lapi_ntbl loads, reads and unloads, and what tasks
that are started by hand get from the daemon of their node.

usage: control_network_test.py FOLDER-OF-THE-TOOLS PROCESS-SCHEMA WINDOW-PROBE INIT-PROBE [CASES]"""
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

from control_universe_test import NOBODY, PATIENCE, Universe

PROBE, INIT_PROBE = map(os.path.abspath, sys.argv[3:5])
NO_NETSTR_SET, CSS_LOAD_FAILED, UNKNOWN = 407, 404, 400
TABLE = """# tasks 0 and 1 on n0, task 2 on n1
MP_PARTITION=4711
0 n0 164,sn0
1 n0 165,sn0 net_none0
2 n1 164,sn0 rxe0:1
"""
ROWS = ["4711\t0\tn0\t@1:164,sn0\t-", "4711\t1\tn0\t@1:165,sn0\t-", "4711\t2\tn1\t@1:164,sn0\t-"]


class Networks(Universe):
    hosts = ["inky", "pinky", "blinky"]

    def setUp(self):
        super().setUp()
        for name in [name for name in self.environment if name.startswith(("PMIX_", "LAPI_", "MP_"))]:
            del self.environment[name]
        if self.hosts:
            self.boot(self.hosts, "-H")

    def ntbl(self, *words, status=0, error="", member=""):
        done = self.tool("lapi_ntbl", *words, **({"LAM_MPI_SESSION_SUFFIX": member} if member else {}))
        self.assertEqual(done.returncode, status, done)
        if error:
            self.assertIn(error, done.stderr)
            self.assertTrue(done.stderr.startswith("lapi_ntbl: "), done.stderr)
        else:
            self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def load(self, text=TABLE):
        (self.folder / "table").write_text(text)
        return self.ntbl("load", "table")

    def start(self, task, windows, *words, member="", prefix=(), key="4711", tasks=3):
        """A task by hand, as far as its bootstrap goes."""
        environment = dict(self.environment, MP_PARTITION=key, MP_CHILD=str(task), MP_PROCS=str(tasks))
        if member:
            environment["LAM_MPI_SESSION_SUFFIX"] = member
        process = subprocess.Popen([*prefix, PROBE, windows, *map(str, words)], env=environment, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=1)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.stdin.closed:
            return
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def said(self, process):
        """Until it is ready or has ended."""
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == "ready 1":
                break
        return lines

    def refused(self, text, *words, what="refused", **how):
        process = self.start(*words, **how)
        said = self.said(process)
        self.assertEqual(len(said), 1, said)
        self.assertIn(text, said[0])
        self.assertEqual(said[0].split()[0], what)
        self.assertEqual(process.wait(PATIENCE), 1)

    def await_rows(self, expected):
        """The daemon hears of a task's end some time after it."""
        while (rows := self.ntbl("read")) != expected:
            self.assertTrue(all(row.split("\t")[:4] in [each.split("\t")[:4] for each in expected] for row in rows), rows)

    def await_holder(self, row, process):
        while self.ntbl("read")[row].split("\t")[4] != str(process.pid):
            self.assertIsNone(process.poll())


class ToolTest(Networks):
    def test_load_read_unload(self):
        self.assertEqual(self.ntbl("read"), [])
        self.assertEqual(self.load(), ROWS)
        # From any node, also one that the table does not name; by other processes than the one that loaded it.
        for member in ("", "n1", "n2"):
            self.assertEqual(self.ntbl("read", member=member), ROWS)
            self.assertEqual(self.ntbl("read", "4711", member=member), ROWS)
        self.ntbl("read", "4712", status=1, error="no network table of MP_PARTITION='4712' is loaded")
        self.assertEqual(self.ntbl("unload", "4711", member="n2"), [])
        self.assertEqual(self.ntbl("read"), [])
        self.ntbl("unload", "4711", status=1, error="no network table of MP_PARTITION='4711' is loaded")

    def test_a_key_and_a_window_belong_to_one_table(self):
        self.load()
        self.ntbl("load", "table", status=1, error="MP_PARTITION='4711' is loaded already; lapi_ntbl unload")
        (self.folder / "other").write_text("MP_PARTITION=8\n0 n0 1,sn0\n1 n1 164,sn9 rxe0:1\n")
        self.ntbl("load", "other", status=1, error="n1 (pinky): window 164,sn9 belongs to MP_PARTITION='4711'")
        self.assertEqual(self.ntbl("read"), ROWS, "nothing of it stays on the node that had no objection")
        (self.folder / "other").write_text("MP_PARTITION=8\n0 n0 1,sn0\n")
        self.ntbl("load", "other")
        self.assertEqual(self.ntbl("read"), [*ROWS, "8\t0\tn0\t@1:1,sn0\t-"])

    def test_reserve_takes_free_windows(self):
        self.load("MP_PARTITION=1\n0 n0 0,sn0\n0 n0 2,sn1\n")
        self.assertEqual(self.ntbl("reserve", "-key", "a key", "-adapter", "sn0", "n0", "n0", "n1"),
                         ["a key\t0\tn0\t@1:1,sn0\t-", "a key\t1\tn0\t@1:2,sn0\t-", "a key\t2\tn1\t@1:0,sn0\t-"])
        self.assertEqual(self.ntbl("env", "a key", "1"),
                         ["export MP_MSG_API=lapi MP_EUILIB=us MP_CHILD=1 MP_PROCS=3 MP_PARTITION='a key' "
                          "MP_COMMON_TASKS=1:0 MP_LAPI_NETWORK='@1:2,sn0'"])
        self.assertEqual(self.ntbl("env", "1", "0")[0].split()[-1], "MP_LAPI_NETWORK='@2:0,sn0:2,sn1'")
        rows = self.ntbl("reserve", "-adapter", "hca=mlx5_0:1:3")  # on all nodes, with a key of its own
        self.assertEqual([row.split("\t")[1:] for row in rows], [[f"{n}", f"n{n}", "@1:0,hca", "-"] for n in range(3)])
        rows = self.ntbl("reserve", "-adapter", "hca=mlx5_0:1:3", "c0-1")
        self.assertEqual([row.split("\t")[1:4] for row in rows], [["0", "n0", "@1:1,hca"], ["1", "n1", "@1:1,hca"]])

    def test_a_table_may_come_from_standard_input(self):
        done = subprocess.run([f"{sys.argv[1]}/lapi_ntbl", "load", "-"], input=TABLE, env=self.environment, text=True,
                              capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout.splitlines(), done.stderr), (0, ROWS, ""))

    def test_mistakes(self):
        for words in ((), ("frobnicate",), ("load",), ("load", "a", "b"), ("reserve",), ("env", "7"), ("unload",),
                      ("read", "a", "b"), ("read", "-key", "7"), ("read", "-frobnicate")):
            self.assertEqual(self.tool("lapi_ntbl", *words).returncode, 2, words)
        for words in (("-h",), ("--help",), ("load", "-h"), ("read", "--help")):
            done = self.tool("lapi_ntbl", *words)
            self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "usage: lapi_ntbl COMMAND [options] ..."))
        self.ntbl("load", "/nowhere", status=1, error="/nowhere: No such file or directory")
        for text, error in (("0 n0 1,sn0\n", "no line says MP_PARTITION="),
                            ("MP_PARTITION=1\n0 n0 1,sn0\n1 n7 1,sn0\n", "n7 is not in the universe"),
                            ("MP_PARTITION=1\n0 n0 65536,sn0\n", "line 2: '65536' is no window: allowed is 0 to 65535"),
                            ("MP_PARTITION=1\n1 n0 1,sn0\n", "task 0 has no window"),
                            ("", "nothing is in it"), ("\x7fELF\0\0\1", "table: ")):
            (self.folder / "table").write_text(text)
            self.ntbl("load", "table", status=1, error=error)
        self.ntbl("reserve", "-adapter", "mlx5_0:1", status=1, error="without comma, colon and space")
        self.ntbl("reserve", "-adapter", "sn0", "n9", status=2, error="n9")
        self.load()
        self.ntbl("env", "4711", "3", status=1, error="MP_PARTITION='4711' has no task '3': allowed are 0 to 2")
        self.assertEqual(self.ntbl("read"), ROWS)

    def test_tables_go_with_their_daemons(self):
        self.load()
        os.kill(self.process("n1"), signal.SIGKILL)
        self.await_lines(["n1\tpinky:1:lost"], "n1")
        self.assertEqual(self.ntbl("read"), ROWS[:2])
        self.ntbl("unload", "4711")
        (self.folder / "table").write_text(TABLE)
        self.ntbl("load", "table", status=1, error="n1 is not in the universe")
        self.halt()
        self.ntbl("read", status=1, error="no lamd is running here for this user")
        self.boot(self.hosts, "-H")
        self.assertEqual(self.ntbl("read"), [])

    def test_a_node_is_full_some_time(self):
        for number in range(64):
            self.load(f"MP_PARTITION={number}\n0 n0 {number},sn0\n")
        (self.folder / "table").write_text("MP_PARTITION=more\n0 n0 100,sn0\n")
        self.ntbl("load", "table", status=1, error="n0 (inky): a node takes 64 network tables")
        rows = "".join(f"{task} n1 {task},sn0\n" for task in range(4096))
        self.assertEqual(len(self.load("MP_PARTITION=large\n" + rows)), 4096)
        (self.folder / "table").write_text("MP_PARTITION=larger\n" + rows + "4096 n1 5000,sn0\n")
        self.ntbl("load", "table", status=1, error="task 4096: allowed are 0 to 4095")


class TaskTest(Networks):
    def exchange(self, rounds=1):
        """All three tasks; what they say."""
        tasks = [self.start(0, "164,sn0", rounds), self.start(1, "165,sn0", rounds),
                 self.start(2, "164,sn0", rounds, member="n1")]
        return tasks, [self.said(task) for task in tasks]

    def expect_exchanged(self, tasks, said, rounds=1):
        keys = [f"key{number} {task}/{process.pid}" for number in range(1, rounds + 1)
                for task, process in enumerate(tasks)]
        for task, lines in enumerate(said):
            self.assertEqual(lines[-1], "ready 1", lines)
            self.assertEqual(lines[0], said[0][0], "all have one cookie")
            self.assertEqual(lines[1], ["device ", "device net_none0", "device rxe0:1"][task])
            self.assertEqual([line for line in lines if line.startswith("local")],
                             ["local 2"] if task == 2 else ["local 0", "local 1"])
            self.assertEqual([line for line in lines if line.startswith("key")], keys)

    def test_tasks_learn_what_the_others_gave(self):
        self.load()
        tasks, said = self.exchange(rounds=3)
        self.expect_exchanged(tasks, said, rounds=3)
        self.assertEqual([row.split("\t")[4] for row in self.ntbl("read")], [str(task.pid) for task in tasks])
        self.ntbl("unload", "4711", status=1, error=f"is running (process {tasks[0].pid})")
        for task in tasks:
            task.stdin.close()
            self.assertEqual(task.wait(PATIENCE), 0)
            task.stdout.close()
        self.await_rows(ROWS)
        # The table serves the next run, whose tasks see nothing of the one before.
        tasks, said = self.exchange()
        self.expect_exchanged(tasks, said)

    def test_another_load_has_another_cookie(self):
        cookies = set()
        for _ in range(2):
            self.load("MP_PARTITION=4711\n0 n0 164,sn0\n")
            task = self.start(0, "164,sn0", tasks=1)
            cookies.add(self.said(task)[0])
            self.end(task)
            while self.ntbl("read")[0].split("\t")[4] != "-":
                pass
            self.ntbl("unload", "4711")
        self.assertEqual(len(cookies), 2)

    def test_who_ended_before_all_came_is_waited_for(self):
        self.load()
        two = self.start(2, "164,sn0", 1, member="n1")
        one = self.start(1, "165,sn0", 1)
        self.await_holder(2, two)
        self.await_holder(1, one)
        self.end(two)
        self.await_rows([ROWS[0], ROWS[1][:-1] + str(one.pid), ROWS[2]])
        tasks = [self.start(0, "164,sn0", 1), one, self.start(2, "164,sn0", 1, member="n1")]
        self.expect_exchanged(tasks, [self.said(task) for task in tasks])

    def test_a_task_does_not_get_what_is_not_its(self):
        self.refused("MP_PARTITION='4711': no network table of this job key is loaded on this node, n0", 0, "164,sn0")
        self.load()
        self.refused("MP_PARTITION='4712': no network table", 0, "164,sn0", key="4712")
        self.refused("MP_PARTITION='4711': no network table of this job key is loaded on this node, n2", 0, "164,sn0",
                     member="n2")
        self.refused("MP_PROCS=4: the network table of MP_PARTITION='4711' has 3 tasks", 0, "164,sn0", tasks=4)
        self.refused("MP_CHILD=2: in the network table of MP_PARTITION='4711' this task is not on this node, n0, but on "
                     "n1", 2, "164,sn0")
        self.refused("MP_LAPI_NETWORK: '165,sn0' is not reserved for task 0", 0, "165,sn0")
        self.refused("has 164,sn0 for it", 0, "164,sn1")
        self.refused("'164,sn1' is not reserved for task 0", 0, "164,sn0:164,sn1")
        holder = self.start(0, "164,sn0")
        self.assertEqual(self.said(holder)[-1], "ready 1")
        self.refused(f"the windows of task 0 are in use by process {holder.pid}", 0, "164,sn0")
        self.end(holder)
        self.await_rows(ROWS)
        self.assertEqual(self.said(self.start(0, "164,sn0"))[-1], "ready 1")

    def test_a_daemon_that_dies_ends_the_waiting(self):
        for lost in ("n1", ""):
            self.load()
            waiting = [self.start(0, "164,sn0", 1), self.start(1, "165,sn0", 1)]
            self.await_holder(0, waiting[0])
            self.await_holder(1, waiting[1])
            os.kill(self.process(lost), signal.SIGKILL)
            for task in waiting:
                line = self.said(task)[-1]
                expected = "the daemon of n1 is lost" if lost else "the lamd of this node has ended"
                self.assertTrue(line.startswith("exchange ") and expected in line, line)
            self.tool("tkill")
            self.boot(self.hosts, "-H")

    def test_a_job_that_has_its_addresses_needs_no_daemon(self):
        self.load()
        tasks, said = self.exchange()
        self.expect_exchanged(tasks, said)
        self.tool("tkill")
        for task in tasks:
            self.assertIsNone(task.poll())
            task.stdin.close()
            self.assertEqual(task.wait(PATIENCE), 0)
            task.stdout.close()

    def test_a_daemon_keeps_no_descriptor(self):
        self.load()
        folder = f"/proc/{self.process()}/fd"
        before = len(os.listdir(folder))
        for _ in range(5):
            self.refused("is not reserved", 0, "1,sn0")
            self.end(self.start(0, "164,sn0"))
        self.await_rows(ROWS)
        while len(os.listdir(folder)) > before:
            self.ntbl("read")


class StrangerTest(Networks):
    def speak(self, *said):
        """As a task would; what comes back, until the daemon ends the connection or has answered all."""
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.settimeout(PATIENCE)
        client.connect(str(self.session() / "lam-kernel-socket"))
        for message in said:
            client.sendall(struct.pack("<I", len(message)) + message)
        return client

    @staticmethod
    def text(value):
        return struct.pack("<I", len(value)) + value

    def open_message(self, task=0, window=164):
        return (b"\2\x24" + self.text(b"4711") + struct.pack("<IIII", task, 3, 1, window) + self.text(b"sn0"))

    def test_nonsense_from_a_task_ends_only_its_connection(self):
        self.load()
        gift = b"\2\x26" + struct.pack("<II", 1, 0) + self.text(b"key") + self.text(b"value")
        for said in ((b"\2\x24\xff\xff\xff\xff",), (b"\2\x24",), (self.open_message() + b"more",),
                     (b"\2\x28" + bytes(16),), (b"\2\x25" + bytes(20),), (gift,),
                     (self.open_message(), b"\2\x63"), (self.open_message(), b"\2\x17"),
                     (self.open_message(), gift, gift),
                     (self.open_message(), b"\2\x26" + struct.pack("<II", 1, 0) + self.text(b"k") + self.text(bytes(5000)))):
            client = self.speak(*said)
            self.read_to_end(client)
            client.close()
        # Half a message and silence.
        silent = self.speak(self.open_message())
        silent.sendall(b"\xff\0\0")
        self.await_silent(silent)
        self.assertEqual(self.ntbl("read")[1:], ROWS[1:])
        self.assertEqual(self.ntbl("read")[0].split("\t")[4], str(os.getpid()))
        silent.close()
        self.await_rows(ROWS)
        self.assertEqual(self.lines("-c"), ["n0\tinky", "n1\tpinky", "n2\tblinky"])

    def await_silent(self, client):
        head = client.recv(4, socket.MSG_WAITALL)
        body = client.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL)
        self.assertEqual(body[:6], b"\2\x25\0\0\0\0", "the windows are given without a failure")

    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_another_users_task_finds_no_daemon(self):
        self.load()
        programs = tempfile.mkdtemp(prefix="openlapi-programs-")
        self.addCleanup(shutil.rmtree, programs)
        os.chmod(programs, 0o755)
        probe = shutil.copy(PROBE, programs)
        environment = dict(self.environment, MP_PARTITION="4711", MP_CHILD="0", MP_PROCS="3")
        done = subprocess.run([*NOBODY, probe, "164,sn0"], env=environment, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE, cwd="/")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, r"^no_daemon no lamd is running here for this user \(.*/lam-nobody@.*; lamboot ")
        self.assertEqual(self.ntbl("read"), ROWS)


class InitTest(Networks):
    """What LAPI_Init returns; no adapter is needed for that."""

    def init(self, code, text, status=0, **variables):
        environment = dict(self.environment, MP_MSG_API="lapi", MP_EUILIB="us", LAPI_USE_SHM="no", MP_PARTITION="4711",
                           MP_CHILD="0", MP_PROCS="3", MP_LAPI_NETWORK="@1:164,sn0", OPENLAPI_MODULES="dpdk",
                           OPENLAPI_DPDK_ARGUMENTS="--no-huge --no-pci")
        environment.update(variables)
        environment = {name: value for name, value in environment.items() if value is not None}
        done = subprocess.run([INIT_PROBE, "silent"], env=environment, capture_output=True, text=True, check=False,
                              timeout=PATIENCE, stdin=subprocess.DEVNULL)
        self.assertIn(f"code {code}\n", done.stdout, done)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, status)

    def test_errors_name_the_variable(self):
        self.init(NO_NETSTR_SET, "MP_PARTITION='4711': no network table of this job key is loaded on this node")
        self.load()
        self.init(NO_NETSTR_SET, "MP_LAPI_NETWORK is not set; allowed is @count:window,adapter", MP_LAPI_NETWORK=None)
        self.init(NO_NETSTR_SET, "MP_LAPI_NETWORK=@1:164: allowed is @count:window,adapter", MP_LAPI_NETWORK="@1:164")
        self.init(NO_NETSTR_SET, "MP_LAPI_NETWORK: '165,sn0' is not reserved for task 0", MP_LAPI_NETWORK="@1>165,sn0")
        self.init(NO_NETSTR_SET, "MP_CHILD=2", MP_CHILD="2")
        self.init(NO_NETSTR_SET, "MP_PROCS=2", MP_PROCS="2")
        holder = self.start(0, "164,sn0")
        self.assertEqual(self.said(holder)[-1], "ready 1")
        self.init(NO_NETSTR_SET, f"the windows of task 0 are in use by process {holder.pid}")

    def test_without_a_daemon_it_says_what_to_do(self):
        self.halt()
        self.init(CSS_LOAD_FAILED, "no lamd is running here for this user")
        self.init(CSS_LOAD_FAILED, "lamboot starts one, lapi_ntbl loads the table; or start the tasks with lapirun")
        self.boot(self.hosts, "-H")

    def test_the_device_is_that_of_the_table(self):
        self.load()
        # Which does not exist: no transport can be opened, and its name is in the reason.
        self.init(CSS_LOAD_FAILED, "dpdk: no DPDK port net_none0", MP_CHILD="1", MP_LAPI_NETWORK="@1:165,sn0")
        self.await_rows(ROWS)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
