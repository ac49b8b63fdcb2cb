#!/usr/bin/env python3
"""Jobs over hosts that have two adapters on one network, which fail at different ends. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_cross.py BUILD PROCESS-SCHEMA

Both adapters are macvlans of the host's own, in one subnet. Prints TAP."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_programs import Done, environment, install, on, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/api_paths_probe")
HOSTS = os.environ["HOSTS_NAMES"].split()
NETWORK = "10.9.0"
ADAPTERS = {"one": 0, "two": 100}  # by name: what is added to the host's number
OUTAGE = 4  # seconds; nothing else takes half of that


def connect():
    """As lapi(7) says of several adapters of one subnet: each answers for its own address only."""
    for number, host in enumerate(HOSTS, 1):
        parent = "bridge" if host == HOSTS[0] else "eth0"
        script = "sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2"
        for name, first in ADAPTERS.items():
            script += (f" && ip link add name {name} link {parent} type macvlan mode bridge"
                       f" && ip address add {NETWORK}.{first + number}/24 dev {name} && ip link set {name} up")
        done = on(host, script)
        check(f"{host} has two adapters on one network", done.status == 0, done)


def job(seconds):
    return ["lapirun", "-n", "2", "n1,2", "-x", "MP_INSTANCES=2", "-x", "MP_INFOLEVEL=2", PROBE, "polling", str(seconds)]


def value(text, name):
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")]


def sent(host):
    """Packets that have left over each of its adapters."""
    return [int(on(host, f"cat /sys/class/net/{name}/statistics/tx_packets").out) for name in ADAPTERS]


def run_while(seconds, scripts):
    """The job, and meanwhile one script on each of the last hosts."""
    process = subprocess.Popen(job(seconds), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    begun = process.stdout.readline()
    spoilers = [subprocess.Popen(["ssh", host, script], env=environment()) for host, script in zip(HOSTS[1:], scripts)]
    out, err = process.communicate(timeout=90)
    for spoiler in spoilers:
        spoiler.wait(timeout=60)
    return process.returncode, begun + out, err


def test_packets_leave_over_their_own_adapter():
    before = {host: sent(host) for host in HOSTS[1:]}
    done = Done(job(2))
    check("a job over both", done.status == 0 and value(done.out, "wrong") == [0], done)
    for host in HOSTS[1:]:
        more = [after - former for after, former in zip(sent(host), before[host])]
        check(f"{host}: packets leave over the adapter that has their address", min(more) > 50, (more, done.err))


def test_different_adapters_are_dead_at_the_two_ends():
    status, out, err = run_while(OUTAGE + 3, [f"sleep 1; ip link set {name} down; sleep {OUTAGE}; ip link set {name} up"
                                              for name in ADAPTERS])
    check("nothing is lost when different adapters fail at the two ends", status == 0 and value(out, "wrong") == [0],
          (status, out, err))
    slowest = value(out, "slowest")
    check("the adapters that are left reach each other", slowest and slowest[0] < OUTAGE * 1e6 / 2, (out, err))


def test_a_path_that_loses_long_packets():
    lose = ("nft add table ip bed && nft add chain ip bed arrivals '{ type filter hook input priority 0; }' && "
            "nft add rule ip bed arrivals iifname one meta length gt 1000 drop")
    status, out, err = run_while(6, ["true", f"sleep 1; {lose}"])
    check("a path that loses only long packets is left", status == 0 and value(out, "wrong") == [0] and
          value(out, "operations")[0] > 100, (status, out, err))
    check("its failure is told", "has failed: no answer" in err, (out, err))
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
