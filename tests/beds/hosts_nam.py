#!/usr/bin/env python3
"""The network availability matrix of several hosts: what happens to an adapter of one host is seen by namstat on all. Runs
inside the bed:

    tests/beds/hosts 5 --sshd -- hosts_nam.py BUILD PROCESS-SCHEMA

Each host has a second adapter, on a network of its own. The last host joins later. Prints TAP, and how long news took."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from hosts_filter import Filter  # noqa: E402
from hosts_programs import FOLDER, LIMIT, Done, add_network, environment, install, wait_until, write_schema  # noqa: E402
from paths_probe import Job  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
*HOSTS, NEW = os.environ["HOSTS_NAMES"].split()
SECOND = "10.9.0"  # the second network
ALL = 2 * len(HOSTS)  # addresses
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1"}
TIMES = 10
BLACK_HOLE = """
    chain in { type filter hook input priority 0; iifname "more" drop; }
    chain out { type filter hook output priority 0; oifname "more" drop; }
"""


def on(host, script, user=None):
    return Done(["ssh", host, f"export PATH={FOLDER}/bin:$PATH; {script}"], user=user)


def adapters_of(matrix):
    """By host and name."""
    return {(node["host"], adapter["name"]): adapter for node in matrix["nodes"] for adapter in node["adapters"]}


class Watchers:
    """namstat --watch on every host, and when each has said what."""

    def __init__(self, hosts):
        self.seen = {host: [] for host in hosts}
        self.processes, self.threads = [], []
        for host in hosts:
            words = ["ssh", host, f"PATH={FOLDER}/bin:$PATH namstat --watch --json"]
            process = subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            thread = threading.Thread(target=self.read, args=(host, process))
            thread.start()
            self.processes.append(process)
            self.threads.append(thread)

    def read(self, host, process):
        for line in process.stdout:
            self.seen[host].append((time.monotonic(), adapters_of(json.loads(line))))

    def when(self, start, key, state):
        """Seconds after `start` until each host has said it; None: not at all, so far."""
        found = {host: next((time_ - start for time_, adapters in list(lines)
                             if time_ >= start and adapters.get(key, {}).get("state") == state), None)
                 for host, lines in self.seen.items()}
        return None if None in found.values() else found

    def await_all(self, start, key, state):
        wait_until(lambda: self.when(start, key, state) is not None)
        return self.when(start, key, state)

    def end(self):
        for process in self.processes:
            process.terminate()
            process.wait(LIMIT)
        for thread in self.threads:
            thread.join(LIMIT)


def test_links():
    """Taken down and up, on each host in turn. The command's way over ssh counts as well: the times are upper bounds."""
    watchers, took = Watchers(HOSTS), {"down": [], "up": []}
    check("everybody watches", wait_until(lambda: all(watchers.seen.values())), watchers.seen)
    for number in range(TIMES):
        host = HOSTS[1 + number % (len(HOSTS) - 1)]
        for state, times in took.items():
            start = time.monotonic()
            done = on(host, f"ip link set more {state}")
            seen = watchers.await_all(start, (host, "more"), state)
            check(f"{host}: the link is {state}, and namstat on every host knows", done.status == 0 and seen is not None,
                  (done, {name: lines[-1:] for name, lines in watchers.seen.items()}))
            times.append(max(seen.values()) if seen else LIMIT)
    watchers.end()
    for state, times in took.items():
        times.sort()
        print(f"# a link goes {state}: every host's namstat has said it {1000 * times[len(times) // 2]:.0f} ms after the "
              f"command was given over ssh (median of {TIMES}; {1000 * times[-1]:.0f} ms at most)", flush=True)


def test_spread():
    """How long that took from the moment at which the host's own daemon knew, by the clock that all hosts have in common."""
    took = []
    for host in HOSTS:
        for line in on(host, "namstat --history --json").out.splitlines():
            change = json.loads(line)
            if change["host"] == host:
                continue
            since, heard = (float(re.search(r":(\d\d\.\d{3})Z", text)[1]) for text in (change["adapter"]["since"], change["heard"]))
            took.append((heard - since) % 60)
    took.sort()
    print(f"# from the daemon that sees it to the others: {1000 * took[len(took) // 2]:.0f} ms (median of {len(took)}; "
          f"{1000 * took[-1]:.0f} ms at most)", flush=True)
    check("news spread", len(took) >= 2 * TIMES * (len(HOSTS) - 1), took)


def test_causes():
    host = HOSTS[2]
    for words, back, reason in (("address delete {a}/24 dev more", "address add {a}/24 dev more", "no address"),
                                ("link set more down", "link set more up", "taken down")):
        on(host, "ip " + words.format(a=f"{SECOND}.3"))
        for here in HOSTS:
            wait_until(lambda there=here: adapters_of(json.loads(on(there, "namstat --json").out))[(host, "more")]["state"] == "down")
            done = on(here, "namstat")
            check(f"namstat on {here} says why: {reason}", done.status == 1 and
                  re.search(rf"\nn2 \({host}\): more \(10\.9\.0\.3/24.*\) is down since .*: {reason}\n", done.out), done)
        on(host, "ip " + back.format(a=f"{SECOND}.3"))
    check("all is up again", all(wait_until(lambda there=here: on(there, "namstat").status == 0) for here in HOSTS))


def reason(here, host):
    return adapters_of(json.loads(on(here, "namstat --json").out))[(host, "more")]["reason"]


def report(host, *addresses, until="", seconds=3):
    """A task there finds that nothing comes through between its address and that of another host. What it hears until it has
    heard that, or in so many seconds."""
    probe = os.path.join(BUILD, "tests/system/control_adapter_probe")
    words = ["ssh", host, f"timeout {seconds} {probe} /tmp/lam-root@{host} {' '.join(addresses)}"]
    with subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as task:
        heard = []
        for line in task.stdout:
            heard.append(line)
            if line == until:
                task.terminate()
        return heard


def test_a_black_hole():
    """A host's adapter loses everything, and its kernel does not know. It tells of itself when a task of another complains."""
    host, rest = HOSTS[1], [HOSTS[0], *HOSTS[2:]]
    with Filter(host, BLACK_HOLE, way=HOSTS[2]):
        check("a black hole is seen by nobody", all(reason(here, host) is None for here in HOSTS))
        one_down = f"{ALL} addresses, {ALL - 1} up\n"
        told = report(HOSTS[0], f"{SECOND}.1", f"{SECOND}.2", until=one_down, seconds=LIMIT)
        check("a task that complains hears the answer", one_down in told, told)
        for here in HOSTS:
            check(f"namstat on {here} knows that nobody answers there",
                  wait_until(lambda there=here: reason(there, host) == "nobody answers"))
            check(f"and on {here} that the others are up", all(reason(here, other) is None for other in rest))
    for here in HOSTS:
        check(f"{here} knows that it works again", wait_until(lambda there=here: reason(there, host) is None))
    told = report(HOSTS[0], f"{SECOND}.1", f"{SECOND}.2")
    check("whoever complains without a reason changes nothing", one_down not in told and
          all(reason(here, other) is None for here in HOSTS for other in HOSTS), told)
    told = report(HOSTS[0], "10.1.2.3", "10.3.2.1")
    check("nor who complains of addresses that nobody has", told == [f"{ALL} addresses, {ALL} up\n"], told)


def followers(host):
    """Processes there that see the daemon's page."""
    return on(host, "grep -lE ' r--s .*/lam-adapters' /proc/[0-9]*/maps 2>/dev/null").out.split()


def start_job(*settings):
    words = ["lapirun", "-n", "2", "n1,2", *settings, os.path.join(BUILD, "tests/system/api_paths_probe"), "polling", "0"]
    job = Job(words, environment())
    check("a job begins and goes on", job.begun and job.goes_on(), job)
    return job


def test_tasks_follow():
    """Those that have several adapters, while an adapter of a peer fails."""
    job = start_job("-x", "MP_EUIDEVICE=sn_all")
    check("tasks with several adapters see the page", all(len(followers(host)) == 1 for host in HOSTS[1:3]),
          [followers(host) for host in HOSTS])
    on(HOSTS[2], "for n in 1 2 3; do ip link set more down; sleep 0.3; ip link set more up; sleep 0.3; done")
    check("and lose nothing", job.goes_on() and job.ends_well(), job)
    print(f"# the slowest operation while an adapter of the peer went down and up three times: "
          f"{(job.number('slowest') or 0) / 1000:.1f} ms", flush=True)
    job = start_job()
    check("those with one adapter have no use for it", not any(followers(host) for host in HOSTS[1:3]))
    check("and lose nothing either", job.ends_well(), job)


def test_a_stranger_lies():
    """Messages of who has not proved himself mean nothing, also such as daemons would send."""
    before = json.loads(on(HOSTS[0], "namstat --json").out)
    number = lambda value, size=4: value.to_bytes(size, "little")  # noqa: E731
    adapter = number(4) + b"more" + b"\0\1" + number(0) + number(1, 8) + number(0)
    message = b"\2\x30" + number(1) + number(1) + number(0) + number(1 << 60, 8) + number(1) + adapter
    link = b"\2\1" + number(1) + number(0)
    for host in HOSTS[1:]:
        ports = on(host, "ss -Hltnp | grep lamd | sed 's/.*10.213.77[.0-9]*:\\([0-9]*\\) .*/\\1/'").out.split()
        check(f"the daemon of {host} listens", len(ports) == 1, ports)
        for start in (b"", number(len(link)) + link):
            with socket.create_connection((host, int(ports[0])), timeout=LIMIT) as stranger:
                stranger.sendall(start + number(len(message)) + message)
                stranger.settimeout(LIMIT)
                while True:
                    try:
                        if not stranger.recv(65536):
                            break
                    except ConnectionResetError:
                        break
    after = json.loads(on(HOSTS[0], "namstat --json").out)
    check("nobody believes a stranger", before == after and after["all_up"], (before, after))
    done = on(HOSTS[1], "setpriv --reuid 65534 --regid 65534 --clear-groups namstat")
    check("a stranger's namstat learns nothing", done.status == 2 and done.out == "", done)


def test_hosts_come_and_go():
    victim = HOSTS[-1]
    on(victim, "kill -KILL $(cat /tmp/lam-root@*/lam-killfile)")
    living = HOSTS[:-1]
    for host in living:
        lost = wait_until(lambda there=host: f"({victim}): its daemon is lost\n" in on(there, "namstat").out)
        done = on(host, "namstat --json")
        check(f"namstat on {host} says that {victim} is lost", lost and done.status == 1 and
              not any(name == victim for name, _ in adapters_of(json.loads(done.out))), done)
    on(HOSTS[1], "ip link set more down")
    done = Done(["lamgrow", "-c", SCHEMA, "-prefix", str(FOLDER), NEW], **REMOTE)
    check("a host joins", done.status == 0, done)
    expected = {(host, name) for host in [*living, NEW] for name in ("eth0" if host != HOSTS[0] else "bridge", "more")}
    for host in [*living, NEW]:
        whole = wait_until(lambda there=host: set(adapters_of(json.loads(on(there, "namstat --json").out))) == expected)
        done = on(host, "namstat --json")
        check(f"namstat on {host} has the whole matrix", whole and
              adapters_of(json.loads(done.out))[(HOSTS[1], "more")]["state"] == "down", done)
    on(HOSTS[1], "ip link set more up")
    again = wait_until(lambda: adapters_of(json.loads(on(NEW, "namstat --json").out))[(HOSTS[1], "more")]["state"] == "up")
    check("the new host hears of changes", again, on(NEW, "namstat"))
    on(NEW, "ip link set more down")
    heard = wait_until(lambda: adapters_of(json.loads(on(HOSTS[0], "namstat --json").out))[(NEW, "more")]["state"] == "down")
    check("and is heard", heard, on(HOSTS[0], "namstat"))
    on(NEW, "ip link set more up")


def test_ordinary_user():
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], user="booter", **REMOTE)
    check("an ordinary user boots", booted.status == 0, booted)
    on(HOSTS[1], "ip link set more down")
    for host in HOSTS:
        seen = wait_until(lambda there=host: on(there, "namstat", user="booter").status == 1)
        done = on(host, "namstat", user="booter")
        check(f"an ordinary user's namstat on {host}", seen and "more DOWN" in done.out, done)
    on(HOSTS[1], "ip link set more up")
    check("and all is up", wait_until(lambda: Done(["namstat"], user="booter").status == 0))
    check("the ordinary user's universe ends", Done(["lamhalt"], user="booter").status == 0)


def main():
    install(BUILD)
    add_network(SECOND, [*HOSTS, NEW])
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], **REMOTE)
    check("the hosts are a universe", booted.status == 0, booted)
    done = Done(["namstat"])
    print("".join(f"# {line}\n" for line in done.out.splitlines()), end="", flush=True)
    check("all is up", wait_until(lambda: Done(["namstat"]).status == 0) and f"({HOSTS[-1]})" in Done(["namstat"]).out, done)
    test_links()
    test_spread()
    test_causes()
    test_a_black_hole()
    test_tasks_follow()
    test_a_stranger_lies()
    test_hosts_come_and_go()
    check("the universe ends", Done(["lamhalt"]).status in (0, 1))
    test_ordinary_user()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
