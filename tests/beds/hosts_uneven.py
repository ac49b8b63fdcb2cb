#!/usr/bin/env python3
"""Jobs over hosts of which one has three adapters on a network and the other one a single one. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_uneven.py BUILD PROCESS-SCHEMA

All adapters are macvlans of the host's own, in one subnet. Prints TAP."""
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
RICH, POOR = HOSTS[1], HOSTS[2]
NETWORK = "10.9.0"
ADAPTERS = {RICH: {"one": 2, "two": 102, "three": 202}, POOR: {"one": 3}}  # by name: the host's number there
ROLES = {"the host with three adapters begins": "n1,2", "the host with one adapter begins": "n2,1"}


def connect():
    for host, adapters in ADAPTERS.items():
        done = add_adapters(host, "eth0", {name: f"{NETWORK}.{number}" for name, number in adapters.items()})
        check(f"{host} has {len(adapters)} adapters on the network", done.status == 0, done)


def running_job(nodes):
    """Until it is told to end."""
    running = Job(["lapirun", "-n", "2", nodes, "-x", "MP_INSTANCES=3", "-x", "MP_EUIDEVICE=sn_single", "-x", "MP_INFOLEVEL=2",
                   "-x", "API_PATHS_TIMEOUT=60", PROBE, "polling", "0"], environment())
    check("a job over both begins and goes on", running.begun and running.goes_on(), running)
    return running


def sent():
    """Packets that have left over each of the three."""
    return {name: packets_sent(RICH, name) for name in ADAPTERS[RICH]}


def most_used(running):
    """The adapter over which most packets leave while the job goes on."""
    before = sent()
    went_on = running.goes_on(5)
    after = sent()
    return max(after, key=lambda name: after[name] - before[name]) if went_on else None


def test_adapters_fail_one_after_the_other(role, nodes):
    running = running_job(nodes)
    check(f"{role}: the pair carries all", wait_until(lambda: most_used(running) in ("one", None)) and running.goes_on(), running)
    on(RICH, "ip link set one down")
    second = most_used(running)
    check(f"{role}: another adapter takes over from the first", second in ("two", "three"), (second, running))
    check(f"{role}: both is told", running.has_said(r"adapter 0 \(udp, 10\.9\.0\.2 .* has failed: .*; messages take adapter \d"),
          running)
    on(RICH, f"ip link set {second} down")
    last = most_used(running)
    check(f"{role}: and the last from that", last == ({"two", "three"} - {second}).pop(), (last, running))
    for name in ADAPTERS[RICH]:
        on(RICH, f"ip link set {name} up")
    check(f"{role}: all serve again, and the pair is used", wait_until(lambda: most_used(running) in ("one", None)) and
          running.goes_on(), running)
    check(f"{role}: nothing is lost when adapters without a pair take over", running.ends_well(), running)


def test_the_pair_passes_nothing(role, nodes):
    """Without a word of it."""
    running = running_job(nodes)
    on(RICH, "nft add table ip bed && nft add chain ip bed arrivals '{ type filter hook input priority 0; }' && "
             "nft add rule ip bed arrivals iifname one drop")
    check(f"{role}: a silent pair is left", running.goes_on(10) and most_used(running) in ("two", "three"), running)
    on(RICH, "nft delete table ip bed")
    check(f"{role}: and used again", wait_until(lambda: most_used(running) in ("one", None)), running)
    check(f"{role}: nothing is lost when the pair passes nothing", running.ends_well(), running)


def main():
    install(BUILD)
    connect()
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    for role, nodes in ROLES.items():
        test_adapters_fail_one_after_the_other(role, nodes)
        test_the_pair_passes_nothing(role, nodes)
    check("the universe ends", Done(["lamhalt"]).status == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
