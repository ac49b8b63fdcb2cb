#!/usr/bin/env python3
"""Links that fail while a universe is booted, or grows: between two daemons alone, and of a host as a whole. Runs inside
the bed:

    tests/beds/hosts 4 --sshd -- hosts_links.py BUILD PROCESS-SCHEMA

Whatever fails, nothing is left on any host, and the next lamboot or lamgrow works. Prints TAP."""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_filter import CONNECTS, Filter  # noqa: E402
from hosts_programs import FOLDER, Done, daemons, environment, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
HOSTS = os.environ["HOSTS_NAMES"].split()
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1",
          "LAM_MPI_SSI_boot_rsh_agent": "ssh -o ConnectTimeout=2"}
ORIGIN = "10.213.77.1"
# Connections of the startup protocol, in both directions, come first; then those between daemons.
DAEMONS_ALONE = f"""
    set told {{ type ipv4_addr; flags dynamic; size 8; }}
    chain in {{ type filter hook input priority 0;
        ip saddr {ORIGIN} tcp dport != 22 {CONNECTS} add @told {{ ip saddr }}
    }}
    chain out {{ type filter hook output priority 0;
        ip daddr @told {CONNECTS} drop
    }}
"""
# The host hears nothing more from the origin when its daemon begins to connect there.
WHOLE_HOST = f"""
    set told {{ type ipv4_addr; flags dynamic; size 8; }}
    set cut {{ type ipv4_addr; flags dynamic; size 8; }}
    chain in {{ type filter hook input priority 0;
        ip saddr @cut drop
        ip saddr {ORIGIN} tcp dport != 22 {CONNECTS} add @told {{ ip saddr }}
    }}
    chain out {{ type filter hook output priority 0;
        ip daddr @told {CONNECTS} add @cut {{ ip daddr }}
        ip daddr @cut drop
    }}
"""
# Of a daemon that joins: the agent reaches it at the first port, its sponsor would at the second.
SPONSOR_ALONE = f"""
    set first {{ type inet_service; flags dynamic; size 1; }}
    chain in {{ type filter hook input priority 0;
        tcp dport != 22 {CONNECTS} add @first {{ tcp dport }}
        tcp dport != 22 tcp dport != @first {CONNECTS} drop
    }}
"""


def lamboot():
    return Done(["lamboot", "-v", "-c", SCHEMA, write_schema(HOSTS)], **REMOTE)


def check_works(what):
    done = lamboot()
    job = Done(["lapirun", "N", "hostname"])
    check(f"{what}: the next lamboot works at once", done.status == 0 and sorted(job.out.split()) == HOSTS, (done, job))
    halted = Done(["lamhalt"])
    check(f"{what}: and lamhalt leaves nothing", halted.status == 0 and not daemons(HOSTS), (halted, daemons(HOSTS)))


def test_failed_boots():
    with Filter(HOSTS[2], DAEMONS_ALONE):
        done = lamboot()
        check("a daemon that cannot reach the origin's fails the boot, and is named", done.status == 1
              and "lamboot: n2 (host2): its daemon has ended" in done.err and "n0 (" not in done.err
              and "are ended again" in done.err and "is booted" not in done.out, done)
        check("a daemon that cannot reach the origin's: nothing is left on any host", not daemons(HOSTS), daemons(HOSTS))
    check_works("a daemon that cannot reach the origin's")
    with Filter(HOSTS[2], WHOLE_HOST):
        done = lamboot()
        check("a host that is cut off fails the boot, and is named as not reached", done.status == 1
              and "Not reached, so tkill there ends what is left: n2 (host2)" in done.err and "n1 (" not in done.err, done)
        others = [host for host in HOSTS if host != HOSTS[2]]
        check("a host that is cut off: nothing is left on the others", not daemons(others), daemons(others))
    check("a host that is cut off: its daemon has ended by itself", wait_until(lambda: not daemons([HOSTS[2]])),
          daemons([HOSTS[2]]))
    check_works("a host that is cut off")


def lamgrow(host):
    return ["lamgrow", "-c", SCHEMA, "-prefix", str(FOLDER), "-cpu", "2", host]


def test_failed_growth():
    *first, spare, new = HOSTS
    done = Done(["lamboot", "-c", SCHEMA, write_schema(first)], **REMOTE)
    check("a universe of two", done.status == 0, done)
    with Filter(new, SPONSOR_ALONE):
        done = Done(lamgrow(new), **REMOTE)
        check("a daemon that its sponsor cannot reach is not added, and named", done.status == 1
              and f"({new}) is not in the universe: " in done.err, done)
        check("it ends with lamgrow", wait_until(lambda: not daemons([new]), 10), daemons([new]))
        done = Done(lamgrow(spare), **REMOTE)
        check("lamgrow of another host is accepted at once", done.status == 0, done)
        done = Done(["lamshrink", "n2"])
        check("which leaves again", done.status == 0, done)
    done = Done(lamgrow(new), **REMOTE)
    check("lamgrow of the same host is accepted at once", done.status == 0, done)
    done = Done(["lamshrink", "n2"])
    check("and leaves, too", done.status == 0, done)
    test_killed_lamgrow(spare, new)
    job = Done(["lapirun", "N", "hostname"])
    check("the universe is as it was", sorted(job.out.split()) == sorted([*first, new]), job)
    halted = Done(["lamhalt"])
    check("growth: nothing is left on any host", halted.status == 0 and not daemons(HOSTS), daemons(HOSTS))


def test_killed_lamgrow(spare, new):
    """While the daemon that it has booted waits for a sponsor that does not come."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Filter(spare, SPONSOR_ALONE):
            with subprocess.Popen(lamgrow(spare), env=environment(**REMOTE), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as grow:
                wait_until(lambda: grow.poll() is not None or f"\t{spare}:" in Done(["lamnodes"]).out)
                seen = Done(["lamnodes"])
                grow.send_signal(number)
                check("a node that is half in the universe", f"\t{spare}:" in seen.out, (seen, grow.stderr.read()))
            check(f"signal {number} to lamgrow: its daemon ends", wait_until(lambda: not daemons([spare]), 10),
                  daemons([spare]))
            listed = Done(["lamnodes"])
            check(f"signal {number} to lamgrow: the node is out", spare not in listed.out, listed)
    done = Done(lamgrow(new), **REMOTE)
    check("killed lamgrow: the next one is accepted", done.status == 0, done)


def main():
    install(BUILD)
    test_failed_boots()
    test_failed_growth()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
