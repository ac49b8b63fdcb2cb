#!/usr/bin/env python3
"""Boots whose lamboot is killed, at each step and with every algorithm. Runs inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_killed.py BUILD PROCESS-SCHEMA [links]

The last host takes no further part at the chosen step, so that all lamboots, side by side in sessions of their own, wait
there until they are killed. Nothing is left on any host, and the next lamboot works. "links": lamboot is not killed, and
finds out that the last host's daemon cannot link with others. Prints TAP."""
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from hosts_filter import CONNECTS, Filter  # noqa: E402
from hosts_programs import FOLDER, Done, environment, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
HOSTS = os.environ["HOSTS_NAMES"].split()
LAST = HOSTS[-1]
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1"}
# A degree of 1 takes helpers below helpers.
ALGORITHMS = {"linear": {}, "linear_windowed": {}, "thread": {}, "tree": {"LAM_MPI_SSI_boot_base_tree_degree": "1"}}
SIGNALS = {"TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
SESSION = "killed"
MOST_SECONDS = 30  # until nothing is left; agents have 5 s to end by themselves

# What the last host loses, and whom it has lost it of, by ports: they are different for each boot.
SET = "set lost { type inet_service; flags dynamic; size 64; }\n"
# Two rules: what cannot be noted for the moment is lost all the same, and noted when it comes again.
LOSES = "".join(f"tcp dport != 22 {CONNECTS} {what}\n" for what in ("add @lost { tcp dport }", "drop"))
REPORTS = SET + f"chain out {{ type filter hook output priority 0; {LOSES} }}\n"
UNIVERSE = SET + f"chain in {{ type filter hook input priority 0; {LOSES} }}\n"
# Once all boots are where the universe is told, it comes through, and what the last host's daemons connect to is lost.
LINKS = UNIVERSE + "chain out { type filter hook output priority 0; }\n"
UNIVERSE_COMES = "flush chain ip links in\nflush set ip links lost\n" + "".join(
    f"add rule ip links out {line}\n" for line in LOSES.splitlines())


def boots():
    for algorithm, settings in ALGORITHMS.items():
        for name, number in SIGNALS.items():
            yield f"{SESSION}-{algorithm}-{name}", number, {"LAM_MPI_SSI_boot_base_algorithm": algorithm, **settings}


def left():
    """Of these sessions: daemons, agents and what they run, folders; and guards of agents; by host."""
    look = f"pgrep -a -f '[k]{SESSION[1:]}-'; pgrep -x agent_guard; ls -d /tmp/lam-*[k]{SESSION[1:]}-* 2>/dev/null"
    return {host: said for host in HOSTS if (said := Done(["ssh", host, look]).out)}


def start(session, settings, agent, errors=subprocess.DEVNULL):
    return subprocess.Popen(["lamboot", "-sessionsuffix", session, "-c", SCHEMA, write_schema(HOSTS)],
                            env=environment(**REMOTE, **settings, LAM_MPI_SSI_boot_rsh_agent=agent),
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, text=True)


def kill_all(lamboots):
    """One by one, and by name what gets SIGKILL, as users do it: guards have another name."""
    for lamboot, number in lamboots:
        if number != signal.SIGKILL:
            lamboot.send_signal(number)
    for lamboot, number in lamboots:
        if number != signal.SIGKILL:
            lamboot.wait()
    subprocess.run(["pkill", "-KILL", "-x", "lamboot"], check=False)
    return [-lamboot.wait() for lamboot, _ in lamboots]


def check_works(what, algorithm):
    done = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], **REMOTE, LAM_MPI_SSI_boot_base_algorithm=algorithm,
                **ALGORITHMS[algorithm])
    job = Done(["lapirun", "N", "hostname"])
    halted = Done(["lamhalt"])
    check(f"{what}: the next lamboot works ({algorithm})", done.status == 0 and halted.status == 0
          and sorted(job.out.split()) == HOSTS, (done, job, halted))


def let_link(losses, count):
    """Until here reports are made, which must not be lost."""
    wait_until(lambda: losses.count("lost") >= count)
    losses.nft("-f", "-", text=UNIVERSE_COMES)


def test_step(what, reached, agent="ssh -x", losses=None):
    """`reached`: by so many boots. `losses`: the filter that is to let them link."""
    chosen = list(boots())
    errors = tempfile.TemporaryFile("w+")
    lamboots = [(start(session, settings, agent, errors), number) for session, number, settings in chosen]
    if losses:
        let_link(losses, len(lamboots))
    wait_until(lambda: reached() >= len(lamboots))
    came = reached()
    ended = kill_all(lamboots)
    check(f"{what}: all lamboots were there when they were killed", came == len(lamboots)
          and ended == [number for _, number, _ in chosen], (came, ended, errors.seek(0) or errors.read()))


def check_left(what, algorithm):
    check(f"{what}: nothing is left on any host", wait_until(lambda: not left(), MOST_SECONDS), left())
    check_works(what, algorithm)


def test_agents():
    """The last host's never log in and take no notice of signals that can be ignored."""
    agent, begun = FOLDER / "agent", FOLDER / "begun"
    begun.mkdir()
    os.mkfifo(FOLDER / "never")
    agent.write_text(f"""#!/bin/sh
[ "$1" = {LAST} ] || exec ssh -x "$@"
trap '' TERM INT HUP
touch {begun}/$(hostname)-$$
read -r nothing <{FOLDER}/never
""")
    agent.chmod(0o755)
    what = "while an agent logs in"
    test_step(what, lambda: len(list(begun.iterdir())), str(agent))
    check_left(what, "linear")


def test_failing_links():
    what = "links of a daemon fail"
    with Filter(LAST, LINKS) as losses:
        lamboots = [start(session, settings, "ssh -x", subprocess.PIPE) for session, _, settings in boots()]
        let_link(losses, len(lamboots))
        said = [(lamboot.communicate()[1], lamboot.returncode) for lamboot in lamboots]
        check(f"{what}: it is named, whatever the algorithm", all(status == 1 and f"n3 ({LAST}): its daemon has ended" in text
                                                                  for text, status in said), said)
    check_left(what, "tree")


def main():
    install(BUILD)
    if sys.argv[3:] == ["links"]:
        test_failing_links()
        return finish()
    test_agents()
    for what, rules, algorithm in (("while a daemon reports", REPORTS, "thread"),
                                   ("while the universe is told", UNIVERSE, "tree"),
                                   ("while the daemons link", LINKS, "linear_windowed")):
        with Filter(LAST, rules) as losses:
            test_step(what, lambda losing=losses: losing.count("lost"), losses=losses if rules == LINKS else None)
        check_left(what, algorithm)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
