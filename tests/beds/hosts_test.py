#!/usr/bin/env python3
"""The bed `hosts` itself: what hosts see of each other, sshd, Slurm, and that nothing is left.

usage: hosts_test.py HOSTS"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import scheduling_group  # noqa: E402
from tap import check, finish  # noqa: E402

HOSTS = os.path.abspath(sys.argv[1])
LIMIT = 100  # seconds; only what hangs needs them
MARK = f"hosts_test={os.getpid()}"


def run(*words, **options):
    return subprocess.run([HOSTS, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                          check=False, env=os.environ | {"HOSTS_TEST": MARK}, **options)


def traces():
    """Processes and mounts of beds that this test started."""
    left = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as file:
                if f"HOSTS_TEST={MARK}".encode() in file.read():
                    left.append(process)
        except OSError:
            pass
    with open("/proc/mounts", encoding="ascii") as file:
        left += [line for line in file if "openlapi-hosts" in line or " /etc/slurm" in line]
    return left + (["/run/openlapi-hosts"] if os.path.exists("/run/openlapi-hosts") else [])


# Each line: a name, and what a second host says to it. Run on host0.
APART = r"""
two() { here=$(eval "$2" 2>&1); there=$(ssh host1 "$2" 2>&1); echo "$1 $([ "$here" = "$there" ] && echo same || echo differs)"; }
touch /tmp/mine /run/mine /dev/shm/mine "$HOSTS_FOLDER/mine"; ipcmk -Q >/dev/null
two hostname hostname
two uname 'uname -n'
two file 'cat /etc/hostname'
two machine 'cat /etc/machine-id'
two boot 'cat /proc/sys/kernel/random/boot_id'
two network 'readlink /proc/self/ns/net'
two processes 'readlink /proc/self/ns/pid'
two tmp 'ls /tmp/mine'
two run 'ls /run/mine'
two memory 'ls /dev/shm/mine'
two queues 'ipcs -q'
two folder 'ls $HOSTS_FOLDER/mine /run/openlapi-hosts/mine 2>&1 | tail -n 1'
two sources "ls '$PWD'"
two users id
"""


def test_hosts():
    done = run("2", "--sshd", "--", "bash", "-c", APART)
    said = dict(line.split() for line in done.stdout.splitlines())
    same = {name for name, word in said.items() if word == "same"}
    check("each host is its own, but for files and users", done.returncode == 0 and len(said) == 14
          and same == {"folder", "sources", "users"}, done)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        done = run("2", "--sshd", "--share", folder, "--", "sh", "-c", f"echo seen >{folder}/file; ssh host1 cat {folder}/file; "
                   "pwd; ssh host1 ls -d $PWD", cwd=folder)
        check("shared folders and the present one are seen", done.stdout == f"seen\n{folder}\n{folder}\n", done)
    done = run("3", "--", "sh", "-c", "cat; echo $HOSTS_COUNT $HOSTS_NAMES; echo wrong >&2; exit 7")
    check("output and status are passed on", (done.returncode, done.stdout, done.stderr)
          == (7, "3 host0 host1 host2\n", "wrong\n"), done)
    done = run("1", "--", "sh", "-c", "kill -SEGV $$")
    check("a signal's status", done.returncode == 128 + signal.SIGSEGV, done)
    done = run("3", "--sshd", "--", "sh", "-c", "setpriv --reuid booter --regid booter --clear-groups ssh host2 id -un; "
               "ssh host1 'sleep 100000 & kill 1'; ssh host1 true; echo $?; ip link set port2 down; "
               "ssh -o ConnectTimeout=1 host2 true; echo $?")
    check("hosts are switched off and cables pulled", done.stdout == "booter\n255\n255\n", done)
    check("nothing is left", not traces(), traces())


def test_slurm():
    done = run("3", "--slurm", "--cpus", "2", "--", "srun", "-N3", "--ntasks-per-node=2", "-l", "hostname")
    said = sorted(line.split()[1] for line in done.stdout.splitlines())
    check("srun starts tasks on all hosts", said == sorted(2 * ["host0", "host1", "host2"]), done)
    done = run("2", "--slurm", "--", "setpriv", "--reuid", "booter", "--regid", "booter", "--clear-groups", "srun", "-N2",
               "id", "-un")
    check("as an ordinary user, too", done.stdout == "booter\nbooter\n", done)
    check("nothing is left of Slurm", not traces(), traces())


def group_of(text):
    """The processors' control group in what /proc/self/cgroup says."""
    found = {controller: path for _, controllers, path in (line.split(":", 2) for line in text.splitlines())
             for controller in controllers.split(",")}
    return found.get("cpu", found.get(""))


def test_scheduling_group():
    first = scheduling_group.first_group()
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        outside = group_of(file.read())
    done = run("2", "--sshd", "--", "sh", "-c", "ssh host1 cat /proc/self/cgroup")
    inside = group_of(done.stdout) or ""
    wanted = re.fullmatch(r"/openlapi-hosts-\d+", inside) if first is not None else inside == outside
    check("all hosts are in one scheduling group, where the kernel goes by sessions", wanted, done)
    left = list(first.glob("openlapi-hosts-*")) if first is not None else []
    check("and it ends with them", not left, left)


def wait_until(condition):
    end = time.monotonic() + LIMIT
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def signalled(number):
    with subprocess.Popen([HOSTS, "2", "--sshd", "--", "sh", "-c", "ssh host1 sleep 100000 & echo running; wait"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=os.environ | {"HOSTS_TEST": MARK}) as process:
        line = process.stdout.readline()
        process.send_signal(number)
        process.wait(LIMIT)
    return line == "running\n" and wait_until(lambda: not traces()), process.returncode


def test_end():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)):
        seen = signalled(number)
        check(f"{number.name} ends all hosts", seen == (True, status), (seen, traces()))
    done = run("2", "--timeout", "1", "--", "sleep", "100000")
    check("the time limit ends it", done.returncode == 124 and "not finished after 1 s" in done.stderr, done)
    for words, text in ((["0", "--", "true"], "'0': allowed is a whole number from 1 to 64"),
                        (["2", "--share", "/nowhere", "--", "true"], "'/nowhere': allowed is the absolute path of a folder"),
                        (["2"], "COMMAND")):
        done = run(*words)
        check(f"refused: {' '.join(words)}", done.returncode == 2 and text in done.stderr, done)
    done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", HOSTS, "2", "--", "true"],
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    check("refused: without root", done.returncode == 125 and re.search("only root can make hosts", done.stderr), done)
    done = run("2", "--", "/nowhere/program")
    check("no such program", done.returncode == 127 and "/nowhere/program" in done.stderr, done)
    check("nothing is left at the end", not traces(), traces())


def main():
    if os.geteuid() != 0:
        print("ok 1 - hosts # SKIP only root can make hosts\n1..1")
        return 0
    test_hosts()
    test_slurm()
    test_end()
    test_scheduling_group()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
