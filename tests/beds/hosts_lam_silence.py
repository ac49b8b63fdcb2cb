#!/usr/bin/env python3
"""Who is dead and who only says nothing, over the rpi module `lapi` in an untouched LAM/MPI 7.1.4 on two hosts. Runs
inside the bed:

    lam_bed.py MODULES tests/beds/hosts 2 --sshd --share FOLDER -- hosts_lam_silence.py FOLDER

Prints TAP."""
import re
import sys
import time

sys.dont_write_bytecode = True
from hosts_lam import HOSTS, HostsLam  # noqa: E402
from hosts_programs import on, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402
from unpacked_lam import run  # noqa: E402

SILENCE = 10  # seconds, the least: until a process whose host does not answer either counts as dead
NOTICED = 11  # seconds after which a kernel ends connections that are not answered
OPTIONS = ["-ssi", "rpi_lapi_silence", SILENCE]
LOST = r"process 1 \(pid \d+ on node n1 of LAM\) is lost: neither it nor its host has answered"


def cut_off(host):
    """From everything but our ssh."""
    rules = ["add table inet cut"]
    for hook, port in (("input", "dport"), ("output", "sport")):
        rules += [f"add chain inet cut {hook} '{{ type filter hook {hook} priority 0; policy drop; }}'",
                  f"add rule inet cut {hook} tcp {port} 22 accept"]
    return on(host, " && ".join(f"nft {rule}" for rule in rules))


def test_a_stopped_process_lives(lam):
    survivor = lam.start_survivor("./lam_killed", "w", options=OPTIONS)
    stopped = wait_until(lambda: "T" in on(HOSTS[1], "ps -o state= -C lam_killed").out)
    check("a process is stopped", stopped, survivor.errors())
    time.sleep(2 * (SILENCE + NOTICED))  # far beyond what a silent host is given
    check("it is not dead", survivor.says() == "", survivor.errors())
    on(HOSTS[1], "pkill -CONT -x lam_killed")
    check("its message is received", survivor.says_until("class") == "class 0\n", survivor.errors())
    run(*lam.command("lamclean"))


def test_a_host_is_cut_off(lam):
    survivor = lam.start_survivor("./lam_killed", "d", options=OPTIONS)
    waits = wait_until(lambda: survivor.other_says() == "waits\n")
    done = cut_off(HOSTS[1])
    start = time.monotonic()
    check(f"{HOSTS[1]} is cut off", waits and done.status == 0, done)
    said = survivor.says_until("class")
    check("a receive from it is an error of MPI", said == "class 21\n", (said, survivor.errors()))
    check("whose cause is named", re.search(LOST, survivor.errors()), survivor.errors())
    print(f"# after {time.monotonic() - start:.0f} s", flush=True)
    on(HOSTS[1], "nft delete table inet cut")
    on(HOSTS[1], "pkill -KILL -x lam_killed")


def main():
    with HostsLam(sys.argv[1]) as lam:
        test_a_stopped_process_lives(lam)
        test_a_host_is_cut_off(lam)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
