#!/usr/bin/env python3
"""An adapter that is taken down on one host, and who tells the task on another of it, under each launcher.
Runs inside the bed:

    tests/beds/hosts 3 --sshd --slurm -- hosts_events.py BUILD PROCESS-SCHEMA

The second network has a macvlan of each host's adapter. Prints TAP, and what each launcher does."""
import os
import re
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from hosts_programs import Done, add_network, environment, install, on, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
PROBE = os.path.join(BUILD, "tests/system/api_paths_probe")
STORM = os.path.join(BUILD, "tests/system/control_event_storm")
HOSTS = os.environ["HOSTS_NAMES"].split()
NETWORK = "10.9.0"
SETTINGS = {"MP_EUIDEVICE": "sn_all", "MP_INFOLEVEL": "2"}
FLAPS, MOST_FLAPS = 3, 15
BY_EVENT, BY_DAEMON = "link down (PMIx event)", "link down (lamd)"
EVENTS = 5000  # a storm
# The tasks look for the daemon of another session, which there is not.
WITHOUT_DAEMON = {"LAM_MPI_SESSION_SUFFIX": "nobody"}


def words_of(variables, option):
    return [word for name, value in variables.items() for word in (option, f"{name}={value}")]


def lapirun(variables, command):
    return ["lapirun", "-n", "2", "n1,2", *words_of(variables, "-x"), *command]


def mpirun(variables, command):
    return ["mpirun", "--allow-run-as-root", "-H", ",".join(HOSTS[1:]), *words_of(variables, "-x"), *command]


def srun(variables, command):
    return ["srun", "-w", ",".join(HOSTS[1:]), "-N2", "-n2", "--mpi=pmix", "env", *[f"{name}={value}" for name, value in
                                                                                   variables.items()], *command]


class Job:
    """Task 0 talks to task 1, on the last host, until end()."""

    def __init__(self, start, variables):
        self.name, self.lines = start.__name__, []
        self.process = subprocess.Popen(start(SETTINGS | variables, [PROBE, "polling", "0"]), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.begun = self.process.stdout.readline()
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self.reader.start()

    def causes(self):
        """Why a path has failed, as task 0 says."""
        return [match[1] for line in list(self.lines)
                if (match := re.search(r"task 0 to task 1: .* has failed: ([^;]*);", line))]

    def flap(self, wanted):
        """The adapter of task 1 goes down and up, often enough for `wanted` to be the cause once, or a few times. Where
        processors are busy task 0's own probes find out before the news come."""
        for _ in range(MOST_FLAPS if wanted else FLAPS):
            on(HOSTS[2], "ip link set more down; sleep 1.1; ip link set more up; sleep 1.1")
            if wanted in self.causes():
                break

    def end(self):
        self.process.stdin.close()
        out = self.process.stdout.read()
        self.process.wait(60)
        self.reader.join(60)
        check(f"{self.name}: nothing is lost", self.begun == "begun 0\n" and self.process.returncode == 0 and
              "\nwrong 0\n" in out, (self.begun, out, self.lines))
        check(f"{self.name}: the path serves again", any("serves again: " in line for line in self.lines), self.lines)
        print(f"# {self.name}: task 0 says: {self.causes()}", flush=True)


def told(start, variables, wanted=None):
    job = Job(start, variables)
    job.flap(wanted)
    job.end()
    return job.causes(), job.lines


def test_without_a_universe():
    for start in (mpirun, srun):
        causes, lines = told(start, {})
        check(f"{start.__name__}: the traffic shows it", causes and all(cause.startswith("no answer for ") for cause in causes),
              (causes, lines))


def test_in_a_universe():
    causes, lines = told(mpirun, {}, BY_DAEMON)
    check("beside lamd its word counts", BY_DAEMON in causes, (causes, lines))
    causes, lines = told(lapirun, WITHOUT_DAEMON, BY_EVENT)
    check("lapirun carries events, where no daemon is followed", BY_EVENT in causes, (causes, lines))
    causes, lines = told(lapirun, {}, BY_DAEMON)
    check("where one is, its word counts", BY_DAEMON in causes and BY_EVENT not in causes, (causes, lines))


def test_a_daemon_is_killed():
    """Beside tasks that it has not started, which follow it: then the traffic shows them what fails."""
    job = Job(srun, {})
    job.flap(BY_DAEMON)
    before = job.causes()
    on(HOSTS[1], "kill -KILL $(cat /tmp/lam-root@*/lam-killfile)")
    job.flap(None)
    job.end()
    after = job.causes()[len(before):]
    check("beside srun the word of lamd counts", BY_DAEMON in before, (before, job.lines))
    check("when lamd is killed the traffic shows it", after and BY_DAEMON not in after, (after, job.lines))
    ended = [line for line in job.lines if "The daemon of this node (lamd) has ended" in line]
    check("and the task beside it says once that it has ended", len(ended) == 1, job.lines)


def number(text, name):
    found = re.search(rf"^{name} (-?[0-9.]+)$", text, re.MULTILINE)
    return float(found[1]) if found else None


def test_storm():
    done = Done(lapirun({}, [STORM, str(EVENTS)]))
    seconds, grown, heard = (number(done.out, name) for name in ("seconds", "grown", "heard"))
    print(f"# {EVENTS} events of one task in {seconds} s: another host has heard {heard}, lamtasks has grown by {grown} kB",
          flush=True)
    check("a storm of events ends", done.status == 0 and None not in (seconds, grown, heard), done)
    check("another host hears of few of them", 1 <= heard <= 20 + 20 * (seconds + 1), done)
    check("lamtasks does not grow", grown < 4096, done)


def main():
    install(BUILD)
    add_network(NETWORK, HOSTS)
    test_without_a_universe()
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    test_in_a_universe()
    test_storm()
    test_a_daemon_is_killed()
    check("the universe ends", Done(["lamhalt"]).status == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
