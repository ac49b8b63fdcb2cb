#!/usr/bin/env python3
"""Hosts are added to a universe while a link of it fails. Runs inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_growth.py BUILD PROCESS-SCHEMA

A cable is pulled: of a node that has nothing to do with the new one, and of the one that takes it in. Afterwards the
universe works without that node, and hosts can be added again, its own as well. Prints TAP."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_filter import CONNECTS, Filter  # noqa: E402
from hosts_programs import FOLDER, Done, daemons, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
ORIGIN, CUT, NEW, OTHER = os.environ["HOSTS_NAMES"].split()
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1",
          "LAM_MPI_SSI_boot_rsh_agent": "ssh -o ConnectTimeout=2"}
GROW = f"-c {SCHEMA} -prefix {FOLDER} -cpu 2"
# The booting agent reaches the daemon at the first port; the node that takes it in would at another.
ALONE = f"""
    set first {{ type inet_service; flags dynamic; size 1; }}
    set others {{ type inet_service; flags dynamic; size 8; }}
    chain in {{ type filter hook input priority 0;
        tcp dport != 22 {CONNECTS} add @first {{ tcp dport }}
        tcp dport != 22 tcp dport != @first {CONNECTS} add @others {{ tcp dport }} drop
    }}
"""


class Pulled:
    """The cable of a host, as long as the block lasts."""

    def __init__(self, host):
        self.port = "port" + host.removeprefix("host")

    def set(self, state):
        subprocess.run(["/sbin/ip", "link", "set", self.port, state], check=True)

    def __enter__(self):
        self.set("down")

    def __exit__(self, *_):
        self.set("up")


def grow(host):
    return Done(["lamgrow", *GROW.split(), host], **REMOTE)


def members():
    return [line.split("\t")[1].split(":")[0] for line in Done(["lamnodes"]).out.splitlines() if "lost" not in line]


def check_universe(what, hosts):
    job = Done(["lapirun", "N", "hostname"])
    check(f"{what}: the universe is {', '.join(hosts)}", wait_until(lambda: sorted(members()) == sorted(hosts))
          and sorted(Done(["lapirun", "N", "hostname"]).out.split()) == sorted(hosts), (Done(["lamnodes"]), job))


def end_what_was_cut_off():
    """Its daemon has a universe of its own by then, or goes there."""
    ended = Done(["ssh", CUT, f"{FOLDER}/bin/tkill"])
    check("tkill on the host that was cut off", ended.status == 0 and not daemons([CUT]), (ended, daemons([CUT])))


def test_another_link():
    with Pulled(CUT):
        done = grow(NEW)
        check("a host is added while another one's cable is pulled", done.status == 0, done)
        check("which is lost", wait_until(lambda: sorted(members()) == [ORIGIN, NEW]), Done(["lamnodes"]))
        check_universe("without that host", [ORIGIN, NEW])
        done = grow(OTHER)
        check("one more is added", done.status == 0, done)
    end_what_was_cut_off()
    done = grow(CUT)
    check("the host is added again", done.status == 0, done)
    check_universe("with all hosts", [ORIGIN, CUT, NEW, OTHER])


def test_link_of_the_sponsor():
    """lamgrow on a host whose cable is pulled, while the new host's daemon waits for the one there."""
    said = FOLDER / "lamgrow"
    settings = " ".join(f"{name}='{value}'" for name, value in REMOTE.items())
    with Filter(NEW, ALONE, way=OTHER) as waiting:  # CUT does not reach it at once when its cable is back
        command = f"SHELL=/bin/bash PATH={FOLDER}/bin:$PATH {settings} lamgrow {GROW} {NEW}; echo status $?"
        Done(["ssh", CUT, f"({command}) </dev/null >{said} 2>&1 &"])
        check("a daemon waits for its sponsor", wait_until(lambda: waiting.count("others") > 0), said.read_text())
        with Pulled(CUT):
            check("the sponsor is cut off: the new host's daemon ends", wait_until(lambda: not daemons([NEW])),
                  daemons([NEW]))
            check_universe("the sponsor is cut off", [ORIGIN, OTHER])
    check("lamgrow there has failed", wait_until(lambda: "status 1" in said.read_text()), said.read_text())
    end_what_was_cut_off()
    for host in (NEW, CUT):
        done = grow(host)
        check(f"{host} is added", done.status == 0, done)
    check_universe("in the end", [ORIGIN, CUT, NEW, OTHER])


def main():
    install(BUILD)
    hosts = [ORIGIN, CUT]
    done = Done(["lamboot", "-c", SCHEMA, write_schema(hosts)], **REMOTE)
    check("a universe of two", done.status == 0, done)
    test_another_link()
    done = Done(["lamshrink", *[line.split("\t")[0] for line in Done(["lamnodes", "-c"]).out.splitlines()
                                if line.endswith(f"\t{NEW}")]])
    check("a host leaves", done.status == 0, done)
    test_link_of_the_sponsor()
    halted = Done(["lamhalt"])
    everywhere = [ORIGIN, CUT, NEW, OTHER]
    check("nothing is left on any host", halted.status == 0 and not daemons(everywhere), (halted, daemons(everywhere)))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
