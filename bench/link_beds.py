"""Two tasks with several links between them, in each of the beds: what striped_links, idle_path and failover measure. Each
class has the defaults of its bed, connect(), and run(), which gives what task 0 prints. Those whose links may fail have
start(), and commands of ip and tc that let the first one fail and serve again: when task 0 is told, and when what is sent
to task 1 vanishes."""
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/beds"))


def refuse(text):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {text}")


def shaping(interface, megabits, limit="1m"):
    """The words that let an interface send so much, or as fast as it can (0). `limit`: what waits for that at most."""
    return f"tc qdisc add dev {interface} root tbf rate {megabits}mbit burst 128k limit {limit}" if megabits else "true"


def piped(launcher, script, environment):
    """The job, whose task 0 is told by its standard input what to do."""
    return subprocess.Popen([launcher, "-n", "2", "/bin/sh", "-c", script], env=environment, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


def started(launcher, script, environment):
    done = subprocess.run([launcher, "-n", "2", *(["-N", "1"] if launcher == "lapirun" else []), "/bin/sh", "-c", script],
                          env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


class Hosts:
    """UDP: networks between two hosts, in tests/beds/hosts 2 --sshd, as root."""
    transport, links, megabits, size, seconds = "UDP", (1, 2, 4, 8), 400, 4 << 20, 2

    def __init__(self, build):
        from hosts_programs import environment, install, write_schema  # they read the bed's environment
        self.build = build
        self.names = os.environ["HOSTS_NAMES"].split()
        self.variables = environment(LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1", LAPI_USE_SHM="no")
        install(build)
        schema = ROOT / "control/boot/settings/lam-conf.lamd"
        subprocess.run(["lamboot", "-H", "-c", schema, write_schema(self.names)], env=self.variables, check=True)

    def connect(self, megabits, mtu):
        """As many networks more as there are numbers, each of which carries so much from each host."""
        widen = (f'for port in eth0 bridge $(ls /sys/class/net/bridge/brif 2>/dev/null); do '
                 f'[ ! -e /sys/class/net/$port ] || ip link set $port mtu {mtu}; done')
        for host in self.names:
            subprocess.run(["ssh", host, widen], check=True)
        for link, rate in enumerate(megabits):
            name = f"fast{link}"
            for number, host in enumerate(self.names, 1):
                parent = "bridge" if number == 1 else "eth0"
                script = (f"ip link add name {name} link {parent} mtu {mtu} type macvlan mode bridge && "
                          f"ip address add 10.{77 + link}.0.{number}/24 dev {name} && ip link set {name} up && "
                          + shaping(name, rate))
                subprocess.run(["ssh", host, script], check=True)

    def run(self, links, words):
        own = ":".join(f"10.{77 + link}.0.$number,fast{link}" for link in range(links))
        # lapirun gives the first task of each host the first processor, which is the same one for all hosts of the bed.
        processors = os.sched_getaffinity(0)
        script = (f"number=$(($(hostname | tr -dc 0-9) + 1)); "
                  f"[ $number = 1 ] && processor={min(processors)} || processor={max(processors)}; "
                  f"MP_LAPI_INET_ADDR=@{links}:{own} exec taskset -c $processor {words}")
        return started("lapirun", script, self.variables)

    def end(self):
        subprocess.run(["lamhalt", "-H"], env=self.variables, check=True)


class Ports:
    """DPDK: interfaces on a bridge, in tests/beds/dpdk-ports 16 --kind af_packet; a task has every second one."""
    transport, links, megabits, size, seconds = "DPDK af_packet", (1, 2, 4, 8), 400, 4 << 20, 2
    down, up = "link set dpdk0 down", "link set dpdk0 up"
    vanish, appear = "qdisc add dev bus1 root blackhole", "qdisc delete dev bus1 root"
    outage, pause = 0.3, 1.2

    def __init__(self, build):
        self.build = build
        if os.environ["DPDK_PORTS_KIND"] != "af_packet":
            refuse("only ports of the kind af_packet can be shaped and have several links: --kind af_packet")

    def connect(self, megabits, mtu):
        """`mtu` is the bed's to choose."""
        del mtu
        if 2 * len(megabits) > int(os.environ["DPDK_PORTS_COUNT"]):
            refuse(f"{len(megabits)} links need tests/beds/dpdk-ports {2 * len(megabits)}")
        for link, rate in enumerate(megabits):
            for task in range(2):
                port = f"dpdk{2 * link + task}"
                subprocess.run(["ip", "address", "add", f"10.{77 + link}.0.{task + 1}/24", "dev", port], check=True)
                subprocess.run(shaping(port, rate).split(), check=True)

    @staticmethod
    def arguments(task, links):
        """EAL's, with a device for each link."""
        words = [word for word in os.environ[f"DPDK_PORTS_EAL_{task}"].split() if not word.startswith("--vdev=")]
        for link in range(links):
            own = os.environ[f"DPDK_PORTS_EAL_{2 * link + task}"]
            words.append(re.search(r"--vdev=\S+", own).group(0).replace("net_af_packet0", f"net_af_packet{link}"))
        return " ".join(words)

    def job(self, links, words):
        environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "dpdk", "LAPI_USE_SHM": "no",
                       "MP_EUIDEVICE": "sn_all", "ARGUMENTS_0": self.arguments(0, links),
                       "ARGUMENTS_1": self.arguments(1, links)}
        script = f'eval "export OPENLAPI_DPDK_ARGUMENTS=\\"\\$ARGUMENTS_$PMIX_RANK\\""; exec {words}'
        return self.build / "control/lapirun", script, environment

    def run(self, links, words):
        return started(*self.job(links, words))

    def start(self, links, words):
        return piped(*self.job(links, words))

    def end(self):
        pass


class Devices:
    """Verbs: RDMA devices in a virtual machine, in tests/beds/soft-roce --devices 8; a task has every second one. The
    machine may be emulated: links are so slow that it is not what limits, and all that is read at a time (soft-RoCE
    answers without a pause) may wait for them."""
    transport, links, megabits, size, seconds = "verbs", (1, 2, 4), 20, 16 << 20, 14
    bulk = "yes"
    down, up = "link set port0 down", "link set port0 up"
    vanish, appear = "qdisc add dev port1 root blackhole", "qdisc delete dev port1 root"
    outage, pause = 2, 2  # so slow is the machine

    def __init__(self, build):
        self.build = build

    def connect(self, megabits, mtu):
        """`mtu` is the bed's to choose."""
        del mtu
        if 2 * len(megabits) > len(os.environ["SOFT_ROCE_DEVICES"].split()):
            refuse(f"{len(megabits)} links need tests/beds/soft-roce --devices {2 * len(megabits)}")
        for interface in range(2 * len(megabits)):
            subprocess.run(shaping(f"rdma{interface}", megabits[interface // 2], "4m").split(), check=True)

    def job(self, links, words):
        windows = ":".join(f"{link + 1},rxe$(({2 * link} + PMIX_RANK))" for link in range(links))
        environment = {**os.environ, "MP_EUILIB": "us", "OPENLAPI_MODULES": "verbs", "LAPI_USE_SHM": "no",
                       "MP_USE_BULK_XFER": self.bulk, "OPENLAPI_LIBRARY_FOLDER": str(self.build / "openlapi")}
        return self.build / "control/lapirun", f"MP_LAPI_NETWORK=@{links}:{windows} exec {words}", environment

    def run(self, links, words):
        return started(*self.job(links, words))

    def start(self, links, words):
        return piped(*self.job(links, words))

    def end(self):
        pass


def bed_around():
    """The class for the bed that this runs in; None: in no bed."""
    for variable, kind in (("HOSTS_FOLDER", Hosts), ("DPDK_PORTS_COUNT", Ports), ("SOFT_ROCE_DEVICES", Devices)):
        if variable in os.environ:
            return kind
    return None
