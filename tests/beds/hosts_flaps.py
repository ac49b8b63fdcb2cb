#!/usr/bin/env python3
"""The system tests over two hosts with two links between them, one of which flaps all the time. Runs inside the bed:

    tests/beds/hosts 2 --sshd --timeout 7200 -- hosts_flaps.py BUILD PROCESS-SCHEMA all
    tests/beds/hosts 2 --sshd -- hosts_flaps.py BUILD PROCESS-SCHEMA short|NAME...    (NAME: a part of a test's name)

The tests are those of the suites `system` and `waiting` as Meson has them, with their limits; LEFT_OUT says of which
there is nothing to see here, and why. Half of a test's tasks are on each host, under lapirun over a universe or under
mpirun, and all use both links. The link that flaps is the first one, which messages take while both serve: for 50 to 500
ms it is taken down at one host, or what is sent to that host vanishes and nobody is told; then it serves as long. The
launchers' own connections are on the other link. Prints TAP."""
import json
import os
import random
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from hosts_programs import Done, environment, install, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = sys.argv[1], os.path.abspath(sys.argv[2])
CHOSEN = sys.argv[3:]
HOSTS = os.environ["HOSTS_NAMES"].split()
STEADY, FLAPPING = "10.213.77", "10.9.0"  # networks, the second of which is the first in order
DEVICES = {FLAPPING: ["more", "more"], STEADY: ["bridge", "eth0"]}  # on each host
SHORTEST, LONGEST = 0.05, 0.5  # seconds
PATIENCE = 3  # times the limits of Meson, of which a slow machine wants as much

# A whole name, and why the test is none of this bed. All others must pass.
LEFT_OUT = {
    r".*-shm-only(-.*)?|system/api_stopped_sender-.*": "its tasks share memory: no packet leaves",
    r".*-n1": "one task",
    r"system/api_exchange-shm-no": "expects all tasks on one node",
    r"system/(api_bounds|api_policy)-.*": "its tasks send each other signals, as processes of one host",
    r"system/api_interrupt-.*-n2": "its two tasks tell each other by a file in /tmp, of which each host has its own",
    r"control/.*|system/(boot_.*|man_universe)": "launchers and daemons with hosts of their own: hosts_universe, hosts_nam and "
                                                 "hosts_links break the links of such",
    r"system/(api_paths|api_flaps|api_addresses|api_lossy_network-\d)": "makes networks of its own, in which links flap or lose packets",
    r"system/(api_recovery|api_many_tasks|api_faults|api_remarks|api_secret|api_environment|api_profiling)":
        "chooses launchers, adapters and limits itself, for tasks of one host",
    r"system/(fortran_(standalone|wrong_address)|wrong_address|library_versions|mpi_beside-.*|trace|thread_order|"
    r"refusal_texts|sample_standalone|man_programs|man_commands|sample_interop_interop)|bench/(lapi_perf|compare_builds)":
        "a script that starts its jobs on one host and looks at what they say",
    r"system/(delay_threads_one_thread|lapi_info|wrappers|documents|install|subproject|blank_folder|html_pages|"
    r"library_symbols|fortran_header|fortran_module|init_.*)": "no job",
}
# For some programs. A context opens the sockets that it sends with when a link has its turn: as many more descriptors
# are no leak (8 a link).
MORE_WORDS = {"api_contexts": ["40", "16"]}
SHORT = ["api_transfer-shm-no-interrupt-n2", "api_xfer-shm-no-polling-n3", "api_sync-shm-no-polling-n8",
         "api_storm-shm-no-interrupt-n2", "api_handlers-shm-no-interrupt-mpirun"]


def all_tests():
    with open(os.path.join(BUILD, "meson-info/intro-tests.json"), encoding="utf-8") as file:
        tests = json.load(file)
    return [test for test in tests if {suite.split(":")[-1] for suite in test["suite"]} & {"system", "waiting"}]


def reason_to_leave_out(name):
    reasons = [reason for pattern, reason in LEFT_OUT.items() if re.fullmatch(pattern, name)]
    return reasons[0] if reasons else None


def chosen_tests():
    tests = [test for test in all_tests() if not reason_to_leave_out(test["name"])]
    if CHOSEN == ["all"]:
        return tests
    words = SHORT if CHOSEN == ["short"] else CHOSEN
    return [test for word in words for test in tests if word in test["name"]]


def address(network, number):
    return f"{network}.{1 + number}"


def connect():
    for number, host in enumerate(HOSTS):
        done = Done(["ssh", host, f"ip link add name more link {DEVICES[STEADY][number]} type macvlan mode bridge && "
                                  f"ip address add {address(FLAPPING, number)}/24 dev more && ip link set more up"])
        check(f"{host} has a second link", done.status == 0, done)


def packets(network):
    """That have left each host over this link."""
    return [int(Done(["ssh", host, f"cat /sys/class/net/{device}/statistics/tx_packets"]).out)
            for host, device in zip(HOSTS, DEVICES[network])]


class Flapper(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.hosts = [subprocess.Popen(["ssh", host, "ip", "-force", "-batch", "-"], stdin=subprocess.PIPE, text=True)
                      for host in HOSTS]
        self.random = random.Random(20)
        self.over = threading.Event()
        self.flaps = 0

    def tell(self, host, words):
        self.hosts[host].stdin.write(words + "\n")
        self.hosts[host].stdin.flush()

    def wait(self):
        self.over.wait(self.random.uniform(SHORTEST, LONGEST))

    def flap(self):
        host, told = self.random.randrange(2), self.random.random() < 0.6
        neighbour = f"{address(FLAPPING, host)} dev more"
        if told:
            self.tell(host, "link set more down")
        else:
            self.tell(1 - host, f"neighbour replace {neighbour} lladdr 02:00:00:00:00:01 nud permanent")
        self.wait()
        if told:
            self.tell(host, "link set more up")
        else:
            self.tell(1 - host, f"neighbour delete {neighbour}")
        self.flaps += 1

    def run(self):
        while not self.over.is_set():
            self.flap()
            self.wait()

    def end(self):
        self.over.set()
        self.join()
        for host in self.hosts:
            host.communicate(timeout=60)


def command(test):
    """The launcher with its options, and the program, as all hosts find them."""
    launcher, *words = test["cmd"]
    words = [os.path.join(BUILD, word) if os.path.exists(os.path.join(BUILD, word)) else word for word in words]
    words += MORE_WORDS.get(os.path.basename(words[-2]), [])
    each = (int(words[words.index("-n") + 1]) + 1) // 2
    variables = {**test["env"], "LAPI_USE_SHM": "no", "MP_EUIDEVICE": "sn_all", "API_HOST_TASKS": str(each),
                 "API_SLOWNESS": str(PATIENCE)}
    if os.path.basename(launcher) == "lapirun":
        return ["lapirun", "-N", str(each), *words], variables
    passed = [word for name in variables for word in ("-x", name)]
    placed = ["-H", ",".join(f"{host}:{each}" for host in HOSTS), "--mca", "oob_tcp_if_include", f"{STEADY}.0/24"]
    return ["mpirun", *placed, *passed, *words], variables


def run(test):
    words, variables = command(test)
    begin = time.monotonic()
    try:
        done = subprocess.run(words, env=environment(**variables), cwd=BUILD, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=PATIENCE * test["timeout"])
        status, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, said = f"not ended after {late.timeout} s", (late.stdout or b"").decode(errors="replace")
    check(f"{test['name']}, {time.monotonic() - begin:.1f} s", status == 0, f"{words}: status {status}\n{said}")


def main():
    tests = chosen_tests()
    if not tests:
        sys.exit(f"hosts_flaps.py: no test is meant by {CHOSEN}; allowed are all, short, and parts of names of tests that "
                 "are not left out")
    not_jobs = [test["name"] for test in tests if os.path.basename(test["cmd"][0]) not in ("lapirun", "mpirun")]
    check("every test is a job over hosts or left out for a reason", not not_jobs, not_jobs)
    install(BUILD)
    connect()
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("the hosts are a universe", booted.status == 0, booted)
    before = packets(FLAPPING) + packets(STEADY)
    flapper = Flapper()
    flapper.start()
    for test in tests:
        if test["name"] not in not_jobs:
            run(test)
    flapper.end()
    sent = [after - former for after, former in zip(packets(FLAPPING) + packets(STEADY), before)]
    print(f"# {flapper.flaps} flaps; packets over the link that flaps {sent[:2]}, over the other one {sent[2:]}")
    check("the link has flapped, and both have carried", flapper.flaps > len(tests) / 2 and min(sent) > 100 * len(tests),
          (flapper.flaps, sent))
    check("the universe ends", Done(["lamhalt"]).status == 0)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
