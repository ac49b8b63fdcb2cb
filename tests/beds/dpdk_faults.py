"""Faults of DPDK ports under jobs of lapi.h programs, run by dpdk_jobs.py. Each ends in recovery or a clear error."""
import contextlib
import glob
import os
import re
import signal
import subprocess
import threading
import time

from tap import check

OUTAGE = 1.0   # seconds that a port is down
PATIENCE = 60  # until something is seen


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


def test_port_down_and_up(bed):
    """The interface that the driver works on, and the other end of its cable."""
    for link in ("dpdk1", "bus1"):
        for mode in ("polling", "interrupt"):
            seen = {}

            def pull(process, link=link, seen=seen):
                start = bed.bridge_packets()
                wait_until(lambda: min(now - before for before, now in zip(start, bed.bridge_packets())) > 300)
                ip(f"link set {link} down")
                seen["under way"] = process.poll() is None
                before = bed.bridge_packets()
                time.sleep(OUTAGE)
                seen["packets"] = min(now - then for then, now in zip(before, bed.bridge_packets()))
                ip(f"link set {link} up")

            job = bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_storm {mode} 3000 21 30000"), during=pull)
            good = not job.problem() and seen == {"under way": True, "packets": 0}
            check(f"{link} goes down and comes back, {mode}", good, f"{seen}\n{job}")


def test_mtu_mismatch(bed):
    storm = f"{bed.PROGRAMS}/api_storm 150 21 30000"  # the sizes of its messages do not follow from the packet's
    if bed.ON_BRIDGE:
        ip("link set dpdk1 mtu 1500")
        job = bed.Job(bed.with_ports(storm))
        ip(f"link set dpdk1 mtu {os.environ['DPDK_PORTS_MTU']}")
    else:
        smaller = 'if [ $PMIX_RANK = 1 ]; then export DPDK_PORTS_EAL_1=$(echo "$DPDK_PORTS_EAL_1" | sed ' \
                  's/bsize=[0-9]*/bsize=2048/); fi'
        job = bed.Job(bed.with_ports(storm, before=smaller))
    sizes = {int(size) for size in re.findall(r"reaches task \d over dpdk, [^\n]*MTU (\d+)", job.err)}
    check("peers with different MTUs", not job.problem() and len(sizes) == 2 and max(sizes) > 8000 > 2000 > min(sizes),
          job)


def test_peer_killed(bed):
    """The launcher ends the job; until then the survivor neither hangs nor dies, and the ports serve the next job."""
    for mode in ("polling", "interrupt"):
        seen = {}

        def kill(process, seen=seen):
            wait_until(lambda: len(re.findall("reaches task", process.said())) == 2)
            victims = tasks_of(process.pid)
            seen["under way"] = process.poll() is None
            seen["victims"] = len(victims)
            os.kill(victims[-1], signal.SIGKILL)

        job = bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_storm {mode} 100000 21 30000"), during=kill)
        good = seen == {"under way": True, "victims": 2} and job.status not in (0, None) and job.seconds < 30 \
            and "killed by signal 9" in job.err and "PANIC" not in job.err + job.out
        check(f"a peer is killed, {mode}", good, f"{seen}\n{job}")
        job = bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_transfer {mode} 30000"))
        check(f"the next job, {mode}", not job.problem(), job)


def tasks_of(launcher):
    """Processes of the program; any thread of the launcher may have started them."""
    found = set()
    for path in glob.glob(f"/proc/{launcher}/task/*/children"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found |= {int(word) for word in file.read().split()}
    return sorted(task for task in found if os.path.realpath(f"/proc/{task}/exe").endswith("api_storm"))


def test_two_jobs(bed):
    """At the same time on the same ports: each takes only its own frames."""
    jobs = []
    threads = [threading.Thread(target=lambda seed=seed: jobs.append(
        bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_storm 800 {seed} 30000")))) for seed in (21, 22)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("two jobs on the same adapters", len(jobs) == 2 and not any(job.problem() for job in jobs),
          "\n".join(map(str, jobs)))


def test_memory(bed):
    """Nothing is said about memory and there are no huge pages: ordinary ones serve."""
    plain = 'for task in 0 1; do eval "DPDK_PORTS_EAL_$task=\\"--no-pci \\${DPDK_PORTS_EAL_$task#*--no-pci}\\""; done'
    job = bed.Job(bed.with_ports(f"{bed.PROGRAMS}/api_transfer 30000", before=plain))
    check("without a word about memory", not job.problem(), job)


def run(bed):
    test_memory(bed)
    test_mtu_mismatch(bed)
    test_peer_killed(bed)
    if bed.ON_BRIDGE:
        test_port_down_and_up(bed)
        test_two_jobs(bed)
