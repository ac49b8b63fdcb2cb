#!/usr/bin/env python3
"""Tasks that no launcher starts, in user space mode over real ports: a universe of two daemons on this machine, a
network table in them, and the sample's run_us once for each node; and a job of lapirun over the same universe, whose
tasks find each other through PMIx. Runs inside a bed:

    dpdk-ports 2 [--kind KIND] -- user_space_by_hand.py BUILD
    soft-roce -- user_space_by_hand.py BUILD

Prints TAP."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from tap import check, finish  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1])
RUN_US = ROOT / "samples/standalone/us/run_us"
SAMPLE = BUILD / "samples/us"
PROGRAMS = BUILD / "tests/system"
KEY = "4711"
LIMIT = 120  # seconds
ON_DPDK = "DPDK_PORTS_COUNT" in os.environ
WAY = "dpdk" if ON_DPDK else "verbs"

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="openlapi-by-hand-"))
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("LAM", "PMIX_", "LAPI_", "MP_"))}
ENVIRONMENT.update(LAM_MPI_SESSION_PREFIX=str(FOLDER), LAM_MPI_SSI_boot="local", OPENLAPI_MODULES=WAY,
                   MP_INFOLEVEL="2", PATH=f"{BUILD}/control/tools:{os.environ['PATH']}")


def member(node):
    """Of the daemon of a node: what its tools and tasks have in the environment."""
    return {**ENVIRONMENT, **({"LAM_MPI_SESSION_SUFFIX": f"n{node}"} if node else {})}


def tool(*words, node=0):
    done = subprocess.run([str(word) for word in words], env=member(node), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout, done.stderr


def device(task):
    """What the table calls it: DPDK's is one that the arguments of the bed make."""
    return os.environ[f"DPDK_PORTS_DEVICES_{task}"] if ON_DPDK else f"rxe{task}:1:1"


def table(nodes=(0, 1), windows=(164, 165)):
    rows = [f"{task} n{nodes[task]} {windows[task]},sn0 {device(task)}\n" for task in (0, 1)]
    (FOLDER / "table").write_text(f"MP_PARTITION={KEY}\n" + "".join(rows))
    return tool("lapi_ntbl", "load", FOLDER / "table")


def with_ports(command, number="MP_CHILD"):
    """On DPDK each task has EAL arguments of its own."""
    if not ON_DPDK:
        return f"exec {command}"
    return f'eval "export OPENLAPI_DPDK_ARGUMENTS=\\"\\$DPDK_PORTS_EAL_${number}\\""; exec {command}'


def by_hand(command, nodes=(0, 1)):
    return Run([[RUN_US, KEY, "/bin/sh", "-c", with_ports(command)]] * len(nodes), nodes)


def by_lapirun(command):
    return Run([[BUILD / "control/lapirun", "-n", "2", "n0-1", "env", "MP_EUILIB=us", "LAPI_USE_SHM=no", "/bin/sh", "-c",
                 with_ports(command, "PMIX_RANK")]], (0,))


class Run:
    """Commands on some nodes at once, to the end."""

    def __init__(self, commands, nodes):
        started = [subprocess.Popen([str(word) for word in command], env=member(node), text=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                   for command, node in zip(commands, nodes)]
        try:
            self.said = "".join(process.communicate(timeout=LIMIT)[0] for process in started)
        finally:
            for process in started:
                process.terminate()
        self.statuses = [process.returncode for process in started]
        self.ways = set(re.findall(r"task (\d) reaches task (\d) over (\w+)", self.said))
        self.packets = {task: int(sent) for task, sent in re.findall(
            rf"task (\d), {WAY}, [^\n]*: (\d+) packets sent", self.said)}

    def __str__(self):
        return f"statuses {self.statuses}, ways {self.ways}, packets {self.packets}\n{self.said}"

    def is_right(self):
        return (not any(self.statuses) and self.ways == {("0", "1", WAY), ("1", "0", WAY)} and
                set(self.packets) == {"0", "1"} and min(self.packets.values()) >= 5)


def test_runs():
    loaded = table()
    check("the table is loaded",
          loaded == (0, f"{KEY}\t0\tn0\t@1:164,sn0\t-\n{KEY}\t1\tn1\t@1:165,sn0\t-\n", ""), loaded)
    run = by_hand(SAMPLE)
    check(f"the sample, a task on each of two nodes, over {WAY}",
          run.is_right() and "task 0 of 2: user space: right" in run.said and "task 1 of 2: user space: right" in run.said,
          run)
    for program in ("api_xfer polling", "api_sync interrupt"):
        run = by_hand(f"env API_SLOWNESS=4 {PROGRAMS}/{program}")
        check(f"{program} with the same table", run.is_right(), run)
        run = by_lapirun(f"env API_SLOWNESS=4 {PROGRAMS}/{program}")
        check(f"{program} under lapirun over the universe", run.is_right(), run)
    read = tool("lapi_ntbl", "read", node=1)
    check("the windows are free again", read == loaded, read)
    check("the table is unloaded", tool("lapi_ntbl", "unload", KEY) == (0, "", ""))
    loaded = table(nodes=(0, 0))
    check("a table of one node", loaded[0] == 0, loaded)
    run = by_hand(SAMPLE, nodes=(0,))
    check("the sample, both tasks on one node", run.is_right(), run)
    done = tool(RUN_US, KEY, "true", node=1)
    check("run_us says when no task is here", done[0] == 1 and "has no task on this node, n1" in done[2], done)
    tool("lapi_ntbl", "unload", KEY)


def test_refusals():
    table()
    environment = tool("lapi_ntbl", "env", KEY, "0")[1]
    for name, change, text in (
            ("the other task's window", "MP_LAPI_NETWORK=@1:165,sn0", "'165,sn0' is not reserved for task 0"),
            ("another job key", "MP_PARTITION=4712", "MP_PARTITION='4712': no network table of this job key"),
            ("a task of another node", "MP_CHILD=1", "this task is not on this node, n0, but on n1"),
            ("both statements", "MP_LAPI_INET_ADDR=@1:127.0.0.1,lo", "MP_LAPI_INET_ADDR")):
        done = tool("/bin/sh", "-c", f"{environment}\nexport {change}\nexec {SAMPLE}")
        check(f"LAPI_Init refuses {name}", done[0] == 1 and text in done[2] and "LAPI_Init" in done[2], done)
    tool("lapi_ntbl", "unload", KEY)
    done = tool(RUN_US, KEY, SAMPLE)
    check("run_us without a table", done[0] == 1 and f"no network table of MP_PARTITION='{KEY}'" in done[2], done)


def main():
    (FOLDER / "hosts").write_text("inky\npinky\n")
    booted = tool("lamboot", "-H", "-c", ROOT / "control/boot/settings/lam-conf.lamd", FOLDER / "hosts")
    check("lamboot", booted[0] == 0, booted)
    try:
        test_runs()
        test_refusals()
    finally:
        tool("lamhalt", "-H")
    left = [path.name for path in FOLDER.glob("lam-*")]
    check("nothing is left", not left, left)
    for path in FOLDER.iterdir():
        path.unlink()
    FOLDER.rmdir()
    return finish()


sys.exit(main())
