"""Hosts on one machine, for tests of what starts programs elsewhere: network, host name and processes of their own, an
sshd each, and an account "booter" beside root. They end with the process that made them, whatever ends it."""
import os
import pathlib
import shutil
import subprocess
import tempfile

NETWORK = "10.213.77"
ACCOUNT = "booter"
ACCOUNT_ID = 61277

# What a host does first; it lasts until its standard input, a pipe of the test, is closed.
INIT = r"""
set -e
export PATH=$PATH:/usr/sbin:/sbin
hostname "$1"
mount --make-rprivate /
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/sshd
for file in hosts passwd; do mount --bind "$2/$file" /etc/$file; done
ip link set lo up
echo ready
read -r word || exit 0
[ "$word" = sshd ] && "$3" -f "$2/sshd_config" -E "$2/sshd-$1.log" && echo listens
read -r word || exit 0
"""


PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def missing():
    """Why there can be no hosts here; empty: there can."""
    if os.geteuid() != 0:
        return "hosts need root"
    tools = [tool for tool in ("ssh", "ssh-keygen", "sshd", "unshare", "nsenter", "ip")
             if shutil.which(tool, path=PATH) is None]
    return "there is no " + ", ".join(tools) if tools else ""


class Hosts:
    """host0 .. host<count-1> with sshd, and "deaf" without; host0 is where tools run."""

    def __init__(self, folder, count):
        self.folder = pathlib.Path(folder)
        self.names = [f"host{number}" for number in range(count)] + ["deaf"]
        self.addresses = {name: f"{NETWORK}.{number + 1}" for number, name in enumerate(self.names)}
        self.processes = {}
        try:
            self._write_files()
            for name in self.names:
                self._start(name)
            self._connect()
            for name in self.names[:-1]:
                self._tell(name, "sshd", "listens")
        except BaseException:
            self.close()
            raise

    def close(self):
        for process in self.processes.values():
            process.stdin.close()
        for process in self.processes.values():
            process.wait(timeout=30)
            process.stdout.close()
        self.processes = {}

    def _write_files(self):
        keys = self.folder / "keys"
        keys.mkdir()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True, timeout=60)
        for user, number in (("root", 0), (ACCOUNT, ACCOUNT_ID)):
            shutil.copy(keys / "user", keys / f"user.{user}")
            os.chmod(keys / f"user.{user}", 0o600)
            os.chown(keys / f"user.{user}", number, number)
        home = self.folder / "home"
        home.mkdir()
        os.chown(home, ACCOUNT_ID, ACCOUNT_ID)
        accounts = [line for line in pathlib.Path("/etc/passwd").read_text().splitlines(True)
                    if not line.startswith(("sshd:", ACCOUNT + ":"))]
        self.write("passwd", "".join(accounts) + "sshd:x:61278:65534::/run/sshd:/usr/sbin/nologin\n"
                   + f"{ACCOUNT}:x:{ACCOUNT_ID}:{ACCOUNT_ID}::{home}:/bin/sh\n")
        self.write("hosts", "127.0.0.1 localhost\n" + f"{NETWORK}.99 nobodyhome\n"
                   + "".join(f"{address} {name}\n" for name, address in self.addresses.items()))
        public = (keys / "host.pub").read_text()
        self.write("known_hosts", "".join(f"{name},{address} {public}" for name, address in self.addresses.items()))
        # A .bashrc of root's that writes something would be a failure of every host.
        self.write("sshd_config", f"HostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nPidFile none\n"
                   "StrictModes no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n"
                   "KbdInteractiveAuthentication no\nUsePAM no\nUseDNS no\nMaxStartups 200\nSetEnv SHLVL=2\n")
        self.write("ssh_config", f"Host *\nIdentityFile {keys}/user.%u\nIdentitiesOnly yes\nStrictHostKeyChecking yes\n"
                   f"UserKnownHostsFile {self.folder}/known_hosts\nGlobalKnownHostsFile none\nBatchMode yes\n"
                   "ConnectTimeout 20\nLogLevel ERROR\nKexAlgorithms curve25519-sha256\n")

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.chmod(path, mode)
        return path

    def _start(self, name):
        self.processes[name] = subprocess.Popen(
            ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc",
             "sh", "-c", INIT, "init", name, self.folder, shutil.which("sshd", path=PATH)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._expect(name, "ready")

    def _tell(self, name, word, answer):
        self.processes[name].stdin.write(word + "\n")
        self.processes[name].stdin.flush()
        self._expect(name, answer)

    def _expect(self, name, answer):
        line = self.processes[name].stdout.readline()
        if line != answer + "\n":
            log = self.folder / f"sshd-{name}.log"
            raise RuntimeError(f"{name} said {line!r}, not {answer}: {log.read_text() if log.exists() else ''}")

    def process_of(self, name):
        """The host's first process, as this namespace numbers it."""
        parent = self.processes[name].pid
        return int(pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])

    def _connect(self):
        """host0 has a bridge, which the others are connected to."""
        def ip(name, *words):
            subprocess.run(["nsenter", "-t", str(self.process_of(name)), "--net", "ip", *words], check=True, timeout=30)
        ip("host0", "link", "add", "bridge", "type", "bridge")
        for number, name in enumerate(self.names[1:], 1):
            ip("host0", "link", "add", f"port{number}", "type", "veth", "peer", "name", "port", "netns",
               str(self.process_of(name)))
            ip("host0", "link", "set", f"port{number}", "master", "bridge", "up")
            ip(name, "addr", "add", f"{self.addresses[name]}/24", "dev", "port")
            ip(name, "link", "set", "port", "up")
        ip("host0", "addr", "add", f"{self.addresses['host0']}/24", "dev", "bridge")
        ip("host0", "link", "set", "bridge", "up")

    def on(self, name, words, user="root", **options):
        """Runs a program on a host and returns what subprocess.run does."""
        command = ["nsenter", "-t", str(self.process_of(name)), "--net", "--uts", "--ipc", "--pid", "--mount"]
        if user != "root":
            command += ["setpriv", "--reuid", str(ACCOUNT_ID), "--regid", str(ACCOUNT_ID), "--clear-groups"]
        # Files, not pipes: a daemon that is left behind keeps its outputs until its host ends.
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(command + [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=errors, check=False, **options)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(words, done.returncode, output.read(), errors.read())
