"""The hosts of the bed `hosts`: what each has of its own, the network between them, and their end."""
import contextlib
import ctypes
import errno
import os
import pathlib
import re
import secrets
import signal
import subprocess
import uuid

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
NETWORK = "10.213.77"
NOBODY = 250  # last part of the address that no host has
OWN_FOLDERS = {"/tmp": "mode=1777", "/run": "mode=755", "/dev/shm": "mode=1777"}  # a file system of its own on each
ETC_FILES = ("hosts", "resolv.conf", "hostname", "machine-id")  # of each host's own; a bare system may lack some
FOLDER = "/run/openlapi-hosts"  # every host sees this one; it is memory and ends with the bed

libc = ctypes.CDLL(None, use_errno=True)


class HostError(Exception):
    """The hosts cannot be had; the text is for the user."""


def call(name, *words):
    """A function of libc that returns 0 or sets errno."""
    if getattr(libc, name)(*words) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind="none", flags=0, data=""):
    call("mount", source.encode(), target.encode(), kind.encode(), flags, data.encode())


def shown_on_hosts(folder):
    """Whether every host has this folder anyway."""
    return not any(folder == own or folder.startswith(own + "/") for own in OWN_FOLDERS)


def cover(folders, kept):
    """New file systems on `folders`; the folders `kept` stay visible under their names."""
    opened = {folder: os.open(folder, os.O_PATH | os.O_DIRECTORY) for folder in kept}
    for folder in folders:
        mount("tmpfs", folder, "tmpfs", 0, OWN_FOLDERS[folder])
    for folder, descriptor in opened.items():
        os.makedirs(folder, exist_ok=True)
        mount(f"/proc/self/fd/{descriptor}", folder, flags=MS_BIND | MS_REC)
        os.close(descriptor)


def mount_points():
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        return [re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), line.split()[4]) for line in file]


def make_mounts_private():
    """Nobody outside sees what is mounted from now on. After a chroot "/" may be no mount point, and cannot be made private:
    a copy of all that is there takes its place, mounted over /proc."""
    try:
        mount("none", "/", flags=MS_REC | MS_PRIVATE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        for point in mount_points():
            mount("none", point, flags=MS_PRIVATE)
        folder = os.getcwd()
        mount("/", "/proc", flags=MS_BIND | MS_REC)
        os.chroot("/proc")
        os.chdir(folder)
        mount("none", "/", flags=MS_REC | MS_PRIVATE)


def enter_own_mounts(kept):
    """For the bed itself: its files lie in memory that nobody else sees and that nothing can leave behind."""
    call("unshare", CLONE_NEWNS)
    make_mounts_private()
    cover(["/run"], [folder for folder in kept if folder.startswith("/run/")])
    os.mkdir(FOLDER, 0o755)


class Hosts:
    """host0 .. host<count-1>. `kept`: folders below OWN_FOLDERS that they shall all see."""

    def __init__(self, count, kept):
        self.names = [f"host{number}" for number in range(count)]
        self.addresses = {name: f"{NETWORK}.{number + 1}" for number, name in enumerate(self.names)}
        self.kept = [FOLDER, *kept]
        self.processes = {}  # the first process of each host, as we number it
        self._write_files()
        try:
            for name in self.names:
                self._start(name)
            self._connect()
        except BaseException:
            self.close()
            raise

    def close(self):
        """The kernel ends all processes of a host with its first."""
        for process in self.processes.values():
            os.kill(process, signal.SIGKILL)
        for process in self.processes.values():
            os.waitpid(process, 0)
        self.processes = {}

    def write(self, name, text, mode=0o644):
        path = pathlib.Path(FOLDER, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return str(path)

    def start(self, name, words, **options):
        """A process on a host, in the present folder."""
        enter = ["nsenter", "-t", str(self.processes[name]), "--net", "--uts", "--ipc", "--pid", "--mount",
                 "--root", f"--wdns={os.getcwd()}", "--"]
        return subprocess.Popen([*enter, *words], **options)

    def everywhere(self, script, *words):
        """A shell script on all hosts at once. Its output is shown when it fails."""
        started = {name: self.start(name, ["sh", "-e", "-c", script, "sh", *words], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                   for name in self.names}
        said = {name: process.communicate()[0] for name, process in started.items()}
        for name, process in started.items():
            if process.returncode != 0:
                raise HostError(f"{name}: status {process.returncode}: {said[name].strip()}")

    def _write_files(self):
        self.write("hosts", "127.0.0.1 localhost\n" + f"{NETWORK}.{NOBODY} nobody\n"
                   + "".join(f"{address} {name}\n" for name, address in self.addresses.items()))
        self.write("resolv.conf", "")
        if not all(os.path.exists(f"/etc/{name}") for name in ETC_FILES):
            copy = pathlib.Path(FOLDER, "etc")
            subprocess.run(["cp", "-a", "/etc", copy], check=True)
            for name in ETC_FILES:
                if not (copy / name).exists():
                    (copy / name).unlink(missing_ok=True)
                    (copy / name).touch()
        for name in self.names:
            self.write(f"{name}/hostname", name + "\n")
            self.write(f"{name}/machine-id", secrets.token_hex(16) + "\n")
            self.write(f"{name}/boot_id", str(uuid.uuid4()) + "\n")

    def _start(self, name):
        reader, writer = os.pipe()
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        call("unshare", CLONE_NEWPID)  # for children
        process = os.fork()
        if process == 0:
            status = 1
            try:
                status = be_host(name, self.kept, writer)
            except OSError as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(status)
        call("setns", own, CLONE_NEWPID)
        os.close(own)
        os.close(writer)
        self.processes[name] = process
        with os.fdopen(reader) as answer:
            said = answer.read()
        if said != "ready":
            raise HostError(f"{name} does not start: {said}")

    def _ip(self, name, lines):
        done = subprocess.run(["nsenter", "-t", str(self.processes[name]), "--net", "ip", "-batch", "-"],
                              input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HostError(f"{name}: ip failed: {done.stderr.strip()}")

    def _connect(self):
        """host0 has a bridge, which the cables of the others lead to."""
        hub, *others = self.names
        lines = ["link set lo up", "link add bridge type bridge", f"addr add {self.addresses[hub]}/24 dev bridge",
                 "link set bridge up"]
        for name in others:
            port = "port" + name.removeprefix("host")
            lines += [f"link add {port} type veth peer name eth0 netns {self.processes[name]}",
                      f"link set {port} master bridge up"]
        self._ip(hub, lines)
        for name in others:
            self._ip(name, ["link set lo up", f"addr add {self.addresses[name]}/24 dev eth0", "link set eth0 up"])


# ---- in a host ----

def be_host(name, kept, ready):
    """The first process of a host; returns when it is switched off, by SIGTERM."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.setsid()
    call("unshare", CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS)
    call("sethostname", name.encode(), len(name))
    mount_own(name, kept)
    null = os.open("/dev/null", os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.write(ready, b"ready")
    os.closerange(3, 1 << 16)
    while signal.sigwait({signal.SIGCHLD, signal.SIGTERM}) != signal.SIGTERM:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
    return 0


def mount_own(name, kept):
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    cover(OWN_FOLDERS, kept)
    with contextlib.suppress(OSError):  # what is not there cannot be shared
        mount("mqueue", "/dev/mqueue", "mqueue")
    with contextlib.suppress(OSError):  # a container may refuse it; only /sys/class/net is wrong then
        mount("sysfs", "/sys", "sysfs")
        mount("none", "/sys/fs/cgroup", "cgroup2")
    for folder in ("/run/lock", "/run/sshd"):
        os.mkdir(folder)
    if os.path.exists(f"{FOLDER}/etc"):
        mount(f"{FOLDER}/etc", "/etc", flags=MS_BIND)
    for source, target in (("hosts", "/etc/hosts"), ("resolv.conf", "/etc/resolv.conf"),
                           (f"{name}/hostname", "/etc/hostname"), (f"{name}/machine-id", "/etc/machine-id"),
                           (f"{name}/boot_id", "/proc/sys/kernel/random/boot_id")):
        if os.path.exists(target):
            mount(f"{FOLDER}/{source}", os.path.realpath(target), flags=MS_BIND)
