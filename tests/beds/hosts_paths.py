#!/usr/bin/env python3
"""Jobs over hosts that have adapters on two networks. Runs inside the bed:

    tests/beds/hosts 3 --sshd -- hosts_paths.py BUILD PROCESS-SCHEMA

The second network, whose subnet is the first in order, has a macvlan of each host's adapter. Prints TAP."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_programs import Done, add_network, environment, install, on, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/api_paths_probe")
HOSTS = os.environ["HOSTS_NAMES"].split()
FIRST, SECOND = "10.9.0", "10.213.77"  # networks, in the order of their numbers


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


def test_a_network_fails():
    process = subprocess.Popen(job(6, MP_EUIDEVICE="sn_all"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment())
    begun = process.stdout.readline()
    for host in HOSTS[1:]:
        on(host, "sleep 0.5; ip link set more down; sleep 0.7; ip link set more up")
    out, err = process.communicate(timeout=60)
    check("the job begins", begun == "begun 0\n", (begun, out, err))
    check("a network that fails at each host in turn loses nothing", process.returncode == 0 and
          value(out, "wrong") == [0] and value(out, "operations")[0] > 100, (process.returncode, out, err))
    second = [line for line in err.splitlines() if f"udp, {SECOND}." in line and "packets sent" in line]
    check("the other network has carried packets", len(second) == 2 and not any(": 0 packets" in line for line in second),
          (second, err))


def test_addresses_change():
    """At each host in turn, under the eyes of the daemons."""
    process = subprocess.Popen(job(6, MP_EUIDEVICE="sn_all"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment())
    begun = process.stdout.readline()
    for number, host in list(enumerate(HOSTS, 1))[1:]:
        on(host, f"sleep 0.5; ip address del {FIRST}.{number}/24 dev more; "
                 f"ip address add {FIRST}.{number + 100}/24 dev more; sleep 1")
    out, err = process.communicate(timeout=60)
    check("the job begins", begun == "begun 0\n", (begun, out, err))
    check("an address that changes at each host in turn loses nothing", process.returncode == 0 and
          value(out, "wrong") == [0] and value(out, "operations")[0] > 100, (process.returncode, out, err))
    for number in range(2, len(HOSTS) + 1):
        told = [line for line in err.splitlines() if f" has another address: {FIRST}.{number + 100} port " in line]
        check(f"both tasks say that {FIRST}.{number} is another one now", len(told) == 2, err)
        used = [line for line in err.splitlines() if f"udp, {FIRST}.{number + 100}: " in line and " sent, " in line]
        check(f"and {FIRST}.{number + 100} has carried packets", len(used) == 1 and ": 0 packets" not in used[0], err)
    # In this order: an address that is added to one of its network goes when that goes.
    for number, host in list(enumerate(HOSTS, 1))[1:]:
        on(host, f"ip address del {FIRST}.{number + 100}/24 dev more; ip address add {FIRST}.{number}/24 dev more")
        there = on(host, "ip -brief -4 address show dev more").out.split()
        check(f"{host} has its address again", there[2:] == [f"{FIRST}.{number}/24"], there)


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
