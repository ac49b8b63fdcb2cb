#!/usr/bin/env python3
"""Jobs over hosts that have adapters on two networks. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_paths.py BUILD PROCESS-SCHEMA

The second network, whose subnet is the first in order, has a macvlan of each host's adapter. Prints TAP."""
import os
import sys

sys.dont_write_bytecode = True
from hosts_programs import Done, add_network, environment, install, on, write_schema  # noqa: E402
from paths_probe import Job, wait_until  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/api_paths_probe")
HOSTS = os.environ["HOSTS_NAMES"].split()
FIRST, SECOND = "10.9.0", "10.213.77"  # networks, in the order of their numbers
MANY = 10  # times ten operations


def job(seconds, **variables):
    settings = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
    return ["lapirun", "-n", "2", "n1,2", *settings, "-x", "MP_INFOLEVEL=2", PROBE, "polling", str(seconds)]


def opened(done):
    """The addresses of all adapters that the job has opened."""
    lines = [line for line in done.err.splitlines() if "0031-509" in line and " port " in line]
    return sorted(line.split(", ")[1].split(" ")[0] for line in lines)


def value(text, name):
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")]


def test_what_is_opened():
    both = [f"{network}.{number}" for network in (SECOND, FIRST) for number in (2, 3)]
    one = [f"{FIRST}.{number}" for number in (2, 3)]
    for variables, wanted in (({"MP_EUIDEVICE": "sn_all"}, both), ({"MP_EUIDEVICE": "sn_single"}, one),
                              ({"MP_EUIDEVICE": "sn_all", "MP_INSTANCES": "max"}, both),
                              ({"MP_INSTANCES": "2"}, one)):
        done = Done(job(0.2, **variables))
        check(f"{variables}: the adapters are opened", done.status == 0 and opened(done) == sorted(wanted), done)
        check(f"{variables}: nothing is wrong", value(done.out, "wrong") == [0], done)


def test_the_loopback_leads_to_no_other_host():
    done = Done(job(0.2, MP_EUIDEVICE="lo"))
    check("the loopback is refused", done.status != 0 and "MP_EUIDEVICE='lo' leads to tasks of this machine only, and 1 of "
          "the job's 2 are on others; present: lo (127.0.0.1), " in done.err, done)


def running_job():
    """Until it is told to end."""
    running = Job(job(0, MP_EUIDEVICE="sn_all", API_PATHS_TIMEOUT="60"), environment())
    check("a job begins and goes on", running.begun and running.goes_on(MANY), running)
    return running


def test_a_network_fails():
    running = running_job()
    for task, host in enumerate(HOSTS[1:]):
        line = rf"task {task} to task {1 - task}: adapter \d \(udp, {FIRST}\.\d+ .* "
        on(host, "ip link set more down")
        check(f"a network fails at {host}: that is told", running.has_said(line + "has failed: "), running)
        check("and the job goes on", running.goes_on(MANY), running)
        on(host, "ip link set more up")
        check("the network serves again", running.has_said(line + "serves again: "), running)
    check("a network that fails at each host in turn loses nothing", running.ends_well(), running)
    second = [line for line in running.said().splitlines() if f"udp, {SECOND}." in line and "packets sent" in line]
    check("the other network has carried packets", len(second) == 2 and not any(": 0 packets" in line for line in second),
          (second, running))


def test_addresses_change():
    """At each host in turn, under the eyes of the daemons."""
    running = running_job()
    for number, host in list(enumerate(HOSTS, 1))[1:]:
        on(host, f"ip address del {FIRST}.{number}/24 dev more; ip address add {FIRST}.{number + 100}/24 dev more")
        address = rf"{FIRST}\.{number + 100}"
        check(f"both tasks say that {FIRST}.{number} is another one now", running.has_said(
            *(rf"task {task}: .* has another address: {address} port " for task in range(2))), running)
        check("the job goes on, and packets leave over it", uses(running, host), running)
    check("an address that changes at each host in turn loses nothing", running.ends_well(), running)
    # In this order: an address that is added to one of its network goes when that goes.
    for number, host in list(enumerate(HOSTS, 1))[1:]:
        on(host, f"ip address del {FIRST}.{number + 100}/24 dev more; ip address add {FIRST}.{number}/24 dev more")
        there = on(host, "ip -brief -4 address show dev more").out.split()
        check(f"{host} has its address again", there[2:] == [f"{FIRST}.{number}/24"], there)


def uses(running, host):
    """Whether packets leave over its adapter of the first network, sooner or later; probes of a path that is silent are rare."""
    def sent():
        return int(on(host, "cat /sys/class/net/more/statistics/tx_packets").out)

    def leave():
        before = sent()
        return not running.goes_on(2) or sent() - before >= 20

    return wait_until(leave) and not running.has_ended()


def test_a_network_is_down_at_one_host_from_the_beginning():
    on(HOSTS[2], "ip link set more down")
    for nodes in ("n1,2", "n2,1"):
        words = job(0.2, MP_EUIDEVICE="sn_all")
        words[3] = nodes
        done = Done(words)
        check(f"{nodes}: the other network connects the hosts", done.status == 0 and value(done.out, "wrong") == [0], done)
    # Of two networks with an adapter each the host that has both would take the first.
    for variables in ({"MP_EUIDEVICE": "sn_single"}, {"MP_INSTANCES": "2"}):
        done = Done(job(0.2, **variables, API_PATHS_TIMEOUT="10"))
        check(f"{variables}: all tasks take the network that is up at every host", done.status == 0 and
              value(done.out, "wrong") == [0] and opened(done) == [f"{SECOND}.2", f"{SECOND}.3"], done)
    on(HOSTS[2], "ip link set more up")


def main():
    install(BUILD)
    add_network(FIRST, HOSTS)
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    test_what_is_opened()
    test_the_loopback_leads_to_no_other_host()
    test_a_network_is_down_at_one_host_from_the_beginning()
    test_a_network_fails()
    test_addresses_change()
    check("the universe ends", Done(["lamhalt"]).status == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
