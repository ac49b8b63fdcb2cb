#!/usr/bin/env python3
"""Ordinary users on the hosts of a universe, as it is booted. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_strangers.py BUILD PROCESS-SCHEMA [TIMES]

10,000 connections that say nothing and 1,000 that say a byte now and then come to whatever daemons and booting agents
listen to, most of them on the origin, each from its host's own address; one that is sent away comes again after a second.
Whichever algorithm has booted the universe, its tools work on every host. Prints TAP, and how long boots took with and
without strangers."""
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, environment, install, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
TIMES = int(sys.argv[3]) if len(sys.argv) > 3 else 1
HOSTS = os.environ["HOSTS_NAMES"].split()
LIMIT = 100  # seconds; only what hangs needs them
IDLE = dict.fromkeys(HOSTS, 2_000) | {HOSTS[0]: 10_000 - 2_000 * (len(HOSTS) - 1)}
TALKING = {host: idle // 10 for host, idle in IDLE.items()}
NOBODY = 65534
# A degree of 1 takes a helper, which strangers come to as well.
ALGORITHMS = {"linear": {}, "linear_windowed": {}, "tree": {"LAM_MPI_SSI_boot_base_tree_degree": "1"}, "thread": {}}


def run(*words, **variables):
    return subprocess.run([*map(str, words)], env=environment(**variables), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT, check=False)


def on(host, *words):
    return run("ssh", host, f"PATH={FOLDER}/bin:$PATH", *words)


class Strangers:
    """On every host; they end with their standard input."""

    def __enter__(self):
        self.processes = []
        for host in HOSTS:
            words = ["prlimit", f"--nofile={IDLE[host] + TALKING[host] + 100}", "setpriv", "--reuid", NOBODY, "--regid",
                     NOBODY, "--clear-groups", FOLDER / "bin/strangers", IDLE[host], TALKING[host], 22]
            process = subprocess.Popen(["ssh", host, *map(str, words)], env=environment(), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            self.processes.append(process)
            assert process.stdout.readline() == "here\n", host
        return self

    def __exit__(self, *_):
        self.begun = []
        for process in self.processes:
            process.stdin.close()
            self.begun.append(int(process.stdout.read()))
            process.wait(LIMIT)


def boot_and_halt(what, algorithm, last):
    """Ended by a tool on host `last`. Returns the seconds that the boot took."""
    start = time.monotonic()
    booted = run("lamboot", "-c", SCHEMA, write_schema(HOSTS), LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1",
                 LAM_MPI_SSI_boot_base_algorithm=algorithm, **ALGORITHMS[algorithm])
    seconds = time.monotonic() - start
    check(f"three hosts, {algorithm}, {what}", booted.returncode == 0, booted)
    for host in HOSTS:
        nodes, job = on(host, "lamnodes", "-c", "-n"), on(host, "lapirun", "N", "hostname")
        check(f"three hosts, {algorithm}, {what}: tools on {host}", nodes.stdout.split() == HOSTS
              and sorted(job.stdout.split()) == HOSTS, (nodes, job))
    halted = on(last, "lamhalt", "-v", "-H")
    check(f"three hosts, {algorithm}, {what}: lamhalt on {last}", halted.stdout == "3 of 3 daemons have ended\n", halted)
    return seconds


install(BUILD)
(FOLDER / "bin/strangers").symlink_to(BUILD / "tests/beds/strangers")
for number, chosen in enumerate(ALGORITHMS):
    alone, among, end = [], [], HOSTS[number % len(HOSTS)]
    for _ in range(TIMES):
        alone.append(boot_and_halt("nobody else", chosen, end))
        with Strangers() as strangers:
            among.append(boot_and_halt("among strangers", chosen, end))
        check(f"{chosen}: strangers came on every host", all(strangers.begun), strangers.begun)
    print(f"# {chosen}: booted in {statistics.median(alone):.2f} s, among strangers in {statistics.median(among):.2f} s "
          f"(at most {max(alone):.2f} and {max(among):.2f}); connections begun on each host in all: {strangers.begun}",
          flush=True)
sys.exit(finish())
