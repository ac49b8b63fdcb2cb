#!/usr/bin/env python3
"""Tests of dpdk-ports with real ports.

    dpdk_ports_test.py DPDK_PORTS GROUP [DPDK_EXCHANGE]        GROUP: exchange, launcher, user, end

DPDK_EXCHANGE is missing where DPDK cannot be compiled for: then one case is skipped. Prints TAP.
"""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from tap import check, finish  # noqa: E402

DPDK_PORTS = os.path.realpath(sys.argv[1])
EXCHANGE = os.path.realpath(sys.argv[3]) if len(sys.argv) > 3 else None
LIMIT = 100  # seconds for one bed
ROUNDS = 500
ORDINARY_USER = 65534


def run(*words, before=(), **more):
    return subprocess.run([*before, DPDK_PORTS, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False, **more)


def met(count, text):
    """Did every process play all rounds with every other?"""
    return all(f"process {one} and {other}: {ROUNDS} rounds," in text
               for one in range(count) for other in range(count) if one != other)


def exchange(name, count, *options, before=()):
    done = run(str(count), *options, "--each", "--", EXCHANGE, str(ROUNDS), before=before)
    check(name, done.returncode == 0 and met(count, done.stdout), f"{done.returncode}\n{done.stdout}\n{done.stderr}")


def bed_processes():
    """Processes that a bed has started and not ended: they have its variables."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if f"BED_TEST={os.getpid()}\0".encode() in file.read():
                    found.append(path)
        except OSError:
            pass
    return found


def wait_until(condition):
    end = time.monotonic() + 60
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return value


def interfaces():
    text = subprocess.run(["ip", "-j", "link"], capture_output=True, text=True, check=True).stdout
    return {link["ifname"] for link in json.loads(text)}


def traces():
    """What a bed could leave behind: files in our directory for temporary files, in EAL's, interfaces."""
    return [*os.listdir(os.environ["TMPDIR"]), *glob.glob("/run/dpdk/port*"),
            *interfaces() & {"dpdk0", "bus0", "dpdkbr"}]


# ---- groups ----

def test_exchange():
    exchange("two processes over memif", 2)
    exchange("three processes over memif, frames of 9000 bytes", 3, "--mtu", "9000")
    exchange("three processes over af_packet and a bridge", 3, "--kind", "af_packet")
    exchange("two in their own namespaces, frames of 9000 bytes", 2, "--kind", "af_packet", "--apart", "--mtu", "9000")
    exchange("two processes over af_xdp", 2, "--kind", "af_xdp")
    check("nothing is left", not traces(), traces())


# Starts the processes as a launcher would, with an eighth of what process 0 sends lost.
LAUNCHER = r"""
nft -f - <<END
table netdev faults {
 chain out { type filter hook egress device dpdk0 priority 0; ether type 0x88b5 numgen random mod 8 < 1 counter drop; }
}
END
start() {
    env DPDK_PORTS_INDEX=$1 DPDK_PORTS_EAL="$2" DPDK_PORTS_DEVICES="$3" DPDK_PORTS_PEERS="$4" "$exchange" "$rounds" &
}
exchange=$1 rounds=$2
start 0 "$DPDK_PORTS_EAL_0" "$DPDK_PORTS_DEVICES_0" "$DPDK_PORTS_PEERS_0"
start 1 "$DPDK_PORTS_EAL_1" "$DPDK_PORTS_DEVICES_1" "$DPDK_PORTS_PEERS_1"
wait %1 && wait %2 && status=0 || status=$?
nft list ruleset | grep counter
for end in 0 1; do echo "bus$end $(ip -s link show "bus$end" | awk '/RX:/ { getline; print $2 }')"; done
exit $status
"""


def test_launcher():
    done = run("2", "--kind", "af_packet", "--", "sh", "-c", LAUNCHER, "launcher", EXCHANGE, str(ROUNDS))
    said = done.stdout
    check("one command starts both", done.returncode == 0 and met(2, said), f"{said}\n{done.stderr}")
    lost = re.search(r"counter packets (\d+)", said)
    check("a rule of nft loses frames", lost and int(lost[1]) > 0, said)
    resent = re.search(rf"process 0 and 1: {ROUNDS} rounds, (\d+) resent", said)
    check("which are sent again", resent and int(resent[1]) > 0, said)
    counts = [int(number) for number in re.findall(r"^bus[01] (\d+)$", said, re.MULTILINE)]
    check("all cross the bridge", len(counts) == 2 and min(counts) >= ROUNDS, said)
    check("there are no such interfaces outside", not interfaces() & {"dpdk0", "bus0", "dpdkbr"})
    done = run("3", "--huge", "no", "--memory", "20", "--", "sh", "-c",
               "env | grep ^DPDK_PORTS_; echo; ls -d \"$RUNTIME_DIRECTORY\"; exit 5")
    check("the status is the command's", done.returncode == 5, done)
    said = done.stdout
    for text in ("DPDK_PORTS_COUNT=3\n", "DPDK_PORTS_KIND=memif\n", "DPDK_PORTS_MTU=1500\n",
                 "DPDK_PORTS_MACS=02:0d:00:00:00:01 02:0d:00:00:00:02 02:0d:00:00:00:03\n",
                 "DPDK_PORTS_ADDRESSES=10.78.0.1 10.78.0.2 10.78.0.3\n",
                 "DPDK_PORTS_DEVICES_1=net_memif0 net_memif2\n", "DPDK_PORTS_PEERS_1=0 2\n"):
        check("variable " + text.strip(), text in said, said)
    check("memory as wanted", said.count("--no-huge --no-shconf -m 20 ") == 3, said)
    directory = said.strip().splitlines()[-1]
    check("the directory for EAL's files is gone", directory.startswith("/") and not os.path.exists(directory), said)
    show = 'echo "$DPDK_PORTS_INDEX {index} $# $*"'
    done = run("2", "--huge", "no", "--each", "--", "sh", "-c", show, "name", "{eal}")
    said = sorted(done.stdout.splitlines())
    check("{eal} and {index}", len(said) == 2 and said[0].startswith("0 0 9 --no-huge ")
          and said[1].startswith("1 1 9 --no-huge "), done)


def test_user():
    drop = []
    if os.geteuid() == 0:
        drop = ["setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups"]
    exchange("an ordinary user, memif", 2, before=drop)
    # Refused for example in a changed root directory.
    allowed = subprocess.run([*drop, "unshare", "--user", "--net", "true"], capture_output=True, check=False)
    if allowed.returncode == 0:
        exchange("an ordinary user, af_packet", 2, "--kind", "af_packet", before=drop)
    else:
        done = run("2", "--kind", "af_packet", "--", "true", before=drop)
        check("without user namespaces af_packet is refused",
              done.returncode == 125 and "run this as root, or use --kind memif" in done.stderr, done)


def signalled(number, *words):
    """Stops a bed by a signal when its command runs."""
    process = subprocess.Popen([DPDK_PORTS, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, env=dict(os.environ, BED_TEST=str(os.getpid())))
    line = process.stdout.readline()
    process.send_signal(number)
    process.wait(LIMIT)
    process.stdout.close()
    return line == "running\n" and wait_until(lambda: not bed_processes()), process.returncode


def test_end():
    environment = dict(os.environ, BED_TEST=str(os.getpid()))
    waiting = ["sh", "-c", "echo running; setsid sleep 100000"]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        good, status = signalled(number, "2", "--each", "--kind", "af_packet", "--", *waiting)
        check(f"{number.name} ends all processes", good and status == 128 + number, (good, status, bed_processes()))
    stubborn = ["sh", "-c", "trap '' TERM; echo running; while :; do sleep 1; done"]
    good, status = signalled(signal.SIGTERM, "2", "--", *stubborn)
    check("who ignores SIGTERM is killed", good and status == 143, (good, status, bed_processes()))
    done = run("2", "--", "sh", "-c", "setsid sleep 100000 & exit 3", env=environment)
    check("what the command leaves running ends with it", done.returncode == 3 and not bed_processes(), done)
    done = run("2", "--each", "--", "sh", "-c", '[ $DPDK_PORTS_INDEX = 0 ] || exit 9; sleep 100000', env=environment)
    check("the first failure ends the others", done.returncode == 9 and not bed_processes(), done)
    done = run("32", "--each", "--", "true", env=environment)
    check("those that end at once are seen", done.returncode == 0, done)
    done = run("2", "--each", "--", "sh", "-c", "kill -SEGV $$", env=environment)
    check("a signal's status", done.returncode == 128 + signal.SIGSEGV, done)
    done = run("2", "--timeout", "1", "--", "sleep", "100000", env=environment)
    check("the time limit ends it", done.returncode == 124 and "not finished after 1 s" in done.stderr
          and not bed_processes(), done)
    check("nothing is left", not traces(), traces())
    for words, text in ((["1", "--", "true"], "'1': allowed is a whole number from 2 to 32"),
                        (["2", "--kind", "tin", "--", "true"], "invalid choice: 'tin'"),
                        (["2", "--apart", "--each", "--", "true"], "--apart needs --each and a kind with interfaces"),
                        (["2", "--kind", "af_xdp", "--mtu", "9000", "--", "true"],
                         "--mtu '9000': allowed is up to 3498")):
        done = run(*words)
        check(f"refused: {' '.join(words)}", done.returncode == 2 and text in done.stderr, done)
    done = run("2", "--", "/nowhere/program")
    check("refused: no such program", done.returncode == 125 and "/nowhere/program" in done.stderr, done)
    done = run("32", "--huge", "yes", "--memory", "1000000", "--", "true")
    check("refused: more huge pages than there are", done.returncode == 125 and "MiB are needed" in done.stderr, done)


def main():
    groups = {"exchange": test_exchange, "launcher": test_launcher, "user": test_user, "end": test_end}
    if EXCHANGE is None and sys.argv[2] != "end":
        print("ok 1 - exchange # SKIP DPDK is not installed (libdpdk-dev)\n1..1")
        return 0
    with tempfile.TemporaryDirectory(prefix="beds-test.") as directory:
        os.chmod(directory, 0o1777)  # an ordinary user's beds, too
        os.environ["TMPDIR"] = directory
        groups[sys.argv[2]]()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
