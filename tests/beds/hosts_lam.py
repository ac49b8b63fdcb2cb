#!/usr/bin/env python3
"""MPI programs over the rpi module `lapi` in an untouched LAM/MPI 7.1.4 on two hosts, over UDP. Runs inside the bed:

    lam_bed.py MODULES tests/beds/hosts 2 --sshd --share FOLDER -- hosts_lam.py FOLDER

Prints TAP."""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
PACKAGES = pathlib.Path(__file__).resolve().parents[1] / "packages"
sys.path.append(str(PACKAGES))
from hosts_programs import add_network, on  # noqa: E402
from lam_lapi_jobs import LapiLam, Stream  # noqa: E402
from unpacked_lam import run  # noqa: E402
from tap import check, finish  # noqa: E402

HOSTS = os.environ["HOSTS_NAMES"].split()
TIMEOUT = 10  # seconds, the least: until a process of another host counts as dead
BOTH = ["MP_EUIDEVICE=sn_all", "MP_INFOLEVEL=2"]


class HostsLam(LapiLam):
    """Booted over all hosts, by their common user."""

    def __init__(self, folder):
        super().__init__("", folder=folder, account="booter", hosts=[f"{host} cpu=1" for host in HOSTS],
                         LAMRSH=f"{folder}/home/agent", TMPDIR="/tmp")
        agent = self.home / "agent"
        exported = "; ".join(f"export {name}='{value}'" for name, value in self.environment().items() if name != "LAMRSH")
        agent.write_text("#!/bin/bash\n" 'host=$1; shift; [ "$1" = -n ] && shift\n'
                         f'exec ssh -x -n -o BatchMode=yes "$host" "{exported}; cd; $*"\n')
        agent.chmod(0o755)


def same_as_over_tcp(lam, what, sizes, programs=("./lam_messages", "./lam_fortran")):
    for program in programs:
        for processes in sizes:
            expected = lam.mpirun(processes, program, rpi="tcp")
            done = lam.run_lapi(processes, program)
            check(f"{what}: {program}, {processes} processes", done.returncode == 0 and done.stdout == expected
                  and len(expected.splitlines()) > processes, f"{done}, not {expected}")


def test_jobs_that_connect(lam):
    """Each with processes on both hosts."""
    jobs = ((2, 3), "./lam_connect", "cccccccccc")
    expected = lam.connected_jobs(*jobs, ["-ssi", "rpi", "tcp"])
    said = lam.connected_jobs(*jobs, lam.parameters())
    check("jobs that connect", said == expected and len(said[0].splitlines()) == 10, (said, expected))


def lose(share):
    """So many in a hundred datagrams are lost on their way in, on each host; 0: no more."""
    add = (f"nft add table inet lossy && nft add chain inet lossy in '{{ type filter hook input priority 0; }}' && "
           f"nft add rule inet lossy in meta l4proto udp numgen random mod 100 '<' {share} drop")
    for host in HOSTS:
        done = on(host, add if share else "nft delete table inet lossy")
        check(f"{host} loses {share} %", done.status == 0, done)


def test_a_path_is_killed(lam):
    add_network("10.9.0", HOSTS)
    stream = Stream(lam, 4, BOTH)
    time.sleep(1)
    down = on(HOSTS[1], "ip link set more down")
    status, out, err = stream.end()
    check("one of two paths is killed: nothing is lost", down.status == 0 and status == 0 and out == "begun\nwrong 0\n",
          (status, out, err))
    sent = re.search(r"task 0, udp, 10\.9\.0\.1: (\d+) packets sent", err)
    check("and both were in use", sent and int(sent[1]) > 1000, err)


def test_strangers(lam):
    stream = Stream(lam, 5, ["MP_INFOLEVEL=2"])
    said = [on(host, f"python3 {PACKAGES}/lam_strangers.py lam_stream").out.split() for host in HOSTS]
    status, out, err = stream.end()
    check("strangers' datagrams change nothing", status == 0 and out == "begun\nwrong 0\n" and all(
        len(said_here) == 2 and int(said_here[0]) > 0 for said_here in said), (said, status, out, err))
    counts = [int(count) for count in re.findall(r"(\d+) packets were from nobody of its job", err)]
    check("and are counted", len(counts) == 2 and min(counts) > 0, err)


def test_a_killed_process(lam, what, kinds, options=(), is_told=False):
    for kind in kinds:
        start = time.monotonic()
        said = lam.survivor_says("./lam_killed", kind, [], options=options)
        check(f"a process of the other host is killed, {kind}, {what}: an error of MPI",
              re.fullmatch(r"class [1-9]\d*\n", said), f"{said}, {time.monotonic() - start} s")
        errors = lam.survivors_errors()
        check(f"and its port has told it: {is_told}", bool(re.search("is lost: it has ended$", errors, re.M)) == is_told,
              errors)
        run(*lam.command("lamclean"))


def test_a_killed_process_of_a_silent_host(lam):
    """It does not tell that the port is closed at which the process was."""
    done = on(HOSTS[1], "nft add table inet silent && nft add chain inet silent in "
                        "'{ type filter hook input priority 0; }' && "
                        "nft add rule inet silent in tcp dport 32768-60999 drop")
    check(f"{HOSTS[1]} does not answer", done.status == 0, done)
    test_a_killed_process(lam, "after the time-out", "r", ["-ssi", "rpi_lapi_timeout", TIMEOUT])
    on(HOSTS[1], "nft delete table inet silent")


def test_a_killed_daemon(lam):
    """LAM itself does not survive it, and mpirun would wait for ever."""
    with subprocess.Popen(["ssh", HOSTS[1], "sleep 2; pkill -KILL -x lamd"]) as killer:
        said = lam.survivor_says("./lam_stream", 5, options=["-ssi", "rpi_lapi_timeout", TIMEOUT], last="wrong")
    left = [on(host, "pgrep -fx '.*lam_stream 5'").out for host in HOSTS]
    check("lamd is killed: no process of the job hangs", killer.returncode == 0 and said.startswith("begun\n")
          and not any(left), (killer.returncode, said, left))
    on(HOSTS[0], "pkill -KILL -x lamd")


def test_a_daemon_killed_with_its_process(lam):
    """Nobody but the host itself can tell of it."""
    start = time.monotonic()
    with subprocess.Popen(["ssh", HOSTS[1], "sleep 2; pkill -KILL -x lamd; pkill -KILL -x lam_killed"]) as killer:
        said = lam.survivor_says("./lam_killed", "d")
    check("lamd is killed with a process: an error of MPI", killer.returncode == 0 and said == "class 21\n",
          f"{killer.returncode}, {said}, {time.monotonic() - start} s")
    on(HOSTS[0], "pkill -KILL -x lamd")


def main():
    with HostsLam(sys.argv[1]) as lam:
        same_as_over_tcp(lam, "two hosts", (2, 4, 8))
        test_jobs_that_connect(lam)
        test_strangers(lam)
        test_a_path_is_killed(lam)
        lose(2)
        same_as_over_tcp(lam, "2 % loss", (2, 4))
        lose(0)
        test_a_killed_process(lam, "as its host tells", "rsa", is_told=True)
        test_a_killed_process_of_a_silent_host(lam)
        test_a_killed_daemon(lam)
    with HostsLam(sys.argv[1]) as lam:
        test_a_daemon_killed_with_its_process(lam)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
