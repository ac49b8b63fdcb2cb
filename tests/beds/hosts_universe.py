#!/usr/bin/env python3
"""Universes over several hosts: lamboot over real ssh with each algorithm, and inside allocations of real Slurm. Runs
inside the bed:

    tests/beds/hosts 16 --sshd -- hosts_universe.py BUILD PROCESS-SCHEMA ssh
    tests/beds/hosts 4 --sshd -- hosts_universe.py BUILD PROCESS-SCHEMA cable
    tests/beds/hosts 4 --slurm -- hosts_universe.py BUILD PROCESS-SCHEMA slurm

Prints TAP."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, LIMIT, Done, daemons, environment, install, wait_until, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA, GROUP = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
HOSTS = os.environ["HOSTS_NAMES"].split()
CUT_OFF = 11  # seconds after which control/README.md says that a machine without a cable is noticed
ALGORITHMS = ["linear", "linear_windowed", "tree", "thread"]


def nodes():
    """What lamnodes says: host:cpus:flags of each node, in order."""
    return [line.split("\t")[1] for line in Done(["lamnodes"]).out.splitlines()]


# ---- ssh ----

def lamboot(hosts, **variables):
    return Done(["lamboot", "-v", "-c", SCHEMA, write_schema(hosts)], LAM_MPI_SSI_boot="rsh", **variables)


def test_algorithms():
    for count in (4, len(HOSTS)):
        hosts = HOSTS[:count]
        for algorithm in ALGORITHMS:
            # Only the first boot asks each host for its shell: half of the logins.
            fast = "0" if algorithm == "linear" and count == 4 else "1"
            done = lamboot(hosts, LAM_MPI_SSI_boot_base_algorithm=algorithm, LAM_MPI_SSI_boot_rsh_fast=fast)
            listed = nodes()
            halted = Done(["lamhalt"])
            check(f"{count} hosts over ssh, {algorithm}", done.status == 0 and halted.status == 0
                  and listed == ["host0:2:origin,this_node", *(f"{host}:2:" for host in hosts[1:])], (done, listed, halted))
            print(f"# booted in {done.seconds:.2f} s, halted in {halted.seconds:.2f} s", flush=True)
    check("nothing is left on any host", not daemons(HOSTS), daemons(HOSTS))


def test_other_user():
    """On one host the daemon is another user's; below it, too, whoever has no user= is the booting one's."""
    for algorithm in ALGORITHMS:
        done = lamboot(["host0", "host1 user=booter", "host2"], LAM_MPI_SSI_boot_base_algorithm=algorithm,
                       LAM_MPI_SSI_boot_base_tree_degree="1", LAM_MPI_SSI_boot_rsh_fast="1")
        users = [Done(["ssh", host, "ps -C lamd -o user="]).out.strip() for host in HOSTS[:3]]
        halted = Done(["lamhalt"])
        check(f"another user's daemon among others, {algorithm}", done.status == 0 and halted.status == 0
              and users == ["root", "booter", "root"], (done, users, halted))
    check("nothing is left of them", not daemons(HOSTS[:3]), daemons(HOSTS[:3]))


def test_growth():
    """Hosts join over ssh, and leave: jobs go where nodes are."""
    grow = ["lamgrow", "-v", "-c", SCHEMA, "-prefix", str(FOLDER), "-cpu", "2"]
    remote = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1"}
    where = ["lapirun", "N", "hostname"]
    lamboot(HOSTS[:2], LAM_MPI_SSI_boot_rsh_fast="1")
    done = Done([*grow, HOSTS[2]], **remote)
    check("a host joins over ssh", done.status == 0 and nodes()[2:] == ["host2:2:"], (done, nodes()))
    there = Done(["ssh", HOSTS[2], f"{FOLDER}/bin/lamgrow -c {SCHEMA} -prefix {FOLDER} -ssi boot rsh {HOSTS[3]}"])
    check("a host joins through one that has joined", there.status == 0 and nodes()[3:] == ["host3:1:"], (there, nodes()))
    done = Done([*grow, "nowhere"], **remote)
    check("a host that has no address is named", done.status == 1 and "host nowhere: " in done.err, done)
    done = Done([*grow[:4], "-prefix", "/nowhere", "host4"], **remote)
    check("a host without openlapi is named with what was not found", done.status == 1 and "(host4)" in done.err
          and "/nowhere/bin/hboot" in done.err and len(nodes()) == 4, (done, nodes()))
    done = Done(where)
    check("a job runs on all", sorted(done.out.split()) == HOSTS[:4], done)
    done, after = Done(["lamshrink", "n1"]), Done(where)
    check("a host leaves", done.status == 0 and sorted(after.out.split()) == ["host0", "host2", "host3"], (done, after))
    halted = Done(["lamhalt"])
    check("lamhalt ends the daemons that joined, too", halted.status == 0 and not daemons(HOSTS[:5]), daemons(HOSTS[:5]))


def test_stopped_daemon():
    """lamhalt ends the others and names its host; lamwipe ends it."""
    hosts = HOSTS[:4]
    lamboot(hosts, LAM_MPI_SSI_boot_rsh_fast="1")
    stopped = Done(["ssh", hosts[1], "pkill -STOP -x lamd"])
    halted = Done(["lamhalt", "-v"])
    print(f"# lamhalt beside a stopped daemon: {halted.seconds:.1f} s", flush=True)
    check("lamhalt names the host whose daemon is stopped", stopped.status == 0 and halted.status == 1
          and "no answer after 10 s from n1 (host1): " in halted.err and "3 of 4 daemons" in halted.out, (stopped, halted))
    check("the others have ended", list(daemons(hosts)) == [hosts[1]], daemons(hosts))
    wiped = Done(["lamwipe", write_schema(hosts)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("lamwipe ends it", wiped.status == 0 and not daemons(hosts), (wiped, daemons(hosts)))


def test_lost_hosts():
    """A host that is switched off under a universe, and before one is booted."""
    hosts = HOSTS[:5]
    done = lamboot(hosts, LAM_MPI_SSI_boot_rsh_fast="1")
    check("a universe of five hosts", done.status == 0, done)
    with subprocess.Popen(["lapirun", "-n", "10", "sh", "-c", "echo here; exec sleep 1000"], env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        lines = [job.stdout.readline() for _ in range(10)]
        Done(["ssh", hosts[2], "kill 1"])
        try:
            _, errors = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.kill()
            errors = "it did not end"
    check("a job ends that has tasks there, and names the host", lines == ["here\n"] * 10 and job.returncode != 0
          and "n2 (host2)" in errors, (lines, job.returncode, errors))
    seen = wait_until(lambda: "host2:2:lost" in nodes())
    check("the others are told that a host was switched off", seen, nodes())
    living = [host for host in hosts if host != hosts[2]]
    ended = wait_until(lambda: not any(Done(["ssh", host, "pgrep -x sleep"]).out for host in living))
    check("no task is left on the others", ended, daemons(living))
    there = Done(["ssh", hosts[4], f"{FOLDER}/bin/lamnodes"])
    check("a host far from it knows, too", "\thost2:2:lost\n" in there.out, there)
    again = lamboot([hosts[0], hosts[2]], LAM_MPI_SSI_boot_rsh_fast="1")
    check("a second universe is refused", again.status != 0 and "a universe is running here already" in again.err, again)
    wiped = Done(["lamwipe", "-v", write_schema(hosts)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1",
                 LAM_MPI_SSI_boot_rsh_agent="ssh -o ConnectTimeout=2")
    check("lamwipe cleans those that are there, and names the one that is not", wiped.status != 0 and "(host2)" in wiped.err
          and not daemons(living), (wiped, daemons(living)))
    done = lamboot(hosts[:4], LAM_MPI_SSI_boot_rsh_fast="1", LAM_MPI_SSI_boot_rsh_agent="ssh -o ConnectTimeout=2")
    living = [hosts[0], hosts[1], hosts[3]]
    check("a boot with a host that is off names it, and cleans up", done.status != 0 and "n2 (host2)" in done.err
          and not daemons(living), (done, daemons(living)))


# ---- cable ----

def pull_cable(host, back=False):
    number = HOSTS.index(host)
    subprocess.run(["ip", "link", "set", f"port{number}", "up" if back else "down"], check=True)


def can_log_in(host):
    return Done(["ssh", "-o", "ConnectTimeout=2", host, "true"]).status == 0


def watch(host):
    """Has what lamnodes says there written to a file that all hosts see, until the file `watched` is gone."""
    (FOLDER / "watched").touch()
    Done(["ssh", host, f"while [ -e {FOLDER}/watched ]; do {FOLDER}/bin/lamnodes >{FOLDER}/seen.new; "
          f"mv {FOLDER}/seen.new {FOLDER}/seen; sleep 0.2; done </dev/null >/dev/null 2>&1 &"])


def seen_lost():
    return sum(line.endswith("lost") for line in (FOLDER / "seen").read_text().splitlines())


def test_pulled_cable():
    """Nothing is sent that could fail: neither job nor daemons have anything to say to each other."""
    away, living = HOSTS[2], [host for host in HOSTS if host != HOSTS[2]]
    remote = {"LAM_MPI_SSI_boot": "rsh", "LAM_MPI_SSI_boot_rsh_fast": "1",
              "LAM_MPI_SSI_boot_rsh_agent": "ssh -o ConnectTimeout=2"}
    grow = ["lamgrow", "-c", SCHEMA, "-prefix", str(FOLDER), "-cpu", "2", away]
    done = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], **remote)
    check("a universe", done.status == 0, done)
    with subprocess.Popen(["lapirun", "N", "sh", "-c", "echo here; exec sleep 1000"], env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        lines = [job.stdout.readline() for _ in HOSTS]
        watch(away)
        pull_cable(away)
        start = time.monotonic()
        try:
            _, errors = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            job.kill()
            errors = "it did not end"
    seconds = time.monotonic() - start
    check("a job ends that has a task behind a pulled cable, and names the host", lines == ["here\n"] * len(HOSTS)
          and job.returncode == 1 and f"n2 ({away})" in errors, (lines, job.returncode, errors))
    print(f"# after {seconds:.1f} s: {errors.strip()}", flush=True)
    check("about as soon as is documented", seconds < 2 * CUT_OFF, seconds)
    check("the others are told", wait_until(lambda: f"{away}:2:lost" in nodes()), nodes())
    there = Done(["ssh", HOSTS[3], f"{FOLDER}/bin/lamnodes"])
    check("on other hosts, too", f"\t{away}:2:lost\n" in there.out, there)
    done = Done(grow, **remote)
    check("a host that cannot be reached is not added, and named", done.status != 0 and f"({away})" in done.err, done)
    done = Done(["lapirun", "N", "hostname"])
    check("jobs go on without it", done.status == 0 and sorted(done.out.split()) == living, done)
    alone = wait_until(lambda: seen_lost() == 3, 2 * LIMIT)
    check("the host that was cut off has lost the others", alone, (FOLDER / "seen").read_text())
    print(f"# after {time.monotonic() - start:.1f} s", flush=True)
    (FOLDER / "watched").unlink()
    pull_cable(away, back=True)
    check("the cable is back", wait_until(lambda: can_log_in(away)))
    ended = wait_until(lambda: not any(Done(["ssh", host, "pgrep -fx 'sleep 1000'"]).out for host in HOSTS))
    check("no task is left, on either side", ended, daemons(HOSTS))
    done = Done(grow, **remote)
    check("what still runs there is named", done.status != 0 and f"({away})" in done.err, done)
    print(f"# {done.err.strip()}", flush=True)
    done = Done(["ssh", away, f"{FOLDER}/bin/tkill"])
    check("and ended by tkill", done.status == 0, done)
    done = Done(grow, **remote)
    check("lamgrow adds the host again", done.status == 0, (done, nodes()))
    done = Done(["lapirun", "N", "hostname"])
    check("a job runs on all", done.status == 0 and sorted(done.out.split()) == HOSTS, done)
    halted = Done(["lamhalt"])
    check("nothing is left on any host", halted.status == 0 and not daemons(HOSTS), daemons(HOSTS))


# ---- slurm ----

def salloc(options, script, **more):
    return Done(["salloc", *options, "sh", "-c", script], **more)


def everywhere(command):
    """On every host, in an allocation of its own."""
    return Done(["srun", f"-N{len(HOSTS)}", "--overcommit", "--mpi=none", "sh", "-c", command]).out


def until(condition):
    """Lines of a shell that say so when the condition holds, within 20 seconds."""
    return (f"hboots() {{ squeue -h -s -o %j | grep hboot; }}\n"
            f"for try in $(seq 200); do if {condition}; then echo so; break; fi; sleep 0.1; done\n")


# An srun in front of the real one that keeps what it is given on standard input.
TAP = r"""mkdir /tmp/tap && printf '#!/bin/sh\ntee /tmp/tap/heard.$$ | exec %s "$@"\n' "$(command -v srun)" > /tmp/tap/srun
chmod 755 /tmp/tap/srun; PATH=/tmp/tap:$PATH
"""
NO_MUNGE = r"rm /tmp/tap/heard.*; printf '#!/bin/sh\nexit 3\n' > /tmp/tap/munge; chmod 755 /tmp/tap/munge; "
BOOT = f"lamboot -v -c {SCHEMA} && lamnodes && "


def test_slurm():
    done = Done(["lamboot", "-c", SCHEMA], LAM_MPI_SSI_boot="slurm")
    check("outside an allocation the module says what is missing", done.status != 0 and
          "boot module slurm: SLURM_JOB_ID is not set; allowed: inside an allocation (salloc, sbatch)" in done.err, done)
    wanted = "n0\thost0:2:origin,this_node\n" + "".join(f"n{n}\t{host}:2:\n" for n, host in enumerate(HOSTS) if n)
    for user in (None, "booter"):
        done = salloc([f"-N{len(HOSTS)}", "--ntasks-per-node=2"], BOOT + "squeue -h -s -o %j%N; srun --overlap -l "
                      "--mpi=none hostname | wc -l; lamhalt && lamnodes", user=user)
        check(f"salloc, lamboot, a job beside the daemons, lamhalt, as {user or 'root'}", done.status != 0
              and wanted in done.out and done.out.count("hboothost") == len(HOSTS)
              and f"\n{2 * len(HOSTS)}\n" in done.out and "no lamd is running here" in done.err, done)
    done = salloc(["-w", "host1,host2"], BOOT + "recon -v && lamwipe -v")
    check("from a machine that is not of the allocation: it is added, without tasks", done.status == 0
          and "n0\thost1:1:\nn1\thost2:1:\nn2\thost0:1:origin,this_node,no_schedule\n" in done.out
          and "n1 (host2): can be booted" in done.out and "n1 (host2): wiped" in done.out, done)
    left = everywhere("pgrep -x lamd && echo lamd; ls /tmp")
    check("nothing is left on any host", "lamd" not in left and "lam-" not in left, left)
    done = salloc([f"-N{len(HOSTS)}"], BOOT + "ls -d /tmp/lam-*")
    check("an allocation that ends", done.status == 0 and "/tmp/lam-" in done.out, done)
    check("takes its daemons with it", wait_until(lambda: "lamd" not in everywhere("pgrep -x lamd >/dev/null && echo lamd")))
    check("and their folders", wait_until(lambda: "lam-" not in everywhere("ls /tmp")), everywhere("ls /tmp"))
    heard = ("for file in /tmp/tap/heard.*; do echo $(head -c 6 $file | grep -qx MUNGE: && echo sealed || echo clear) "
             "$(wc -c < $file); done; lamhalt; ")
    for user in (None, "booter"):
        done = salloc(["-w", "host0,host1"], TAP + BOOT + heard + NO_MUNGE + BOOT + heard + "rm -r /tmp/tap", user=user)
        sizes = [line.split(" ")[-1] for line in done.out.splitlines() if line.startswith("sealed ")]
        check(f"srun does not see the key, as {user or 'root'}", done.status == 0 and len(sizes) == 2
              and all(int(size) > 100 for size in sizes), done)
        check("but where there is no MUNGE, which is said", done.out.splitlines().count("clear 32") == 2 and
              "slurm: the key goes to srun as it is: munge ended with status 3" in done.out + done.err, done)
    done = salloc(["-w", "host0,host1"], f"lamboot {SCHEMA}")
    check("a boot schema is refused", done.status != 0 and f'the command line names the boot schema "{SCHEMA}"' in done.err,
          done)
    (FOLDER / "bin/hboot").unlink()
    done = salloc(["-w", "host0,host1"], f"lamboot -c {SCHEMA}")
    check("what cannot be started is named with its host and command", done.status != 0 and "): srun ended "
          "with status 2: " in done.err and "hboot" in done.err and "(srun --overlap --mpi=none " in done.err, done)
    (FOLDER / "bin/hboot").write_text("#!/bin/sh\nexec sleep 100000\n")
    (FOLDER / "bin/hboot").chmod(0o755)
    done = salloc(["-w", "host0,host1"], f"lamboot -c {SCHEMA}\n" + until('[ -z "$(hboots)" ]'),
                  LAM_MPI_SSI_boot_slurm_time="1")
    check("what does not start is given up, and its step ended", "(host1): srun was given up after 1 s" in done.err
          and done.out.count("so\n") == 1, done)
    for number in ("TERM", "HUP", "KILL"):
        done = salloc(["-w", "host0,host1"], f"lamboot -c {SCHEMA} & boot=$!\n" + until('[ -n "$(hboots)" ]') +
                      f"kill -{number} $boot; wait $boot\n" + until('[ -z "$(hboots)" ]'))
        check(f"signal {number} to lamboot: its agents end", done.out.count("so\n") == 2, done)
    check("nothing is left of Slurm's steps", "hboot" not in Done(["squeue", "-h", "-s", "-o", "%j"]).out)
    check("nor a session's folder on any host", "lam-" not in (left := everywhere("ls /tmp")), left)


def main():
    install(BUILD)
    if GROUP == "ssh":
        test_algorithms()
        test_other_user()
        test_growth()
        test_stopped_daemon()
        test_lost_hosts()
    elif GROUP == "cable":
        test_pulled_cable()
    else:
        test_slurm()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
