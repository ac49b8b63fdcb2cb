#!/usr/bin/env python3
"""RDMA ports in the network availability matrix of a universe, with a user space job: a port that fails is seen by
namstat, the job's tasks are told and go on over their other device, and it serves again. Runs inside the bed:

    tests/beds/soft-roce --devices 4 -- user_space_nam.py BUILD

A universe of two nodes, both this machine; task 0 has rxe0 and rxe2, task 1 rxe1 and rxe3. Prints TAP."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from paths_probe import LIMIT, Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
WITH_DEVICES = 'MP_LAPI_NETWORK=@2:1,rxe$PMIX_RANK:2,rxe$((PMIX_RANK + 2)) exec "$0" "$@"'
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="openlapi-nam-"))
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("LAM", "PMIX_", "LAPI_", "MP_"))}
ENVIRONMENT.update(LAM_MPI_SESSION_PREFIX=str(FOLDER), LAM_MPI_SSI_boot="local",
                   PATH=f"{BUILD}/control/tools:{os.environ['PATH']}")
NODES = ({}, {"LAM_MPI_SESSION_SUFFIX": "n1"})  # what the tools of a node's daemon need besides


def tool(*words, node=0):
    done = subprocess.run([str(word) for word in words], env=ENVIRONMENT | NODES[node], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    return done.returncode, done.stdout, done.stderr


def ports(node):
    """By node and port: why it is down; None: it is up. As namstat on that node says."""
    status, out, _ = tool("namstat", "--json", node=node)
    rows = json.loads(out)["nodes"]
    every = {(row["node"], adapter["name"]): adapter["reason"] for row in rows for adapter in row["adapters"]}
    every_up = all(adapter["state"] == "up" for row in rows for adapter in row["adapters"])
    return {key: reason for key, reason in every.items() if key[1].startswith("rxe")} if every_up == (status == 0) else {}


def all_ports(**reasons):
    return {(node, f"rxe{device}:1"): reasons.get(f"rxe{device}") for node in range(2) for device in range(4)}


def matrix_is(what, **reasons):
    for node in range(2):
        check(f"namstat on n{node}: {what}", wait_until(lambda on=node: ports(on) == all_ports(**reasons)),
              tool("namstat", "--json", node=node))
        status, out, err = tool("namstat", node=node)
        down = re.findall(r"^(n\d) .*: (rxe\d):1 \(.*\) is down since .*: (.*)$", out, re.MULTILINE)
        wanted = sorted((on, device, why) for on in ("n0", "n1") for device, why in reasons.items())
        check("and so it says to people", status == (1 if reasons else 0) and sorted(down) == wanted, out + err)


def start_job():
    """Two tasks under load, one on each node, which go on until they are told to end."""
    words = ["MP_EUILIB=us", "OPENLAPI_MODULES=verbs", "LAPI_USE_SHM=no", "MP_INFOLEVEL=2", "API_PATHS_TIMEOUT=60",
             f"OPENLAPI_LIBRARY_FOLDER={BUILD}/openlapi", "/bin/sh", "-c", WITH_DEVICES,
             str(BUILD / "tests/system/api_paths_probe"), "polling", "0"]
    job = Job([BUILD / "control/lapirun", "-n", "2", "n0-1", "env", *words], ENVIRONMENT)
    check("a job begins and goes on", job.begun and job.goes_on(2), job)
    return job


def followers():
    """By task, the processes that see a daemon's page."""
    done = subprocess.run("grep -lE ' r--s .*/lam-adapters' /proc/[0-9]*/maps 2>/dev/null", shell=True,
                          capture_output=True, text=True, check=False)
    every = [int(path.split("/")[2]) for path in done.stdout.split()]
    return {int(re.search(rb"\0PMIX_RANK=(\d+)", pathlib.Path(f"/proc/{process}/environ").read_bytes())[1]): process
            for process in every}


def link(state):
    subprocess.run(["ip", "link", "set", "rdma0", state], check=True)


def of_task(task, device):
    return rf"openlapi: task {task} to task {1 - task}: adapter 0 \(verbs, {device} [^\n]* "


def know(**reasons):
    """Whether all daemons do, sooner or later."""
    return wait_until(lambda: all(ports(node) == all_ports(**reasons) for node in range(2)))


class Stopped:
    """The tasks are, until the daemons know, so that no traffic can tell them before: task 1 first, which is to believe its
    daemon alone."""

    def __init__(self, tasks):
        self.tasks = tasks

    def __enter__(self):
        for task in (1, 0):
            os.kill(self.tasks[task], signal.SIGSTOP)

    def __exit__(self, *failure):
        for task in (0, 1):
            os.kill(self.tasks[task], signal.SIGCONT)


def says_who_has_told_it(job, tasks):
    """Of the changes of a second a task says the latest: on a slow machine that may be another one, so that the port fails once
    more."""
    told = of_task(1, "rxe1") + r"has failed: link down \(lamd\)"

    def fails_once_more():
        if re.search(told, job.said()):
            return True
        with Stopped(tasks):
            link("down")
            know(rxe0="port not active")
        goes_on = job.goes_on(2)
        link("up")
        know()
        return not goes_on

    return wait_until(fails_once_more) and re.search(told, job.said())


def test_a_port_fails_under_a_job():
    job = start_job()
    tasks = followers()
    check("both tasks see the page", sorted(tasks) == [0, 1], tasks)
    with Stopped(tasks):
        link("down")
        matrix_is("the port is not active", rxe0="port not active")
    check("the job goes on over the other devices", job.goes_on(2), job)
    check("the task of the device says that it has failed", job.has_said(of_task(0, "rxe0") + "has failed: "), job)
    link("up")
    matrix_is("the port is active again")
    check("and the other one who has told it", says_who_has_told_it(job, tasks), job)
    check("the device serves again", job.has_said(*(of_task(task, f"rxe{task}") + "serves again: " for task in range(2))), job)
    check("nothing is lost, doubled or wrong", job.goes_on(2) and job.ends_well(), job)


def test_a_device_is_taken_out():
    subprocess.run(["rdma", "link", "delete", "rxe3"], check=True)
    matrix_is("the device is removed", rxe3="removed")
    subprocess.run(["rdma", "link", "add", "rxe3", "type", "rxe", "netdev", "rdma3"], check=True)
    matrix_is("the device is there again")


def main():
    (FOLDER / "hosts").write_text("inky\npinky\n", encoding="utf-8")
    booted = tool("lamboot", "-H", "-c", ROOT / "control/boot/settings/lam-conf.lamd", FOLDER / "hosts")
    check("lamboot", booted[0] == 0, booted)
    try:
        matrix_is("all ports are active")
        test_a_port_fails_under_a_job()
        test_a_device_is_taken_out()
    finally:
        halted = tool("lamhalt", "-H")
    check("lamhalt", halted[0] == 0, halted)
    return finish()


sys.exit(main())
