#!/usr/bin/env python3
"""Tests of soft-roce on real machines.

    soft_roce_test.py SOFT_ROCE GROUP        GROUP: command, devices, end, user

Each group boots a machine or two (6 to 12 s each, emulated). Prints TAP.
"""
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from tap import check, finish  # noqa: E402

SOFT_ROCE = os.path.realpath(sys.argv[1])
ROOT = os.path.realpath(os.path.join(os.path.dirname(SOFT_ROCE), "..", ".."))
LIMIT = 280  # seconds for one machine, on a loaded computer, too
ORDINARY_USER = 65534


def run(*words, **more):
    more.setdefault("cwd", ROOT)
    return subprocess.run([SOFT_ROCE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                          check=False, **more)


def start(*words):
    return subprocess.Popen([SOFT_ROCE, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def fields_of(process):
    """Name, state and parent of a process; None if it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return None
    name = text[text.index("(") + 1:text.rindex(")")]
    state, parent = text[text.rindex(")") + 2:].split()[:2]
    return name, state, int(parent)


def machines_of(process):
    """The qemu processes that this process has started."""
    every = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [number for number in every
            if (fields := fields_of(number)) and fields[0].startswith("qemu") and fields[2] == process]


def wait_until(condition):
    """Its value as soon as it is true; or what it is after a minute."""
    end = time.monotonic() + 60
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return value


def is_gone(process):
    fields = fields_of(process)
    return fields is None or fields[1] == "Z"


def traces():
    """What a run could leave behind: files in our directory for temporary files, mounts."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = file.read().splitlines()
    return os.listdir(os.environ["TMPDIR"]) + [line for line in mounts if "soft-roce" in line or "share0" in line]


# ---- groups ----

COMMAND_SCRIPT = r"""
echo to-out; echo to-err >&2
printf 'end without newline'
echo "directory $PWD" >&2
echo "license $(sha256sum <LICENSE)" >&2
echo "variables $MP_EUILIB,$BED_A,$BED_B,${BED_C-unset}" >&2
echo "first,${1}second" >&2
echo changed >LICENSE && echo "wrote" >&2
echo given back >"$SOFT_ROCE_SCRATCH/result"
head -c 3000000 /dev/zero | tr '\0' z >"$SOFT_ROCE_SCRATCH/large"
echo "locked $(ulimit -l)" >&2
modprobe sch_netem && echo "module" >&2
(trap '' HUP TERM; while :; do sleep 1; done) &
exit 7
"""


def test_command():
    with tempfile.TemporaryDirectory(prefix="beds-test.") as scratch:
        license_file = os.path.join(ROOT, "LICENSE")
        with open(license_file, encoding="utf-8") as file:
            before = file.read()
        environment = dict(os.environ, MP_EUILIB="us", BED_A="from outside", BED_C="not passed on")
        done = run("--scratch", scratch, "--env", "BED_A", "--env", "BED_B=said 'here'", "--memlock", "64", "--",
                   "bash", "-c", COMMAND_SCRIPT, "name", "a b'c\"", env=environment)
        digest = hashlib.sha256(before.encode()).hexdigest()
        said = done.stderr
        check("the exit status is the command's, with a child that goes on", done.returncode == 7, done)
        check("standard output is complete", done.stdout == "to-out\nend without newline", done)
        check("standard error is passed on apart", said.startswith("to-err\n"), done)
        check("the present directory is the same", f"directory {ROOT}\n" in said, said)
        check("files are the host's", f"license {digest}" in said, said)
        check("variables are passed on", "variables us,from outside,said 'here',unset\n" in said, said)
        check("arguments come unchanged", "first,a b'c\"second\n" in said, said)
        with open(license_file, encoding="utf-8") as file:
            check("what is written there does not come to the host", "wrote\n" in said and file.read() == before, said)
        with open(os.path.join(scratch, "result"), encoding="utf-8") as file:
            check("what is written to the scratch directory does", file.read() == "given back\n")
        check("large files, too", os.path.getsize(os.path.join(scratch, "large")) == 3000000)
        check("the limit of locked memory is set", "locked 64\n" in said, said)
        check("more modules can be loaded", "module\n" in said, said)


DEVICES_SCRIPT = r"""
for device in $SOFT_ROCE_DEVICES; do ibv_devinfo -v -d $device; done
pair() { # TOOL ARGUMENTS...: a server on the first device, a client on the second
    "$@" -d rxe0 >/tmp/server 2>&1 & server=$!
    port=$(printf %04X 18515)
    until grep -q ":$port .* 0A " /proc/net/tcp /proc/net/tcp6; do kill -0 $server || break; sleep 0.1; done
    "$@" -d rxe1 127.0.0.1 >/tmp/client 2>&1; client=$?
    wait $server
    echo "$* ended with $client and $?"
    if [ $client != 0 ]; then cat /tmp/client /tmp/server; fi
}
before=$(cat /sys/class/net/port0/statistics/rx_packets)
pair ibv_rc_pingpong -g $SOFT_ROCE_GID_INDEX -p 18515 -n 200
pair ibv_ud_pingpong -g 2 -p 18515 -n 200
pair ib_read_lat -x 1 -F -p 18515 -n 100
echo "packets $(($(cat /sys/class/net/port0/statistics/rx_packets) - before))"
cat >/tmp/pin.py <<'END'
import ctypes, mmap
verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr"):
    getattr(verbs, name).restype = ctypes.c_void_p
devices = ctypes.cast(verbs.ibv_get_device_list(None), ctypes.POINTER(ctypes.c_void_p))
domain = verbs.ibv_alloc_pd(ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(devices[0]))))
for pages in (4, 64):
    memory = mmap.mmap(-1, pages * 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    region = verbs.ibv_reg_mr(ctypes.c_void_p(domain), ctypes.c_void_p(address), ctypes.c_size_t(pages * 4096), 1)
    print("pinned" if region else "refused", pages, flush=True)
END
python3 /tmp/pin.py
ip link set port3 down
until grep -q DOWN /sys/class/infiniband/rxe3/ports/1/state; do sleep 0.1; done
echo "cable $(cat /sys/class/infiniband/rxe2/ports/1/state) $(cat /sys/class/infiniband/rxe3/ports/1/state)"
"""


def test_devices():
    done = run("--devices", "4", "--memlock", "128", "--", "bash", "-c", DEVICES_SCRIPT)
    said = done.stdout
    check("the command was carried out", done.returncode == 0, done)
    for number in range(4):
        part = said.partition(f"hca_id:\trxe{number}\n")[2].partition("hca_id:")[0]
        check(f"rxe{number} is active", "PORT_ACTIVE" in part and re.search(r"active_mtu:\s+4096", part), part)
        for index, gid in enumerate((f"fe80::77:ff:fe00:{number + 1}", f"::ffff:10.77.0.{number + 1}",
                                     f"fd77::{number + 1}")):
            check(f"rxe{number} has GID {index}", re.search(rf"GID\[ *{index}\]:\s+{gid}, RoCE v2", part), part)
    for tool in ("ibv_rc_pingpong", "ibv_ud_pingpong", "ib_read_lat"):
        check(f"{tool} between two devices", re.search(rf"^{tool} .* ended with 0 and 0$", said, re.MULTILINE), said)
    packets = re.search(r"^packets (\d+)$", said, re.MULTILINE)
    check("its packets cross the bridge", packets and int(packets[1]) >= 500, said)
    check("memory up to the limit is registered, more is not", "pinned 4\nrefused 64\n" in said, done)
    check("one cable can be pulled alone", re.search(r"^cable 4: ACTIVE 1: DOWN$", said, re.MULTILINE), said)
    refused = run("--adapters", "e1000e,ne2000", "--", "true")
    check("an adapter that it does not have is refused", refused.returncode == 2 and "e1000e,ne2000" in refused.stderr and
          "vmxnet3" in refused.stderr, refused)
    none = run("--devices", "0", "--", "sh", "-c", "ls /sys/class/infiniband; grep -c rxe /proc/modules")
    check("there is no device when none is wanted", none.returncode == 1 and none.stdout == "0\n", none)


def signalled(number):
    """Stops a run by a signal while its command runs: its status, and whether the machine is gone."""
    process = start("--", "sh", "-c", "echo running; sleep 100000")
    line = process.stdout.readline()
    machines = machines_of(process.pid)
    process.send_signal(number)
    rest = process.communicate(timeout=LIMIT)[0]
    gone = wait_until(lambda: all(is_gone(machine) for machine in machines))
    return line == "running\n" and len(machines) == 1 and gone, process.returncode, rest


def test_end():
    good, status, text = signalled(signal.SIGINT)
    check("SIGINT ends the machine", good and status == 130, (status, text))
    good, status, text = signalled(signal.SIGKILL)
    check("so does SIGKILL", good and status == -signal.SIGKILL, (status, text))
    process = start("--", "sleep", "100000")
    machines = wait_until(lambda: machines_of(process.pid) or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    text = process.communicate(timeout=LIMIT)[0]
    check("SIGTERM ends it while it starts", machines and process.returncode == 143, (process.returncode, text))
    check("and nothing is left", wait_until(lambda: all(is_gone(machine) for machine in machines)), machines)
    done = run("--timeout", "2", "--", "sleep", "100000")
    check("the time limit ends it", done.returncode == 124 and "not finished after 2 s" in done.stderr, done)
    done = run("--append", "init=/none rdinit=/none", "--", "true")
    check("a machine that does not start is reported with its console",
          done.returncode == 125 and "did not start" in done.stderr and "panic" in done.stderr.lower(), done)
    check("neither files nor mounts are left", not traces(), traces())
    for words, text in ((["--devices", "17", "--", "true"], "'17': allowed is a whole number from 0 to 16"),
                        (["--env", "A-B=1", "--", "true"], "'A-B=1': allowed is NAME or NAME=VALUE"),
                        (["--scratch", "/nowhere", "--", "true"], "'/nowhere' is no directory"),
                        (["--scratch", "/dev/shm", "--", "true"], "/dev/shm cannot be seen in the machine"),
                        ([], "no command")):
        done = run(*words)
        check(f"refused: {' '.join(words)}", done.returncode == 2 and text in done.stderr, done)
    done = run("--kernel", "1.2", "--", "true")
    check("refused: a kernel that is not here",
          done.returncode == 125 and "--kernel '1.2': allowed is one of" in done.stderr, done)


def test_user():
    """As an ordinary user, who gets a copy of the cache."""
    if os.geteuid() != 0:
        done = run("--", "id", "-u")
        check("an ordinary user's command is root in the machine", done.stdout == "0\n", done)
        return
    prepared = run("--prepare")
    check("everything is prepared", prepared.returncode == 0, prepared)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    with tempfile.TemporaryDirectory(prefix="beds-test.") as home:
        cache = os.path.join(home, "openlapi", "soft-roce")
        shutil.copytree(os.path.join(base, "openlapi", "soft-roce"), cache, symlinks=True)
        scratch = os.path.join(home, "scratch")
        os.mkdir(scratch)
        os.chmod(home, 0o755)
        os.chown(scratch, ORDINARY_USER, ORDINARY_USER)
        # The cache is root's: it is enough to read it.
        words = ["setpriv", f"--reuid={ORDINARY_USER}", f"--regid={ORDINARY_USER}", "--clear-groups", SOFT_ROCE,
                 "--cache", cache, "--scratch", scratch, "--",
                 "sh", "-c", "id -u; echo mine >$SOFT_ROCE_SCRATCH/file; ibv_devices; ls /root"]
        done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT,
                              env=dict(os.environ, HOME=home), check=False)
        check("an ordinary user's command is root in the machine", done.stdout.startswith("0\n"), done)
        check("with devices", "rxe0" in done.stdout and "rxe1" in done.stdout, done)
        check("but sees only the user's files", "Permission denied" in done.stderr and done.returncode != 0, done)
        path = os.path.join(scratch, "file")
        check("and its files are the user's", os.path.exists(path) and os.stat(path).st_uid == ORDINARY_USER, done)


def main():
    groups = {"command": test_command, "devices": test_devices, "end": test_end, "user": test_user}
    with tempfile.TemporaryDirectory(prefix="beds-test.") as directory:
        os.environ["TMPDIR"] = directory
        groups[sys.argv[2]]()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
