#!/usr/bin/env python3
"""Jobs of lapi.h programs in user space mode over DPDK ports. Runs inside dpdk-ports, which makes them:

    dpdk-ports N [--kind KIND] -- dpdk_jobs.py BUILD GROUP [PROGRAM...]    GROUP: short, polling, interrupt, choice,
                                                                                         contexts, faults

Every task has its own ports, which the EAL arguments of the bed name. What carried the packets is taken from three
sides: what LAPI_Init and the first contacts say, the transport's own counters at the end, and those of the bridge,
where there is one. A job that ends well without them has failed. Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import dpdk_faults  # noqa: E402
import dpdk_strangers  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, GROUP = sys.argv[1:3]
LAPIRUN = os.path.join(BUILD, "control/lapirun")
LAPI_INFO = os.path.join(BUILD, "api/lapi_info")
MANNERS = os.path.join(BUILD, "tests/beds/dpdk_manners")
PROGRAMS = os.path.join(BUILD, "tests/system")
LIMIT = 300     # seconds for one job
SLOWNESS = "4"  # tasks and their threads share two cores
DPDK = 4        # lapi_info_t::protocol
CSS_LOAD_FAILED = 404
FEWEST = 5      # packets of any task; the programs send many more
COUNT = int(os.environ.get("DPDK_PORTS_COUNT", "0"))
KIND = os.environ.get("DPDK_PORTS_KIND")
ON_BRIDGE = KIND != "memif"

# Program, and what keeps it short.
JOBS = {
    "api_attributes": [], "api_cancel": ["alone"] if ON_BRIDGE else [], "api_contexts": ["6", "3"], "api_cpp": [],
    "api_crossing": ["40"], "api_crossing_sends": ["40"], "api_errors": [],
    "api_fairness": ["20"],
    "api_gather_scatter": [], "api_handler_calls": [], "api_handlers": [], "api_interrupt": [],
    "api_lock_conditions": [], "api_lock_sharing": [], "api_memory": [], "api_memory_faults": [],
    "api_program_memory_faults": [], "api_program_rules": [], "api_recovery_errors": [], "api_statistics": [],
    "api_storm": ["150", "21", "30000"], "api_sync": [], "api_transfer": ["300000"], "api_vectors": [], "api_xfer": [],
    "api_xfer_layouts": [], "api_xfer_refusals": [],
}
# These open several contexts in a task, for which a further interface would be needed.
SEVERAL_CONTEXTS = {"api_attributes", "api_contexts", "api_crossing", "api_crossing_sends",
                    "api_lock_conditions", "api_lock_sharing",
                    "api_recovery_errors"}
SHORT = {"polling": {"api_handlers": [], "api_transfer": ["30000"]}, "interrupt": {"api_sync": [], "api_xfer": []}}


def bridge_packets():
    """What came from each task's port, by task; empty: there is no bridge."""
    if not ON_BRIDGE:
        return []
    shown = subprocess.run(["ip", "-j", "-s", "link"], capture_output=True, text=True, check=True).stdout
    packets = {link["ifname"]: link["stats64"]["rx"]["packets"] for link in json.loads(shown)}
    return [packets[f"bus{task}"] for task in range(COUNT)]


def with_ports(command, before="", own=""):
    """A task's script: its EAL arguments are those that the bed has for its number."""
    return (f'{before}\neval "export OPENLAPI_DPDK_ARGUMENTS=\\"\\$DPDK_PORTS_EAL_$PMIX_RANK\\""\n{own}\n'
            f"exec {command}")


class Running(subprocess.Popen):
    """A job under way; its output goes to files."""

    def __init__(self, words, environment):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # closed with the object
        super().__init__(words, env=environment, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)

    def said(self, file=None):
        file = file or self.err
        return os.pread(file.fileno(), 1 << 24, 0).decode(errors="replace")


class Job:
    """A job in user space mode, to its end. `during`: called with the running job."""

    def __init__(self, script, tasks=COUNT, during=None, **variables):
        environment = dict(os.environ, MP_EUILIB="us", LAPI_USE_SHM="no", MP_INFOLEVEL="2", API_SLOWNESS=SLOWNESS)
        environment.update(variables)
        before, start = bridge_packets(), time.monotonic()
        running = Running([LAPIRUN, "-n", str(tasks), "/bin/sh", "-c", script, "sh"], environment)
        try:
            if during is not None:
                during(running)
            self.status = running.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.status = f"not ended after {LIMIT} s"
            running.terminate()
            running.wait()
        self.out, self.err = running.said(running.out), running.said()
        self.seconds = time.monotonic() - start
        self.bridge = [after - earlier for earlier, after in zip(before, bridge_packets())]
        self.ways = re.findall(r"task (\d+) reaches task (\d+) over ([^\n]+)", self.err)
        # By task: packets sent and received, as the transport counted them.
        self.packets = {int(task): (int(sent), int(received)) for task, sent, received in re.findall(
            r"task (\d+), dpdk, [^\n]*: (\d+) packets sent, (\d+) received", self.err)}

    def __str__(self):
        return (f"status {self.status}, ways {self.ways}, packets {self.packets}, bridge {self.bridge}\n"
                f"{self.out}{self.err}")

    def problem(self, fewest=FEWEST):
        """Empty: it ended well and DPDK carried it."""
        if self.status != 0:
            return f"status {self.status}"
        if not self.ways or any(not way.startswith("dpdk, net_") for _, _, way in self.ways):
            return "the tasks reach each other in other ways"
        if sorted(self.packets) != list(range(COUNT)):
            return "not every task tells its packets"
        least = min([count for pair in self.packets.values() for count in pair] + self.bridge)
        return "" if least >= fewest else f"too few packets: {least}"


def run_programs(mode, jobs):
    for program, arguments in jobs.items():
        job = Job(with_ports(" ".join([os.path.join(PROGRAMS, program), mode, *arguments])))
        problem = job.problem()
        check(f"{program} {mode}, {COUNT} tasks over {KIND}{': ' if problem else ''}{problem}", not problem, job)
        print(f"# {job.seconds:.1f} s, packets {job.packets}", flush=True)


def values(job, name):
    return {int(value) for value in re.findall(rf"^{name} (\d+)$", job.out, re.MULTILINE)}


def probe(words="", device=None, tasks=COUNT, arguments="$DPDK_PORTS_EAL", **variables):
    """api_init_probe, with the bed's EAL arguments or others."""
    named = "" if device is None else f"export MP_EUIDEVICE='{device}'"
    given = "" if arguments == "$DPDK_PORTS_EAL" else f"export OPENLAPI_DPDK_ARGUMENTS='{arguments}'"
    return Job(with_ports(f"{PROGRAMS}/api_init_probe {words}", own=f"{given}\n{named}"), tasks, **variables)


def expect_refusal(name, text, job):
    check(name, values(job, "code") == {CSS_LOAD_FAILED} and text in job.err, job)


def test_choice():
    """Which devices are taken, what is said, and when LAPI_Init fails."""
    name = "net_memif1" if KIND == "memif" else "net_af_packet0"
    for device in (None, "sn_single", "sn_all", "sn0", "en0"):
        job = probe(device=device)
        check(f"MP_EUIDEVICE={device} takes what the arguments make",
              not job.problem() and values(job, "protocol") == {DPDK} and f"dpdk, {name} (" in job.err, job)
    job = Job(with_ports(f"{PROGRAMS}/api_init_probe",
                         own='export MP_EUIDEVICE="$(eval echo \\$DPDK_PORTS_DEVICES_$PMIX_RANK)"'))
    check("devices are named as the bed names them", not job.problem(), job)
    job = Job(with_ports(f"{PROGRAMS}/api_init_probe",
                         own='export MP_LAPI_NETWORK="@1:0,$(eval echo \\$DPDK_PORTS_DEVICES_$PMIX_RANK)"'))
    check("MP_LAPI_NETWORK names one", not job.problem(), job)
    for device, text in (("rxe0", "dpdk: 'rxe0' is no DPDK device: allowed is a PCI address"),
                         ("net_memif77,role=server,id=0,socket=/nowhere/s,socket-abstract=no",
                          "dpdk: no DPDK port net_memif77"),
                         ("net_none0", "dpdk: no DPDK port net_none0"),
                         ("0000:ff:1f.7", "dpdk: no DPDK port 0000:ff:1f.7")):
        expect_refusal(f"refused: {device}", text, probe("silent", device, 1))
    expect_refusal("refused: no device at all", "neither MP_EUIDEVICE nor OPENLAPI_DPDK_ARGUMENTS names a device",
                   probe("silent", None, 1, "--no-huge --no-pci"))
    expect_refusal("refused: arguments that DPDK does not know", "dpdk: DPDK does not start with the arguments",
                   probe("silent", name, 1, "--no-such-argument"))
    expect_refusal("refused: help", "'--help' is no argument for a task's DPDK", probe("silent", name, 1, "--help"))
    expect_refusal("refused: huge pages that are not there", "are free in huge pages",
                   probe("silent", None, 1, "--in-memory -m 100000 --no-pci --vdev=net_null0"))
    expect_refusal("refused: too little memory for the packets", "no memory for",
                   probe("silent", None, 1, "--no-huge --no-shconf -m 4 --no-pci --vdev=net_null0"))
    if ON_BRIDGE:
        job = probe(OPENLAPI_DPDK_ADDRESS="10.78.0.1+/24")
        check("OPENLAPI_DPDK_ADDRESS gives each task its own", not job.problem() and all(
            re.search(rf"dpdk, {name} [^\n]*, 10\.78\.0\.{task + 1}, MTU", job.err) for task in range(COUNT)), job)
        job = probe("again")
        check("a second context needs an interface of its own", values(job, "again") == {CSS_LOAD_FAILED}
              and "is in use by another adapter of this task" in job.err, job)
    job = probe(LAPI_USE_SHM="yes")
    check("shared memory is preferred on a node", job.status == 0 and {way[2] for way in job.ways} == {"shm"}, job)
    job = probe(OPENLAPI_MODULES="dpdk")
    check("dpdk alone", not job.problem() and "verbs" not in job.err, job)
    job = Job(with_ports(f"{LAPI_INFO} --job"))
    check("lapi_info --job shows each task's ways", not job.problem(fewest=1) and all(
        re.search(rf"task {task} on [^\n]*\n  dpdk, net_[^\n]*: ", job.out) for task in range(COUNT)), job)
    test_manners("polling", "interrupt")
    test_idle()


def test_manners(*modes):
    for mode in modes:
        job = Job(with_ports(f"{MANNERS} {mode}"))
        good = not job.problem() and job.out.count("ok ") == 4
        check(f"contexts come and go over {KIND}, the process stays as it was, {mode}", good, job)


def test_contexts():
    for mode in ("polling", "interrupt"):
        job = Job(with_ports(f"{MANNERS} {mode} further"))
        check(f"further contexts come and go over {KIND}, {mode}", not job.problem() and job.out.count("ok ") == 2, job)
        run_programs(mode, {"api_contexts": JOBS["api_contexts"]})


def test_idle():
    job = Job(with_ports(f"{MANNERS} interrupt idle"))
    check(f"an idle task in interrupt mode over {KIND}", not job.problem() and "ok 1" in job.out, job)
    print("\n".join(re.findall(r"^# .* of a core$", job.out, re.MULTILINE)), flush=True)


def test_starved():
    for mode in ("polling", "interrupt"):
        job = Job(with_ports(f"{MANNERS} {mode} starved"))
        check(f"a thread that begins without memory over {KIND}, {mode}", not job.problem() and "ok 1" in job.out, job)


def main():
    if GROUP == "short":
        for mode, jobs in SHORT.items():
            run_programs(mode, jobs)
        if not ON_BRIDGE:
            test_manners("polling")
            test_idle()
        test_starved()
        if ON_BRIDGE:
            dpdk_strangers.run(sys.modules[__name__])
    elif GROUP == "choice":
        test_choice()
    elif GROUP == "contexts":
        test_contexts()
    elif GROUP == "faults":
        dpdk_faults.run(sys.modules[__name__])
    else:
        left_out = SEVERAL_CONTEXTS if ON_BRIDGE else set()
        usual = [name for name in JOBS if name not in left_out]
        run_programs(GROUP, {name: JOBS[name] for name in sys.argv[3:] or usual})
    return finish()


if __name__ == "__main__":
    sys.exit(main())
