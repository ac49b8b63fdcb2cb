"""A universe whose nodes are network namespaces of one host of the bed `hosts`: many of them need little memory, and no ssh.
Each node has two adapters, eth0 and eth1, on two networks. Needs BUILD/bench/slow_agent, with which lamboot gets there."""
import ctypes
import fcntl
import os
import pathlib
import socket
import struct
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ADAPTER = "eth1"
IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS, CLONE_NEWNET = 1, 0x8913, 0x8914, 0x40000000
PROGRAMS = {"control/boot": ["hboot"], "control/tools": ["lamboot", "lamd", "lamhalt", "namstat", "tkill"]}


def ip(lines, node=None):
    words = ["ip", *(["-n", node] if node else []), "-batch", "-"]
    subprocess.run(words, input="".join(line + "\n" for line in lines), text=True, check=True)


def make_nodes(count):
    """The first one is here; each of the others has cables to two bridges. Their names are their addresses."""
    names = [f"10.214.0.{number + 1}" for number in range(count)]
    for number in range(2):
        ip([f"link add nodes{number} type bridge", f"addr add 10.214.{number}.1/24 dev nodes{number}", f"link set nodes{number} up"])
    for place, name in enumerate(names[1:], 1):
        ip([f"netns add {name}"])
        for number in range(2):
            ip([f"link add node{place}_{number} type veth peer name eth{number} netns {name}",
                f"link set node{place}_{number} master nodes{number} up"])
            ip([f"addr add 10.214.{number}.{place + 1}/24 dev eth{number}", f"link set eth{number} up"], name)
        ip(["link set lo up"], name)
    return names


class Switch:
    """Takes the second adapter of a node down and up, without a process for it."""

    def __init__(self, names):
        libc, here = ctypes.CDLL(None, use_errno=True), os.open("/proc/self/ns/net", os.O_RDONLY)
        self.sockets = []
        for name in names:
            there = os.open(f"/run/netns/{name}", os.O_RDONLY)
            assert libc.setns(there, CLONE_NEWNET) == 0
            self.sockets.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            os.close(there)
        assert libc.setns(here, CLONE_NEWNET) == 0

    def set(self, number, is_up):
        """When it began."""
        request = struct.pack("16sH14x", ADAPTER.encode(), 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(self.sockets[number], SIOCGIFFLAGS, request))[1]
        request = struct.pack("16sH14x", ADAPTER.encode(), flags | IFF_UP if is_up else flags & ~IFF_UP)
        start = time.monotonic_ns()
        fcntl.ioctl(self.sockets[number], SIOCSIFFLAGS, request)
        return start


class Universe:
    """Daemons on so many nodes, the first of which is this host."""

    def __init__(self, build, nodes):
        self.build = build
        self.folder = pathlib.Path(os.environ["HOSTS_FOLDER"])
        (self.folder / "bin").mkdir()
        (self.folder / "nodes").mkdir()
        for folder, names in PROGRAMS.items():
            for name in names:
                (self.folder / "bin" / name).symlink_to(self.build / folder / name)
        self.names = make_nodes(nodes)
        (self.folder / "schema").write_text("".join(f"{name} prefix={self.folder}\n" for name in self.names))
        self.environment = os.environ | {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "LAM_MPI_SSI_boot": "rsh", "SHELL": "/bin/bash",
            "LAM_MPI_SSI_boot_rsh_agent": f"{self.build}/bench/slow_agent blocks 0 {self.folder}/nodes",
            "LAM_MPI_SSI_boot_rsh_fast": "1"}
        schema = ROOT / "control/boot/settings/lam-conf.lamd"
        subprocess.run(["lamboot", "-H", "-c", schema, self.folder / "schema"], env=self.environment, check=True)

    def session(self, name):
        place = pathlib.Path("/tmp") if name == self.names[0] else self.folder / "nodes" / name
        return next(place.glob("lam-*@*"))

    def start(self, name, words):
        enter = [] if name == self.names[0] else ["nsenter", f"--net=/run/netns/{name}", "--"]
        environment = self.environment | ({} if name == self.names[0] else {"TMPDIR": str(self.folder / "nodes" / name)})
        return subprocess.Popen([*enter, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                bufsize=1)

    def end(self):
        subprocess.run(["lamhalt", "-H"], env=self.environment, check=True)
