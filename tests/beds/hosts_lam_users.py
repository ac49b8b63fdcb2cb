#!/usr/bin/env python3
"""lamexec, lamclean and lamwipe as LAM's users know them, from every host of a universe and by an ordinary user. Runs
inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_lam_users.py BUILD PROCESS-SCHEMA

Prints TAP."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, LIMIT, Done, daemons, environment, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
HOSTS = os.environ["HOSTS_NAMES"].split()
WIPE = f"{FOLDER}/libexec/openlapi/wipe"  # LAM's older name, which no PATH has
REMOTE = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1"}
USERS = [None, "booter"]


def run(user, *words, **variables):
    return Done(list(words), user=user, TMPDIR="/tmp", **variables)


def on(host, user, *words):
    """There, with that host's own idea of where it is."""
    return run(user, "ssh", host, f"SHELL=/bin/bash PATH={FOLDER}/bin:/usr/bin:/bin {' '.join(words)}")


def boot(user):
    done = run(user, "lamboot", "-c", SCHEMA, write_schema(HOSTS), **REMOTE)
    check(f"a universe of {user or 'root'}", done.status == 0, done)


def test_remote_shell_options():
    """Each program that starts remote shells takes LAM's options for them."""
    agent, log = FOLDER / "agent", FOLDER / "agent.log"
    with open(agent, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "$*" >> {log}\nexec ssh "$@"\n')
    os.chmod(agent, 0o755)
    schema = write_schema(HOSTS)

    def asked(*words):
        """What the agent was called with."""
        open(log, "w", encoding="utf-8").close()
        done = run(None, *words, schema, LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_agent=str(agent))
        with open(log, encoding="utf-8") as file:
            return done, file.read().splitlines()

    def without_input(line):
        return line.split()[1] == "-n"

    for words in (["lamboot", "-c", SCHEMA, "-s"], ["recon", "-a"], ["lamwipe"]):
        done, lines = asked(*words)
        check(f"{words[0]} asks each host for its shell", done.status == 0 and any("SHELL" in line for line in lines)
              and any(without_input(line) for line in lines), (done, lines))
        if words[0] == "lamboot":
            check("lamhalt", Done(["lamhalt"]).status == 0)
        done, lines = asked(*words, "-nn", "-np")
        check(f"{words[0]} -nn", done.status == 0 and lines and not any(without_input(line) for line in lines), (done, lines))
        if words[0] == "lamboot":
            check("lamhalt", Done(["lamhalt"]).status == 0)
        done, lines = asked(*words, "-b")
        check(f"{words[0]} -b", done.status == 0 and lines and not any("SHELL" in line for line in lines), (done, lines))


def left(hosts, pattern):
    return {host: said for host in hosts if (said := Done(["ssh", host, f"pgrep -fx '{pattern}'"]).out)}


def test_lamexec(user):
    who = user or "root"
    for number, host in enumerate(HOSTS):
        done = on(host, user, "lamexec", "N", "hostname")
        check(f"lamexec N on {host}, {who}", done.status == 0 and sorted(done.out.split()) == HOSTS, done)
        done = on(host, user, "lamexec", "n1,3", "h", "hostname")
        check(f"lamexec n1,3 h on {host}", sorted(done.out.split()) == sorted([HOSTS[1], HOSTS[3], host]), done)
        done = on(host, user, "lamexec", "C", "hostname")
        check(f"lamexec C on {host}", sorted(done.out.split()) == sorted(2 * HOSTS), done)
        done = on(host, user, "lamexec", "-c", "3", "-wd", "/usr", "-x", f"WHERE={number}", "o", "sh", "-c",
                  "'echo $WHERE $PWD'")
        check(f"lamexec -c -wd -x on {host}", done.out == f"{number} /usr\n" * 3, done)
    done = run(user, "lamexec", "--host", "host2,host3", "hostname")
    check("lamexec of hosts by name", sorted(done.out.split()) == HOSTS[2:], done)
    done = run(user, "lamexec", "N", "sh", "-c", '[ $(hostname) != host1 ] || exit 7; sleep 0.5; echo $(hostname) went on')
    check("one that fails ends no other, and is named", done.status == 7 and done.out.count("went on") == 3
          and "program 1 (process " in done.err and " on n1 (host1) exited with status 7\n" in done.err, done)
    done = run(user, "lamexec", "N", "sh", "-c", "[ $(hostname) != host2 ] || kill -KILL $$")
    check("a signal is a status, too", done.status == 137, done)
    for words, status, said in ((["n9", "hostname"], 2, "n9"), (["-c", "0", "hostname"], 2, "1 to 16384"),
                                (["--standalone", "hostname"], 2, "--standalone"), (["N"], 127, "no program given"),
                                (["N", "/no/such-program"], 127, "/no/such-program"), (["-x", "=1", "N", "true"], 2, "=1"),
                                (["-wd", "/no/where", "N", "true"], 2, "/no/where")):
        done = run(user, "lamexec", *words)
        check(f"lamexec {' '.join(words)}", done.status == status and done.err.startswith("lamexec: ")
              and said in done.err, done)
    for word in ("-h", "--help"):
        done = run(user, "lamexec", word)
        check(f"lamexec {word}", done.status == 0 and "lamexec [OPTIONS] [nodes]" in done.out, done)


class Job:
    """One that would not end, started on a host."""

    def __init__(self, host, user, *words):
        line = f"SHELL=/bin/bash PATH={FOLDER}/bin:/usr/bin:/bin exec {' '.join(words)}"
        words = ["ssh", host, line]
        if user:
            words = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *words]
        self.process = subprocess.Popen(words, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def await_lines(self, count):
        return [self.process.stdout.readline() for _ in range(count)]

    def end(self):
        _, errors = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, errors


def test_lamclean(user):
    deaf = "'trap \"\" TERM; echo here; exec sleep 4321'"
    for host in HOSTS:
        jobs = [Job(HOSTS[0], user, "lapirun", "N", "sh", "-c", deaf), Job(HOSTS[3], user, "lamexec", "C", "sh", "-c", deaf),
                Job(HOSTS[2], user, "lapirun", "--outlive-daemons", "n1", "sh", "-c", deaf)]
        lines = [job.await_lines(count) for job, count in zip(jobs, (4, 8, 1))]
        done = on(host, user, "lamclean", "-v")
        check(f"lamclean on {host}, {user or 'root'}", done.status == 0 and all(line == "here\n" for some in lines for line in some)
              and "no job runs in the universe" in done.out, (done, lines))
        check("no process of a job is left when it returns", not left(HOSTS, "sleep 4321"), left(HOSTS, "sleep 4321"))
        ended = [job.end() for job in jobs]
        check("each job is told why", all(status == 1 and "lamclean has ended the job" in said for status, said in ended), ended)
        nodes = on(host, user, "lamnodes").out.splitlines()
        check("the daemons go on", len(nodes) == len(HOSTS), nodes)
        again = run(user, "lapirun", "N", "hostname")
        check("and the next job", sorted(again.out.split()) == HOSTS, again)
    loaded = run(user, "lapi_ntbl", "reserve", "-key", "77", "-adapter", "sn0", "n1,2")
    tables = run(user, "lapi_ntbl", "read")
    done = run(user, "lamclean", "-v")
    after = run(user, "lapi_ntbl", "read")
    check("network tables that nobody uses are unloaded", loaded.status == 0 and "77" in tables.out and done.status == 0
          and "77" not in after.out, (loaded, tables, done, after))


def test_stopped_helper():
    """One that does not even take a signal."""
    job = Job(HOSTS[0], None, "lapirun", "n1", "sh", "-c", "'echo here; exec sleep 4322'")
    job.await_lines(1)
    stopped = Done(["ssh", HOSTS[1], "pkill -STOP -x lamtasks"])
    done = Done(["lamclean"])
    check("a helper that is stopped is killed, and its tasks with it", stopped.status == 0 and done.status == 0
          and wait_until(lambda: not left(HOSTS, "sleep 4322")), (done, left(HOSTS, "sleep 4322")))
    job.end()


def test_bad_input(user):
    for program in ("lamclean", "lamwipe", WIPE):
        name = os.path.basename(program)
        for word in ("-h", "--help"):
            done = run(user, program, word)
            check(f"{name} {word}", done.status == 0 and done.out.startswith(f"usage: {name} "), done)
        done = run(user, program, "-no-such")
        check(f"{name}: an option that it does not have", done.status == 2 and done.err.startswith(f"{name}: "), done)
    done = run(user, "lamclean", "word")
    check("lamclean takes no words", done.status == 2, done)
    for words in (["-n", "0"], ["-n", "x"], ["one", "two"]):
        done = run(user, "lamwipe", *words)
        check(f"lamwipe {' '.join(words)}", done.status == 2, done)
    for words in (["lamclean"], ["lamexec", "N", "true"]):
        done = run(user, *words)
        check(f"{words[0]} without a universe", done.status == 1 and "lamboot" in done.err, done)


def test_lamwipe(user):
    """Also daemons that do not answer, from every host."""
    schema = write_schema(HOSTS)
    for host in HOSTS:
        boot(user)
        stopped = [on(one, user, "pkill", "-STOP", "-x", "lamd").status for one in HOSTS[:3]]
        done = on(host, user, "lamwipe", "-v", "-b", "-ssi", "boot", "rsh", schema)
        check(f"lamwipe on {host}, {user or 'root'}: stopped daemons", stopped == [0, 0, 0] and done.status == 0
              and done.out == "".join(f"n{n} ({name}): wiped\n" for n, name in enumerate(HOSTS)), (stopped, done))
        check("nothing is left on any host", not daemons(HOSTS), daemons(HOSTS))
    boot(user)
    done = run(user, "lamwipe", "-v", "-n", "2", schema, **REMOTE)
    check("lamwipe -n: the first two alone", done.out.count("wiped") == 2 and sorted(daemons(HOSTS)) == HOSTS[2:],
          (done, daemons(HOSTS)))
    done = run(user, WIPE, schema, **REMOTE)
    check("wipe is the same", done.status == 0 and not daemons(HOSTS), (done, daemons(HOSTS)))
    done = run(user, "lamwipe", "-ssi", "boot", "rsh", write_schema(["nowhere"]))
    check("a host that does not exist is named", done.status == 1 and "nowhere" in done.err, done)


def main():
    install(BUILD)
    test_remote_shell_options()
    for user in USERS:
        test_bad_input(user)
        boot(user)
        test_lamexec(user)
        test_lamclean(user)
        if user is None:
            test_stopped_helper()
        done = run(user, "lamhalt")
        check("lamhalt", done.status == 0 and not daemons(HOSTS), (done, daemons(HOSTS)))
        test_lamwipe(user)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
