#!/usr/bin/env python3
"""The programs of tests/system in user space mode over RDMA. Runs inside the machine of soft-roce:

    soft-roce -- user_space_jobs.py BUILD GROUP [PROGRAM...]

GROUP: interrupt, polling, faults    all programs, as datagrams
       connected                     all programs in polling mode, through reliable connections
       connections                   some programs through connections in both modes, and by the library's rule
       choice, bulk

Even tasks use rxe0 and odd ones rxe1, so that packets between them cross the bridge. What carried them is taken from
four sides: what LAPI_Init and the first contacts say, the adapters' own counters, those of the bridge's ports, and the
kinds of packets on the bridge. A job
that ends well without them has failed. Prints TAP.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

from packets_on_wire import PacketKinds

BUILD, GROUP = sys.argv[1:3]
LAPIRUN = os.path.join(BUILD, "control/lapirun")
LAPI_INFO = os.path.join(BUILD, "api/lapi_info")
PROGRAMS = os.path.join(BUILD, "tests/system")
MODULES = os.path.join(BUILD, "tests/support/modules")
SLOWNESS = "4"  # everything here is emulated
LIMIT = 400     # seconds for one job
VERBS = 3       # lapi_info_t::protocol
CSS_LOAD_FAILED = 404

# Program and what keeps it short where two polling sides take turns by the scheduler's clock.
JOBS = {
    "api_attributes": [], "api_cancel": [], "api_contexts": ["4"], "api_cpp": [], "api_crossing": ["40"],
    "api_crossing_sends": ["40"], "api_errors": [],
    "api_fairness": ["20"], "api_gather_scatter": [], "api_handler_calls": [], "api_handlers": [], "api_interrupt": [],
    "api_lock_conditions": [], "api_lock_sharing": [], "api_memory": [],
    "api_program_rules": [], "api_recovery_errors": [], "api_statistics": [],
    "api_storm": ["150", "21", "30000"], "api_sync": [], "api_transfer": ["300000"], "api_vectors": [], "api_xfer": [],
    "api_xfer_layouts": [], "api_xfer_refusals": [],
}

# Thousands of round trips each.
FAULT_JOBS = {"api_memory_faults": [], "api_program_memory_faults": []}

STORM = {"api_storm": ["150", "21", "30000"]}
LONG_STORM = {"api_storm": ["1000", "21", "30000"]}  # more packets than the library's rule asks for

results = []
kinds = PacketKinds()


def check(name, problem, seen=""):
    """`problem`: empty, or what is wrong."""
    results.append(not problem)
    print(f"{'not ok' if problem else 'ok'} {len(results)} - {name}{': ' if problem else ''}{problem}", flush=True)
    if problem:
        print("\n".join("# " + line for line in str(seen).splitlines()[-40:]), flush=True)


def read_number(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def adapter_packets():
    return min(read_number(f"/sys/class/infiniband/rxe{device}/ports/1/hw_counters/sent_pkts") for device in (0, 1))


def bridge_packets():
    return min(read_number(f"/sys/class/net/port{port}/statistics/rx_packets") for port in (0, 1))


class Job:
    """A job in user space mode, to its end. `before`: words in front of the launcher."""

    def __init__(self, tasks, script, before=(), **variables):
        environment = dict(os.environ, MP_EUILIB="us", LAPI_USE_SHM="no", MP_INFOLEVEL="2", API_SLOWNESS=SLOWNESS)
        environment.update(variables)
        adapters, bridge, start = adapter_packets(), bridge_packets(), time.monotonic()
        counts = kinds.counts()
        try:
            done = subprocess.run([*before, LAPIRUN, "-n", str(tasks), "/bin/sh", "-c", script, "sh"], env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.status = f"not ended after {LIMIT} s"
            self.out, self.err = ((text or b"").decode() for text in (late.stdout, late.stderr))
        self.seconds = time.monotonic() - start
        self.adapter_packets, self.bridge_packets = adapter_packets() - adapters, bridge_packets() - bridge
        self.kinds = {kind: count - counts[kind] for kind, count in kinds.counts().items()}
        self.ways = set(re.findall(r"task (\d+) reaches task (\d+) over ([^\n]+)", self.err))

    def __str__(self):
        return f"status {self.status}, ways {self.ways}\n{self.out}{self.err}"

    def problem(self):
        if self.status != 0:
            return f"status {self.status}"
        wanted = {("0", "1", "verbs, rxe0 port 1, GID 1 (::ffff:10.77.0.1)"),
                  ("1", "0", "verbs, rxe1 port 1, GID 1 (::ffff:10.77.0.2)")}
        if self.ways != wanted:
            return f"the tasks reach each other in other ways: {self.ways}"
        # api_attributes sends 15 packets each way, the others many more.
        least = 5
        if min(self.adapter_packets, self.bridge_packets) < least:
            return f"{self.adapter_packets} packets of adapters and {self.bridge_packets} of the bridge: too few"
        return ""


def spread(command):
    """A task's script: even tasks on the first adapter, odd ones on the second."""
    return f"export MP_EUIDEVICE=rxe$((PMIX_RANK % 2)); exec {command}"


def kinds_problem(job, way):
    """`way`: the value of OPENLAPI_VERBS_PACKETS. Some hundred datagrams may go before a connection is there, and the
    adapters' acknowledgements are of no kind."""
    through, datagrams = job.kinds["rc"], job.kinds["ud"]
    if way == "ud" and (through != 0 or datagrams == 0):
        return f"{through} packets through connections, {datagrams} as datagrams"
    if way == "rc" and datagrams > 200 + through / 10:
        return f"only {through} packets through connections, {datagrams} as datagrams"
    if way == "auto" and (through == 0 or datagrams == 0):
        return f"{through} packets through connections, {datagrams} as datagrams: not both"
    return ""


def run_programs(mode, jobs, way="ud"):
    for program, arguments in jobs.items():
        words = [os.path.join(PROGRAMS, program), mode, *arguments]
        job = Job(2, spread(" ".join(words)), OPENLAPI_VERBS_PACKETS=way)
        name = f"{program} {mode} over verbs, {way}"
        check(name, job.problem() or kinds_problem(job, way), job)
        print(f"# {job.seconds:.1f} s, {job.adapter_packets} packets of the adapters, {job.bridge_packets} of the "
              f"bridge, {job.kinds['rc']} through connections, {job.kinds['ud']} as datagrams", flush=True)


def bulk_problem(job):
    """Every long transfer went by the adapters: as many as the program says, on both sides of both tasks. On a machine
    that is too busy soft-RoCE gives a read up now and then: it is counted, and some messages after it go in packets."""
    wanted = re.findall(r"^# bulk (\d+)$", job.out, re.MULTILINE)
    if len(wanted) != 1 or int(wanted[0]) == 0:
        return "the program does not say how many transfers are bulk"
    failures = sum(int(number) for number in re.findall(r"in packets after a failure (\d+)$", job.out, re.MULTILINE))
    least = int(wanted[0]) // 2 if failures else int(wanted[0])
    for side in ("sent", "received"):
        counts = [int(count) for count in re.findall(rf"bulk transfers {side} +(\d+)$", job.out, re.MULTILINE)]
        if len(counts) != 2 or min(counts) < least or max(counts) > int(wanted[0]):
            return f"{side} in bulk: {counts}, not {wanted[0]} by each task ({failures} failures)"
    return ""


def test_bulk():
    """Long transfers by RDMA: by the job's switch, and by the hints alone."""
    for mode in ("polling", "interrupt"):
        for switch, least in (("yes", "150K"), ("yes", "32K"), ("no", "64K")):
            job = Job(2, spread(f"{PROGRAMS}/api_bulk {mode}"), MP_USE_BULK_XFER=switch, MP_BULK_MIN_MSG_SIZE=least)
            check(f"api_bulk {mode}, MP_USE_BULK_XFER={switch}, from {least} on", job.problem() or bulk_problem(job), job)
            print(f"# {job.seconds:.1f} s", flush=True)
    for program in ("api_transfer 300000", "api_xfer", "api_storm polling 100 31 200000"):
        job = Job(2, spread(f"{PROGRAMS}/{program}"), MP_USE_BULK_XFER="yes", MP_BULK_MIN_MSG_SIZE="4K")
        check(f"{program} with bulk transfer", job.problem(), job)
        print(f"# {job.seconds:.1f} s", flush=True)


def probe(tasks, device, silent=False, **variables):
    word = " silent" if silent else ""
    return Job(tasks, f"export MP_EUIDEVICE={device}; exec {PROGRAMS}/api_init_probe{word}", **variables)


def values(job, name):
    return {int(value) for value in re.findall(rf"^{name} (\d+)$", job.out, re.MULTILINE)}


def test_choice():
    """Which device and which transport are taken, what is said, and when LAPI_Init fails."""
    for device, gid in (("", "rxe0 port 1, GID 1 (::ffff:10.77.0.1)"), ("sn_all", "rxe0 port 1, GID 1"),
                        ("rxe1", "rxe1 port 1, GID 1 (::ffff:10.77.0.2)"), ("rxe1:1", "rxe1 port 1, GID 1"),
                        ("rxe1:1:2", "rxe1 port 1, GID 2 (fd77:")):
        job = probe(2, device)
        good = job.status == 0 and values(job, "protocol") == {VERBS} and f"verbs, {gid}" in job.err
        check(f"MP_EUIDEVICE='{device}'", "" if good else "another device", job)
    for device, text in (("rxe7", "verbs: there is no RDMA device rxe7; there is rxe0 rxe1"),
                         ("rxe0:1:77", "rxe0 port 1 has no GID with index 77; it has 0 (fe80"),
                         ("rxe0:one", "'rxe0:one' is no RDMA device: allowed is DEVICE")):
        job = probe(1, device, silent=True)
        good = values(job, "code") == {CSS_LOAD_FAILED} and text in job.err and "dpdk: " in job.err
        check(f"refused: MP_EUIDEVICE={device}", "" if good else "another message", job)
    job = probe(2, "rxe0", LAPI_USE_SHM="yes")
    check("shared memory is preferred on a node", "" if job.status == 0 and {way[2] for way in job.ways} == {"shm"}
          else "another way", job)
    # One task has no adapter for verbs and both have another module: they use that one.
    script = (f"if [ $PMIX_RANK = 0 ]; then export MP_EUIDEVICE=second; fi; exec {PROGRAMS}/api_init_probe")
    folder = "/tmp/modules"
    subprocess.run(f"mkdir -p {folder}; cp {BUILD}/nic/verbs/libopenlapi-verbs.so {MODULES}/*.so {folder}", shell=True,
                   check=True)
    job = Job(2, script, OPENLAPI_LIBRARY_FOLDER=folder, OPENLAPI_MODULES="verbs,second")
    good = job.status == 0 and all(way[2].startswith("udp, second") for way in job.ways) and len(job.ways) == 2
    check("a pair of which one has no verbs takes the next module", "" if good else "another way", job)
    job = Job(3, spread(f"{LAPI_INFO} --job"))
    good = job.status == 0 and all(f"task {task} on " in job.out for task in range(3)) and re.search(
        r"task 1 on [^\n]*\n  local copy: 1\n  verbs, rxe1 port 1, GID 1 [^\n]*: 0,2\n", job.out)
    check("lapi_info --job shows each task's ways", "" if good else "something else", job)
    shown = subprocess.run([LAPI_INFO, "--json"], capture_output=True, text=True, check=False)
    verbs = json.loads(shown.stdout)["transports"][2]
    wanted = [("rxe0:1", True, "(::ffff:10.77.0.1)"), ("rxe1:1", False, "(::ffff:10.77.0.2)")]
    good = verbs["usable"] and len(verbs["devices"]) == 2 and all(
        device["name"] == name and device["chosen"] == chosen and gid in device["state"] and "GID 1" in device["state"]
        for device, (name, chosen, gid) in zip(verbs["devices"], wanted))
    check("lapi_info shows the devices and their GIDs", "" if good else "something else", shown.stdout)


def test_little_locked_memory():
    """An ordinary user who may lock 64 KiB is told why there is no user space mode."""
    ordinary_user = ("sh", "-c", "ulimit -l 64; exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"", "sh")
    job = Job(1, f"exec {PROGRAMS}/api_init_probe silent", before=ordinary_user)
    good = values(job, "code") == {CSS_LOAD_FAILED} and re.search(
        r"this process may lock 64 KiB \(RLIMIT_MEMLOCK\), RDMA needs several MiB", job.err)
    check("64 KiB of locked memory", "" if good else "another message", job)


def test_two_jobs():
    """Two jobs on the same adapters at the same time."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = list(pool.map(lambda way: Job(2, spread(f"{PROGRAMS}/api_storm polling 100 21 20000"),
                                             OPENLAPI_VERBS_PACKETS=way), ("ud", "rc")))
    for way, job in zip(("ud", "rc"), jobs):
        check(f"two jobs at once: the one over {way}", job.problem(), job)


def main():
    if GROUP == "choice":
        test_choice()
        test_little_locked_memory()
    elif GROUP == "bulk":
        test_bulk()
    elif GROUP == "connections":
        run_programs("polling", STORM, "rc")
        run_programs("interrupt", {"api_interrupt": [], **STORM}, "rc")
        run_programs("polling", LONG_STORM, "auto")
        test_two_jobs()
    elif GROUP == "connected":
        run_programs("polling", {name: JOBS[name] for name in sys.argv[3:] or JOBS}, "rc")
    elif GROUP == "faults":
        run_programs("interrupt", FAULT_JOBS)
        run_programs("polling", FAULT_JOBS)
    else:
        run_programs(GROUP, {name: JOBS[name] for name in sys.argv[3:] or JOBS})
    print(f"1..{len(results)}")
    return 0 if all(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
