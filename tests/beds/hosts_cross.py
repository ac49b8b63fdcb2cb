#!/usr/bin/env python3
"""Jobs over hosts that have two adapters on one network, which fail at different ends. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_cross.py BUILD PROCESS-SCHEMA

Both adapters are macvlans of the host's own, in one subnet. Prints TAP."""
import os
import sys

sys.dont_write_bytecode = True
from hosts_adapters import add_adapters, packets_sent  # noqa: E402
from hosts_programs import Done, environment, install, on, write_schema  # noqa: E402
from paths_probe import Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/api_paths_probe")
HOSTS = os.environ["HOSTS_NAMES"].split()
NETWORK = "10.9.0"
ADAPTERS = {"one": 0, "two": 100}  # by name: what is added to the host's number


def connect():
    for number, host in enumerate(HOSTS, 1):
        parent = "bridge" if host == HOSTS[0] else "eth0"
        done = add_adapters(host, parent, {name: f"{NETWORK}.{first + number}" for name, first in ADAPTERS.items()})
        check(f"{host} has two adapters on one network", done.status == 0, done)


def running_job():
    """Until it is told to end."""
    running = Job(["lapirun", "-n", "2", "n1,2", "-x", "MP_INSTANCES=2", "-x", "MP_INFOLEVEL=2", "-x", "API_PATHS_TIMEOUT=60",
                   PROBE, "polling", "0"], environment())
    check("a job over both begins and goes on", running.begun and running.goes_on(), running)
    return running


def sent(host):
    """Packets that have left over each of its adapters."""
    return [packets_sent(host, name) for name in ADAPTERS]


def test_packets_leave_over_their_own_adapter():
    before = {host: sent(host) for host in HOSTS[1:]}
    running = running_job()

    def more():
        return {host: [after - former for after, former in zip(sent(host), before[host])] for host in HOSTS[1:]}

    wait_until(lambda: not running.goes_on() or min(min(counts) for counts in more().values()) > 50)
    for host, counts in more().items():
        check(f"{host}: packets leave over the adapter that has their address", min(counts) > 50, (counts, running))
    check("nothing is lost over both", running.ends_well(), running)


def test_different_adapters_are_dead_at_the_two_ends():
    running = running_job()
    for host, name in zip(HOSTS[1:], ADAPTERS):
        on(host, f"ip link set {name} down")
    check("the adapters that are left reach each other", running.goes_on(5), running)
    for host, name in zip(HOSTS[1:], ADAPTERS):
        on(host, f"ip link set {name} up")
    check("nothing is lost when different adapters fail at the two ends", running.ends_well(), running)


def test_a_path_that_loses_long_packets():
    running = running_job()
    on(HOSTS[2], "nft add table ip bed && nft add chain ip bed arrivals '{ type filter hook input priority 0; }' && "
                 "nft add rule ip bed arrivals iifname one meta length gt 1000 drop")
    check("the failure of a path that loses long packets is told", running.has_said("has failed: no answer"), running)
    check("it is left", running.goes_on(10) and running.ends_well(), running)
    on(HOSTS[2], "nft delete table ip bed")


def main():
    install(BUILD)
    connect()
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    test_packets_leave_over_their_own_adapter()
    test_different_adapters_are_dead_at_the_two_ends()
    test_a_path_that_loses_long_packets()
    check("the universe ends", Done(["lamhalt"]).status == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
