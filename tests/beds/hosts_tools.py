#!/usr/bin/env python3
"""Every tool on every host of a universe, however it was booted: through helpers, on hosts that have two addresses, and
with several nodes on one host. Runs inside the bed:

    tests/beds/hosts 6 --sshd -- hosts_tools.py BUILD PROCESS-SCHEMA
    tests/beds/hosts 21 --sshd -- hosts_tools.py BUILD PROCESS-SCHEMA once

once: one boot with the default algorithm. Prints TAP."""
import os
import pathlib
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, Done, daemons, environment, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
*HOSTS, SPARE = os.environ["HOSTS_NAMES"].split()
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1"}
# Few at once, so that five hosts take helpers below helpers.
CHAIN = {"LAM_MPI_SSI_boot_base_tree_degree": "1"}
PAIRS = {"LAM_MPI_SSI_boot_base_tree_degree": "2", "LAM_MPI_SSI_boot_base_thread_count": "2"}
BOOTS = [("linear", {}), ("linear_windowed", {}), ("tree", {}), ("tree", CHAIN), ("thread", {}), ("thread", PAIRS)]


def lamboot(hosts, algorithm="thread", **variables):
    return Done(["lamboot", "-c", SCHEMA, write_schema(hosts)], LAM_MPI_SSI_boot_base_algorithm=algorithm, **REMOTE,
                **variables)


def on(host, name, *words):
    """A tool there, with that host's own idea of where it is."""
    options = f"-c {SCHEMA} -prefix {FOLDER} -ssi boot rsh -ssi boot_rsh_fast 1 " if name == "lamgrow" else ""
    return Done(["ssh", host, f"SHELL=/bin/bash PATH={FOLDER}/bin:/usr/bin:/bin {name} {options}{' '.join(words)}"])


def folders(host):
    return Done(["ssh", host, "cd /tmp; ls -d lam-*"]).out.split()


def look_from_every_host(what):
    """What users see there: all nodes, this one marked; a job over all of them; no second universe."""
    for number, host in enumerate(HOSTS):
        listed = on(host, "lamnodes").out.splitlines()
        expected = [f"n{n}\t{name}:2:" for n, name in enumerate(HOSTS)]
        expected[0] += "origin"
        expected[number] += ",this_node" if number == 0 else "this_node"
        check(f"{what}: lamnodes on {host}", listed == expected, listed)
        check(f"{what}: the session of {host} has the name that tools look for", folders(host) == [f"lam-root@{host}"],
              folders(host))
        job = on(host, "lapirun", "N", "hostname")
        check(f"{what}: a job from {host} runs on all hosts", job.status == 0 and sorted(job.out.split()) == sorted(HOSTS), job)
        job = on(host, "lapirun", "-n", "4", "hostname")
        check(f"{what}: a job that names no nodes, too", job.status == 0 and set(job.out.split()) == set(HOSTS[:2]), job)
        told = on(host, "lapi_info")
        check(f"{what}: lapi_info on {host}", told.status == 0 and "udp" in told.out, told)
        second = on(host, "lamboot", "-c", SCHEMA, "-ssi", "boot", "local")
        check(f"{what}: a second universe on {host} is refused", second.status == 1
              and "a universe is running here already" in second.err, second)
    again = Done(["ssh", HOSTS[1], f"SHELL=/bin/bash {FOLDER}/bin/lamboot -H -ssi boot rsh -c {SCHEMA} "
                  f"{write_schema([SPARE, *HOSTS[1:]])}"])
    check(f"{what}: a boot of these hosts from another is refused", again.status == 1, again)


def change_from_every_host(what):
    """A host joins and leaves through each of them; then one of them is lost, and the last one ends all."""
    for host in HOSTS:
        joined = on(host, "lamgrow", "-v", SPARE)
        check(f"{what}: lamgrow on {host}", joined.status == 0 and "n5 (" in joined.out, joined)
        seen = on(SPARE, "lamnodes", "-c", "h")
        check(f"{what}: the host that {host} took in has a session of its own", seen.out == f"n5\t{SPARE}\n", seen)
        left = on(host, "lamshrink", "-v", "n5")
        check(f"{what}: lamshrink on {host}", left.status == 0, left)
        check(f"{what}: nothing stays on a host that left", wait_until(lambda: not daemons([SPARE])), daemons([SPARE]))
    ended = on(HOSTS[2], "tkill", "-v")
    check(f"{what}: tkill on {HOSTS[2]} finds its daemon", ended.status == 0 and "has ended" in ended.out, ended)
    living = [host for host in HOSTS if host != HOSTS[2]]
    for host in living:
        seen = wait_until(lambda there=host: ":2:lost" in on(there, "lamnodes", "n2").out)
        check(f"{what}: {host} is told", seen, on(host, "lamnodes").out)
    halted = on(HOSTS[-1], "lamhalt", "-v", "-H")
    check(f"{what}: lamhalt on {HOSTS[-1]}", halted.out == "4 of 4 daemons have ended\n", halted)
    check(f"{what}: nothing is left on any host", not daemons([*HOSTS, SPARE]), daemons([*HOSTS, SPARE]))


def test_every_host():
    for algorithm, settings in BOOTS:
        what = " ".join([algorithm, *(f"{name.removeprefix('LAM_MPI_SSI_boot_base_')}={value}"
                                      for name, value in settings.items())])
        done = lamboot(HOSTS, algorithm, **settings)
        check(f"{what}: boots", done.status == 0 and done.err == "", done)
        look_from_every_host(what)
        if settings == PAIRS:
            change_from_every_host(what)
        else:
            halted = on(HOSTS[-1], "lamhalt", "-v", "-H")
            check(f"{what}: lamhalt ends all", halted.out == "5 of 5 daemons have ended\n", halted)
        check(f"{what}: nothing is left", not daemons(HOSTS), daemons(HOSTS))


# The bed's host keys are known by the hosts' names alone.
STRANGERS_TOO = {"LAM_MPI_SSI_boot_rsh_agent": "ssh -x -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
                                               "-o LogLevel=ERROR"}


def second_address(number):
    return f"10.213.78.{number + 1}"


def test_second_addresses():
    """The schema names hosts by addresses that are not those by which they reach each other, and one host twice."""
    for number, host in enumerate(HOSTS):
        added = Done(["ssh", host, f"/sbin/ip address add {second_address(number)}/24 dev "
                      "$(/sbin/ip -o address show to 10.213.77.0/24 | cut -d ' ' -f 2)"])
        check(f"{host} has two addresses", added.status == 0, added)
    names = [HOSTS[0], *(second_address(n) for n in range(1, len(HOSTS))), second_address(0), HOSTS[1]]
    for algorithm, settings in BOOTS:
        what = " ".join(["second addresses,", algorithm, *settings.values()])
        done = lamboot(names, algorithm, LAM_MPI_SSI_boot_base_promisc="1", **STRANGERS_TOO, **settings)
        check(f"{what}: boots", done.status == 0 and done.err == "", done)
        for number, host in enumerate(HOSTS):
            listed = on(host, "lamnodes", "-n", "-c", "h").out
            own = [name for name in (host, second_address(number)) if f"{name}\n" == listed]
            job = on(host, "lapirun", "N", "hostname")
            check(f"{what}: tools on {host}", own and job.status == 0 and
                  sorted(job.out.split()) == sorted([*HOSTS, *HOSTS[:2]]), (listed, job))
        check(f"{what}: hosts with two nodes have two sessions, one for tools", folders(HOSTS[0]) ==
              ["lam-root@host0", "lam-root@host0-n5"] and len(folders(HOSTS[1])) == 2
              and folders(HOSTS[1])[0] == "lam-root@host1", (folders(HOSTS[0]), folders(HOSTS[1])))
        joined = Done(["ssh", HOSTS[2], f"SHELL=/bin/bash {FOLDER}/bin/lamgrow -c {SCHEMA} -prefix {FOLDER} -ssi boot rsh "
                       f"-n 8 {HOSTS[2]}"])
        check(f"{what}: a second node joins on a host", joined.status == 0 and
              folders(HOSTS[2]) == ["lam-root@host2", "lam-root@host2-n8"], (joined, folders(HOSTS[2])))
        halted = on(HOSTS[-1], "lamhalt", "-v", "-H")
        check(f"{what}: lamhalt ends all", halted.out == "8 of 8 daemons have ended\n", halted)
        check(f"{what}: nothing is left", not daemons(HOSTS), daemons(HOSTS))


def test_killed_lamboot():
    """An agent that would never end: it ends with lamboot, however that does, as do the daemons that it has started."""
    agent, began = FOLDER / "agent", FOLDER / "began"
    agent.write_text(f"#!/bin/sh\necho $$ >{began}.new; mv {began}.new {began}\nexec sleep 1000\n")
    agent.chmod(0o755)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        began.unlink(missing_ok=True)
        with subprocess.Popen(["lamboot", "-c", SCHEMA, write_schema(HOSTS[:2])], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment(**REMOTE, LAM_MPI_SSI_boot_rsh_agent=str(agent))) as boot:
            check("an agent was started", wait_until(began.exists))
            boot.send_signal(number)
        process = pathlib.Path("/proc", began.read_text().strip())
        check(f"signal {number} to lamboot: its agent ends", wait_until(lambda there=process: not there.exists(), 20))
        check(f"signal {number} to lamboot: no daemon stays", wait_until(lambda: not daemons(HOSTS[:2]), 20))


def test_messages_below_helpers():
    """What a daemon says to standard error on a host with a helper, which has no terminal."""
    on(HOSTS[1], "lamboot", "-H", "-c", SCHEMA, write_schema([HOSTS[1]]))
    done = lamboot(HOSTS[:4], "tree", **CHAIN)
    check("a daemon below a helper is refused, and its words reach lamboot", done.status == 1 and
          f"lamboot: {HOSTS[1]}: lamd: a universe is running here already" in done.err, done)
    on(HOSTS[1], "tkill")
    check("nothing is left", wait_until(lambda: not daemons(HOSTS)), daemons(HOSTS))


def test_many_hosts():
    """As users boot them: no word about an algorithm."""
    what = f"{len(HOSTS)} hosts"
    done = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], **REMOTE)
    check(f"{what}: boots", done.status == 0 and done.err == "", done)
    print(f"# booted in {done.seconds:.2f} s", flush=True)
    look_from_every_host(what)
    halted = on(HOSTS[-1], "lamhalt", "-v", "-H")
    check(f"{what}: lamhalt ends all", halted.out == f"{len(HOSTS)} of {len(HOSTS)} daemons have ended\n", halted)
    check(f"{what}: nothing is left", not daemons(HOSTS), daemons(HOSTS))


def main():
    install(BUILD)
    if sys.argv[3:] == ["once"]:
        test_many_hosts()
        return finish()
    test_every_host()
    test_second_addresses()
    test_killed_lamboot()
    test_messages_below_helpers()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
