"""What each kind of port of dpdk-ports is made of: devices and their EAL arguments, and the network that they need."""
import contextlib
import ctypes
import os
import subprocess

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
BRIDGE = "dpdkbr"


class PortError(Exception):
    """The ports cannot be had; the text is for the user."""


class Device:
    """A DPDK device of one process, and the processes that it reaches."""

    def __init__(self, name, arguments, peers):
        self.name, self.peers = name, peers
        self.vdev = f"--vdev={name},{arguments}"


def mac_of(index):
    return f"02:0d:00:00:00:{index + 1:02x}"


def address_of(index):
    return f"10.78.0.{index + 1}"


def interface_of(index):
    return f"dpdk{index}"


def interface_number(index):
    """The driver af_packet names a group of sockets by (process id xor interface number) modulo 2^16, and must not find
    another's. Numbers that differ only in high bits keep processes apart whose ids are close."""
    return (index + 1) << 11


# ---- devices ----

def frame_room(mtu):
    """Bytes of a receive buffer in a driver's own memory: the frame and what the kernel says of it. Four of them are
    whole pages."""
    return max(2048, (mtu + 14 + 128 + 1023) // 1024 * 1024)


def memif_devices(index, count, mtu, name):
    """One device for each peer. The one with the lower number opens the socket, an abstract one: no file is left, and a
    process that was killed can be started again."""
    devices = []
    for peer in range(count):
        if peer != index:
            first, second = min(index, peer), max(index, peer)
            role = "server" if index == first else "client"
            devices.append(Device(f"net_memif{peer}", f"role={role},id=0,socket={name}-{first}-{second},"
                                  f"socket-abstract=yes,bsize={frame_room(mtu)},mac={mac_of(index)}", [peer]))
    return devices


def all_but(index, count):
    return [peer for peer in range(count) if peer != index]


def af_packet_devices(index, count, mtu, name):
    del name
    # Without the queueing discipline, tc and nft could not shape or lose what is sent.
    room = f"framesz={frame_room(mtu)},blocksz={frame_room(mtu) * 4},framecnt=512,qdisc_bypass=0"
    return [Device("net_af_packet0", f"iface={interface_of(index)},{room}", all_but(index, count))]


def af_xdp_devices(index, count, mtu, name):
    del mtu, name
    return [Device("net_af_xdp0", f"iface={interface_of(index)}", all_but(index, count))]


class Kind:
    """devices: function (index, count, mtu, name). network: whether the ports are interfaces on a bridge."""

    def __init__(self, devices, network, most_mtu, text):
        self.devices, self.network, self.most_mtu, self.text = devices, network, most_mtu, text


KINDS = {
    "memif": Kind(memif_devices, False, 9000, "shared memory, one device for each peer"),
    "af_packet": Kind(af_packet_devices, True, 9000, "interfaces on a bridge, one device reaches all"),
    "af_xdp": Kind(af_xdp_devices, True, 3498, "the same through XDP sockets; as root"),
}


# ---- network ----

def run_ip(lines):
    result = subprocess.run(["ip", "-batch", "-"], input="".join(line + "\n" for line in lines), capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        raise PortError("ip failed: " + result.stderr.strip())


def enter_new_namespace():
    """A network stack of our own, which vanishes with the last process in it. Without the right to have one, a user
    namespace gives it, in which we are root."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) == 0:
        return
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        raise PortError("there is neither the right to make network namespaces nor user namespaces here "
                        f"({os.strerror(ctypes.get_errno())}); run this as root, or use --kind memif")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def silence_kernel():
    """No frames of the kernel's own on interfaces that are made from now on. Where that is refused, they do no harm."""
    path = "/proc/sys/net/ipv6/conf/default/disable_ipv6"
    with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write("1")


class Network:
    """A bridge with one interface for each process, in a namespace that the caller is then in; or, if they shall be
    apart, each process's interface in a further namespace."""

    def __init__(self, count, mtu, apart):
        self.namespaces = []  # descriptors; empty if the processes share one
        self.libc = ctypes.CDLL(None, use_errno=True)
        enter_new_namespace()
        hub = os.open("/proc/self/ns/net", os.O_RDONLY)
        silence_kernel()
        lines = ["link set lo up", f"link add {BRIDGE} mtu {mtu} type bridge", f"link set {BRIDGE} up"]
        for index in range(count):
            lines += [f"link add {interface_of(index)} index {interface_number(index)} mtu {mtu} "
                      f"address {mac_of(index)} type veth peer name bus{index} mtu {mtu}",
                      f"link set bus{index} master {BRIDGE} up"]
        run_ip(lines)
        for index in range(count):
            if apart:
                self.move(index, hub)
            else:
                run_ip([f"link set {interface_of(index)} up"])
        os.close(hub)

    def move(self, index, hub):
        enter = self.libc.unshare(CLONE_NEWNET)
        silence_kernel()
        self.namespaces.append(os.open("/proc/self/ns/net", os.O_RDONLY))
        if enter != 0 or self.libc.setns(hub, CLONE_NEWNET) != 0:
            raise PortError("no further network namespace: " + os.strerror(ctypes.get_errno()))
        run_ip([f"link set {interface_of(index)} netns /proc/{os.getpid()}/fd/{self.namespaces[-1]}"])
        self.enter(index)
        run_ip(["link set lo up", f"link set {interface_of(index)} up"])
        if self.libc.setns(hub, CLONE_NEWNET) != 0:
            raise PortError("no way back: " + os.strerror(ctypes.get_errno()))

    def enter(self, index):
        """For a process that is to become number `index`."""
        if self.namespaces and self.libc.setns(self.namespaces[index], CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
